// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>
#include <weft/weft.h>

#include <cstdlib>
#include <ostream>
#include <sstream>
#include <string>

#include "support/process.h"
#include "support/sanitizers.h"
#include "support/waiting.h"
#include "support/watchdog.h"

// The fixture of the conformance tests: each test at several numbers of Ps and under each policy, with a time limit, and
// all goroutines gone at its end.
namespace weft::test {

struct Configuration {
  int maxprocs;
  policy_kind policy;

  std::string name() const {
    constexpr const char* kNames[] = {"_classic", "_global", "_batch", "_matrix"};
    return std::to_string(maxprocs) + kNames[static_cast<int>(policy)];
  }
  friend void PrintTo(const Configuration& configuration, std::ostream* out) { *out << configuration.name(); }
};

// Which policy stands in the place of classic (tests/support/round_robin.cc)?
inline std::string policy_in_place_of_classic() {
  const char* name = std::getenv("WEFT_TEST_POLICY");
  return name != nullptr ? name : "classic";
}
// One that does not promise what classic promises.
inline bool is_seam_test() {
  const std::string policy = policy_in_place_of_classic();
  return policy == "round_robin" || policy == "batch";
}
inline policy_kind in_place_of(policy_kind kind) {
  return kind == policy_kind::classic && policy_in_place_of_classic() == "batch" ? policy_kind::batch : kind;
}

inline std::string dump_text() {
  std::ostringstream text;
  runtime::dump(text);
  return text.str();
}

inline std::size_t occurrences(const std::string& text, const std::string& of) {
  std::size_t count = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + of.size())) ++count;
  return count;
}

class RuntimeTest : public ::testing::TestWithParam<Configuration> {
 public:
  static int procs() { return GetParam().maxprocs; }

 protected:
  explicit RuntimeTest(int limit_seconds = 40 * kSlowdown) : watchdog_(limit_seconds) {}

  void SetUp() override {
    runtime::set_policy(in_place_of(GetParam().policy));
    runtime::set_maxprocs(GetParam().maxprocs);
    baseline_ = runtime::num_goroutines();
  }
  void TearDown() override {
    if (!spin_until([&] { return runtime::num_goroutines() <= baseline_; }, 5s))
      ADD_FAILURE() << runtime::num_goroutines() << " goroutines are left, " << baseline_ << " were there before:\n" << dump_text();
    EXPECT_EQ(runtime::maxprocs(), GetParam().maxprocs) << "the test did not put maxprocs back";
  }
  std::size_t baseline() const { return baseline_; }

 private:
  Watchdog watchdog_;
  std::size_t baseline_ = 0;
};

inline std::string configuration_name(const ::testing::TestParamInfo<Configuration>& info) { return info.param.name(); }

inline auto all_configurations() {
  return ::testing::Values(Configuration{1, policy_kind::classic}, Configuration{2, policy_kind::classic},
                           Configuration{4, policy_kind::classic}, Configuration{1, policy_kind::global},
                           Configuration{2, policy_kind::global}, Configuration{4, policy_kind::global});
}

#define WEFT_AT_ALL_CONFIGURATIONS(fixture) \
  INSTANTIATE_TEST_SUITE_P(P, fixture, ::weft::test::all_configurations(), ::weft::test::configuration_name)

// An object that counts how many of its kind are alive.
struct Counted {
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted(Counted&&) noexcept { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
  static inline std::atomic<int> alive{0};
};

}  // namespace weft::test
