// SPDX-License-Identifier: MIT
#include "runtime/policies.h"

#include <stdexcept>

#include "policy/batch.h"
#include "policy/classic.h"
#include "policy/global.h"
#include "policy/matrix.h"

namespace weft::runtime {
namespace {

constinit policy::Classic classic;
constinit policy::Global global;
constinit policy::Batch batch;
constinit policy::Matrix matrix;
constinit sched::Policy* in_place_of_classic = &classic;

}  // namespace

sched::Policy& policy_of(policy_kind kind) {
  switch (kind) {
    case policy_kind::classic: return *in_place_of_classic;
    case policy_kind::global:  return global;
    case policy_kind::batch:   return batch;
    case policy_kind::matrix:  return matrix;
  }
  throw std::invalid_argument("weft: there is no such policy; use classic, global, batch or matrix");
}

policy_kind kind_of(const sched::Policy& policy) noexcept {
  if (&policy == in_place_of_classic) return policy_kind::classic;
  if (&policy == &batch) return policy_kind::batch;
  if (&policy == &matrix) return policy_kind::matrix;
  return &policy == &global ? policy_kind::global : policy_kind::classic;
}

void substitute_classic(sched::Policy& substitute) noexcept { in_place_of_classic = &substitute; }

}  // namespace weft::runtime
