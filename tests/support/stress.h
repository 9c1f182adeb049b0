// SPDX-License-Identifier: MIT
#pragma once
#include <cstdlib>

#include "support/runtime_test.h"

// Stress tests: random things at once, for a while, with sums that must come out right. WEFT_STRESS_SECONDS sets how long each
// configuration of each test runs.
namespace weft::test {

inline Clock::duration stress_budget(Clock::duration by_default) {
  if (const char* seconds = std::getenv("WEFT_STRESS_SECONDS")) {
    char* end = nullptr;
    const double value = std::strtod(seconds, &end);
    if (end != seconds && *end == '\0' && value > 0) return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value));
    ADD_FAILURE() << "WEFT_STRESS_SECONDS=" << seconds << " is no number of seconds";
  }
  return by_default;
}

// Until the budget is used up, at least once.
class Budget {
 public:
  explicit Budget(Clock::duration by_default = 5s) : end_(Clock::now() + stress_budget(by_default)) {}
  bool is_left() const { return Clock::now() < end_; }

 private:
  Clock::time_point end_;
};

// Small, fast, and the same every time for the same seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  std::uint32_t operator()() {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  int below(int limit) { return static_cast<int>((*this)() % static_cast<std::uint32_t>(limit)); }

 private:
  std::uint64_t state_;
};

// As RuntimeTest, with time for the budget.
class StressTest : public RuntimeTest {
 protected:
  StressTest() : RuntimeTest(static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(stress_budget(5s)).count()) + 60 * kSlowdown) {}
};

}  // namespace weft::test
