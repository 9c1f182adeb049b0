// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "support/runtime_test.h"

// Processors are shared by time: a chain of goroutines that wake each other gets its turn, whatever its single runs last.
namespace {

using namespace weft::test;

class Turns : public RuntimeTest {};
INSTANTIATE_TEST_SUITE_P(P, Turns,
                         ::testing::Values(Configuration{1, weft::policy_kind::classic}, Configuration{2, weft::policy_kind::classic}),
                         configuration_name);
class TurnsOnOneProcessor : public RuntimeTest {};
INSTANTIATE_TEST_SUITE_P(P, TurnsOnOneProcessor, ::testing::Values(Configuration{1, weft::policy_kind::classic}), configuration_name);

// Two goroutines that hand over to each other after so many steps. The steps they have made.
class Pair {
 public:
  Pair(weft::wait_group& group, const std::atomic<bool>& stop, long steps) {
    for (int side = 0; side < 2; ++side) {
      group.go([this, &stop, steps, side] {
        for (;;) {
          if (!turn_[static_cast<std::size_t>(side)].recv()) return;
          for (long i = 0; i < steps; ++i) asm volatile("");
          made_ += steps;
          weft::chan<int>& other = turn_[static_cast<std::size_t>(1 - side)];
          if (stop) {
            other.close();
            return;
          }
          other.send(1);
        }
      });
    }
  }
  void start() { turn_[0].send(1); }
  double made() const { return static_cast<double>(made_.load()); }

 private:
  std::array<weft::chan<int>, 2> turn_;
  std::atomic<long> made_{0};
};

// Of a pair that is alone: a hand-over is no step, but takes time as well, with TSan more than the steps.
double steps_per_second(long steps) {
  std::atomic<bool> stop{false};
  weft::wait_group group;
  Pair pair(group, stop, steps);
  const std::clock_t start = std::clock();
  pair.start();
  weft::this_goroutine::sleep_for(100ms);
  stop = true;
  group.wait();
  return pair.made() * CLOCKS_PER_SEC / static_cast<double>(std::clock() - start);
}

// The time they have had, by what each does in a second. Four runs are for nothing (policy/turn.h): they must be shorter
// than a turn, however slow the build and the machine are.
std::pair<double, double> seconds_of_light_and_heavy() {
  constexpr long kLight = 1'000;
  const double light_rate = steps_per_second(kLight);
  const long in_a_run = std::max(20 * kLight, static_cast<long>(light_rate * 400e-6));
  const double heavy_rate = steps_per_second(in_a_run);
  std::atomic<bool> stop{false};
  weft::wait_group group;
  Pair heavy(group, stop, in_a_run), light(group, stop, kLight);
  heavy.start();
  light.start();
  weft::this_goroutine::sleep_for(600ms);
  stop = true;
  group.wait();
  return {light.made() / light_rate, heavy.made() / heavy_rate};
}

TEST_P(TurnsOnOneProcessor, a_pair_that_chats_is_not_starved_by_a_pair_that_computes) {
  if (is_seam_test()) GTEST_SKIP() << "that policy counts runs, not time";
  for (int attempt = 0;; ++attempt) {
    const auto [light, heavy] = weft::run(seconds_of_light_and_heavy);
    const double ratio = std::max(light, heavy) / std::min(light, heavy);
    if (ratio <= 2) return;
    // Not six times in a row: who takes the CPU away for longer than a turn, a hypervisor or ten other processes, may do
    // so in one pair's turns.
    ASSERT_LT(attempt, 5) << "light " << light << ", heavy " << heavy;
  }
}

// Many chains: each is served soon, for they share one time slice.
TEST_P(Turns, the_last_of_many_pairs_is_served_within_some_slices) {
  constexpr std::size_t kPairs = 40;
  const double longest_ms = weft::run([] {
    std::atomic<bool> stop{false};
    weft::wait_group group;
    std::vector<std::unique_ptr<Pair>> pairs;
    for (std::size_t i = 0; i < kPairs; ++i) pairs.push_back(std::make_unique<Pair>(group, stop, 100));
    const std::clock_t start = std::clock();  // CPU time: others may use the machine, too
    for (const auto& pair : pairs) pair->start();
    const auto all_served = [&] { return std::ranges::all_of(pairs, [](const auto& pair) { return pair->made() > 0; }); };
    while (!all_served()) weft::this_goroutine::yield();
    const double waited_ms = static_cast<double>(std::clock() - start) * 1e3 / CLOCKS_PER_SEC;
    stop = true;
    group.wait();
    return waited_ms;
  });
  EXPECT_LT(longest_ms, 200) << "with a whole slice for each chain it would be 400";
}

}  // namespace
