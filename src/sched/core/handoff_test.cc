// SPDX-License-Identifier: MIT
#include "sched/core/handoff.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/weft.h>

#include <atomic>
#include <chrono>

namespace weft::sched {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kLimit = 10s;

TEST(HandOff, a_call_is_taken_by_its_word_once) {
  Processor p;
  const std::uint64_t mine = Processor::make_word(PStatus::kInCall, 7, 1),
                      later = Processor::make_word(PStatus::kInCall, 7, 2);
  p.word.store_relaxed(mine);
  EXPECT_FALSE(take_from_call(p, later)) << "another call of the same M";
  EXPECT_EQ(p.status(), PStatus::kInCall);
  EXPECT_TRUE(take_from_call(p, mine));
  EXPECT_EQ(p.status(), PStatus::kIdle);
  EXPECT_FALSE(take_from_call(p, mine));
  scheduler.in_call.fetch_add_relaxed(-1);  // as the goroutine does when it comes back
  EXPECT_EQ(scheduler.in_call.load_relaxed(), 0);
}

// With every P busy, a goroutine readies another into its slot and computes on: no M is woken. Then the goroutine of
// the other P goes into a long call. That P becomes idle without a spinner, and must take what waits in the slot, which
// used to wait until the computing was over.
TEST(HandOff, a_processor_left_idle_by_a_call_takes_what_waits_in_a_busy_one_s_slot) {
  std::atomic<bool> beside{false}, readied{false}, ran{false};
  run([&] {
    runtime::set_maxprocs(2);
    wait_group group;
    group.add(2);
    go([&] {
      beside = true;
      while (!readied) base::cpu_relax();
      blocking([&] {
        const auto end = Clock::now() + kLimit;
        while (!ran && Clock::now() < end) usleep(1000);
      });
      group.done();
    });
    go([&] {
      while (!beside) base::cpu_relax();
      go([&] { ran = true; });
      readied = true;
      const auto end = Clock::now() + kLimit / 2;
      while (!ran && Clock::now() < end) base::cpu_relax();
      EXPECT_TRUE(ran) << "runnable, with an idle P, for " << kLimit / 2 / 1s << " s";
      group.done();
    });
    group.wait();
  });
}

// Every thread is in a call, and a new one may be started only some time after the last. The P that was taken from a
// call becomes idle with work in its slot. No M used to look there when a thread could be started.
TEST(HandOff, what_is_in_the_slot_of_a_processor_that_gets_no_thread_is_not_forgotten) {
  std::atomic<bool> ran{false}, over{false};
  std::atomic<std::uint32_t> inside{0};
  const Settings before = settings;
  run([&] {
    runtime::set_maxprocs(1);
    settings.prompt_threads_per_p = 0;
    settings.thread_interval_ns = 50'000'000;
    const std::uint32_t callers = scheduler.threads.load_relaxed() + 1;  // leaves no thread of other tests over
    wait_group group;
    group.add(static_cast<int>(callers) + 1);
    const auto wait_in_call_for = [](const std::atomic<bool>& flag, Clock::duration limit) {
      blocking([&] {
        const auto end = Clock::now() + limit;
        while (!flag && Clock::now() < end) usleep(1000);
      });
    };
    for (std::uint32_t i = 0; i < callers; ++i)
      go([&] {
        ++inside;
        wait_in_call_for(over, 2 * kLimit);
        group.done();
      });
    go([&] {
      while (inside < callers) this_goroutine::yield();
      go([&] { ran = true; });
      wait_in_call_for(ran, kLimit);
      EXPECT_TRUE(ran) << "runnable, with an idle P, for " << kLimit / 1s << " s";
      over = true;
      group.done();
    });
    group.wait();
  });
  settings = before;
}

}  // namespace
}  // namespace weft::sched
