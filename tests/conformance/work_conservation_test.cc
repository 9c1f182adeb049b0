// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "support/runtime_test.h"

// A27, bounded: with an idle P, work does not wait longer than the passive spinner's longest pause (4 ms), wherever it was put.
// The limits below leave room for a busy machine; what they must catch is work that waits until its P gives way.
namespace {

using namespace weft::test;

class WorkConservation : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(WorkConservation);

constexpr auto kComputes = 60ms;
constexpr auto kBound = 20ms;
constexpr int kTries = 9;

// The caller starts `goroutines`, then computes without ever giving way; how long until the last of them has run?
std::chrono::nanoseconds delay_beside_a_busy_spawner(int goroutines) {
  std::atomic<int> ran{0};
  std::atomic<std::int64_t> last{0};
  const auto start = Clock::now();
  for (int i = 0; i < goroutines; ++i)
    weft::go([&, start] {
      last.store((Clock::now() - start).count());
      ++ran;
    });
  while (Clock::now() - start < kComputes) {
  }
  while (ran < goroutines) weft::this_goroutine::yield();
  return std::chrono::nanoseconds(last.load());
}

std::chrono::nanoseconds median_delay(int goroutines) {
  std::vector<std::chrono::nanoseconds> delays;
  for (int i = 0; i < kTries; ++i) {
    delays.push_back(delay_beside_a_busy_spawner(goroutines));
    weft::this_goroutine::sleep_for(3ms);  // everything falls asleep in between
  }
  std::ranges::nth_element(delays, delays.begin() + kTries / 2);
  return delays[kTries / 2];
}

TEST_P(WorkConservation, a_goroutine_in_the_slot_of_a_busy_processor_is_taken_by_an_idle_one) {
  if (procs() == 1) GTEST_SKIP() << "there is one P";
  weft::run([] { EXPECT_LT(median_delay(1), kBound); });
}

TEST_P(WorkConservation, goroutines_queued_behind_a_busy_one_are_taken_by_an_idle_processor) {
  if (procs() == 1) GTEST_SKIP() << "there is one P";
  weft::run([] { EXPECT_LT(median_delay(20), kBound); });
}

TEST_P(WorkConservation, spinners_never_outnumber_the_processors) {
  weft::run([] {
    weft::wait_group group;
    for (int i = 0; i < 200; ++i)
      group.go([] {
        weft::this_goroutine::sleep_for(1ms);
        compute_for(20us);
      });
    while (!group.wait_for(200us))
      EXPECT_LE(weft::runtime::read_stats().spinning, static_cast<std::uint64_t>(weft::runtime::maxprocs()));
  });
}

TEST_P(WorkConservation, a_program_on_one_processor_never_spins) {
  if (procs() != 1) GTEST_SKIP() << "about one P";
  const auto before = weft::runtime::read_stats();
  weft::run([] {
    for (int i = 0; i < 50; ++i) {
      weft::spawn([] {}).join();
      weft::this_goroutine::sleep_for(100us);
    }
  });
  EXPECT_EQ(weft::runtime::read_stats().spins, before.spins);
}

}  // namespace
