// SPDX-License-Identifier: MIT
#include "runtime/policies.h"

#include <stdexcept>
#include <string>

#include "policy/classic.h"
#include "policy/global.h"

namespace weft::runtime {
namespace {

constinit policy::Classic classic;
constinit policy::Global global;
constinit sched::Policy* in_place_of_classic = &classic;

}  // namespace

sched::Policy& policy_of(policy_kind kind) {
  switch (kind) {
    case policy_kind::classic: return *in_place_of_classic;
    case policy_kind::global:  return global;
    case policy_kind::batch:   break;
    case policy_kind::matrix:  break;
  }
  throw std::invalid_argument(std::string("weft: the policy '") + (kind == policy_kind::batch ? "batch" : "matrix") +
                              "' is not available in this version; use classic or global");
}

policy_kind kind_of(const sched::Policy& policy) noexcept {
  return &policy == &global ? policy_kind::global : policy_kind::classic;
}

void substitute_classic(sched::Policy& substitute) noexcept { in_place_of_classic = &substitute; }

}  // namespace weft::runtime
