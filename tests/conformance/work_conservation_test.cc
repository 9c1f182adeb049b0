// SPDX-License-Identifier: MIT
#include <algorithm>

#include "support/runtime_test.h"

// A27, bounded: with an idle P, work does not wait longer than the passive spinner's longest pause (4 ms), wherever it was put.
// What must be caught is work that waits until its P gives way, so the spawner does not: it computes until all has run. On a busy
// machine the threads wait for a CPU now and then; the bound is therefore held to the quickest of several tries.
namespace {

using namespace weft::test;

class WorkConservation : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(WorkConservation);

constexpr auto kBound = 20ms * kSlowdown;
constexpr int kTries = 9;

// The caller starts `goroutines`, then computes without ever giving way until the last of them has run: how long was that?
std::chrono::nanoseconds delay_beside_a_busy_spawner(int goroutines) {
  std::atomic<int> ran{0};
  const auto start = Clock::now();
  for (int i = 0; i < goroutines; ++i) weft::go([&] { ++ran; });
  while (ran < goroutines && Clock::now() - start < 10s * kSlowdown) {
  }
  const auto delay = Clock::now() - start;
  while (ran < goroutines) weft::this_goroutine::yield();
  return delay;
}

void expect_prompt_help(int goroutines) {
  auto shortest = std::chrono::nanoseconds::max(), longest = std::chrono::nanoseconds::zero();
  for (int i = 0; i < kTries; ++i) {
    const auto delay = delay_beside_a_busy_spawner(goroutines);
    shortest = std::min(shortest, delay);
    longest = std::max(longest, delay);
    weft::this_goroutine::sleep_for(3ms);  // everything falls asleep in between
  }
  EXPECT_LT(shortest, kBound);
  EXPECT_LT(longest, 10s * kSlowdown) << "what a busy P has waits until that P gives way";
}

TEST_P(WorkConservation, a_goroutine_in_the_slot_of_a_busy_processor_is_taken_by_an_idle_one) {
  if (procs() == 1) GTEST_SKIP() << "there is one P";
  weft::run([] { expect_prompt_help(1); });
}

TEST_P(WorkConservation, goroutines_queued_behind_a_busy_one_are_taken_by_an_idle_processor) {
  if (procs() == 1) GTEST_SKIP() << "there is one P";
  weft::run([] { expect_prompt_help(20); });
}

// Sleepers that have always run briefly are woken together, and this time the first of them computes until the others have run.
std::chrono::nanoseconds delay_behind_a_sleeper_that_computes() {
  constexpr int kSleepers = 4;
  std::atomic<int> order{0}, ran{0};
  std::atomic<std::int64_t> delay_ns{0};
  weft::wait_group group;
  const auto together = Clock::now() + 40ms;
  for (int i = 0; i < kSleepers; ++i)
    group.go([&] {
      for (int round = 0; round < 10; ++round) weft::this_goroutine::sleep_for(1ms);
      weft::this_goroutine::sleep_until(together);
      if (order++ != 0) {
        ++ran;
        return;
      }
      const weft::no_preempt alone_with_its_processor;
      const auto start = Clock::now();
      while (ran < kSleepers - 1 && Clock::now() - start < 10s * kSlowdown) {
      }
      delay_ns = (Clock::now() - start).count();
    });
  group.wait();
  return std::chrono::nanoseconds(delay_ns);
}

TEST_P(WorkConservation, sleepers_behind_one_that_computes_for_once_are_taken_by_an_idle_processor) {
  if (procs() == 1) GTEST_SKIP() << "there is one P";
  if (is_seam_test()) GTEST_SKIP() << "that policy only asks, and who is asked has forbidden preemption";
  auto shortest = std::chrono::nanoseconds::max();
  weft::run([&] {
    for (int i = 0; i < kTries; ++i) shortest = std::min(shortest, delay_behind_a_sleeper_that_computes());
  });
  EXPECT_LT(shortest, kBound);  // sysmon looks twice
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
