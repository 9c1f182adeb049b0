// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// Sleeping and waiting with a limit: never early, soon after, for any duration (SC27).
namespace {

using namespace weft::test;

class Sleep : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Sleep);

TEST_P(Sleep, is_never_early) {
  weft::run([] {
    for (const auto duration : {1us, 50us, 500us, 1000us, 2500us, 12'345us}) {
      for (int i = 0; i < 5; ++i) {
        const Stopwatch watch;
        weft::this_goroutine::sleep_for(duration);
        EXPECT_GE(watch.elapsed(), duration);
      }
      const auto when = Clock::now() + duration;
      weft::this_goroutine::sleep_until(when);
      EXPECT_GE(Clock::now(), when);
    }
  });
}

TEST_P(Sleep, ends_soon_after_its_time) {
  weft::run([] {
    EXPECT_TRUE(holds_in_time(5ms, [](Clock::duration unit) {
      for (int i = 0; i < 5; ++i) {
        const Stopwatch watch;
        weft::this_goroutine::sleep_for(unit);
        if (watch.elapsed() > unit * 2) return false;
      }
      return true;
    }));
  });
}

TEST_P(Sleep, of_nothing_or_less_returns_at_once) {
  weft::run([] {
    const Stopwatch watch;
    for (int i = 0; i < 100; ++i) {
      weft::this_goroutine::sleep_for(0s);
      weft::this_goroutine::sleep_for(-1h);
      weft::this_goroutine::sleep_for(std::chrono::nanoseconds::min());
      weft::this_goroutine::sleep_for(std::chrono::hours::min());
      weft::this_goroutine::sleep_until(Clock::time_point::min());
      weft::this_goroutine::sleep_until(Clock::now() - 1s);
    }
    EXPECT_LT(watch.elapsed(), 5s);
  });
}

TEST_P(Sleep, takes_any_duration) {
  weft::run([] {
    const Stopwatch watch;
    weft::this_goroutine::sleep_for(std::chrono::duration<double, std::milli>(1.5));
    EXPECT_GE(watch.elapsed(), 1500us);
    weft::this_goroutine::sleep_for(std::chrono::duration<float>(0.001f));
    weft::this_goroutine::sleep_for(std::chrono::duration<int, std::ratio<1, 3000>>(1));
    weft::this_goroutine::sleep_for(std::chrono::duration<std::int8_t, std::milli>(1));
    weft::this_goroutine::sleep_for(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()));
    weft::this_goroutine::sleep_for(std::chrono::duration<double>(-std::numeric_limits<double>::infinity()));
  });
}

TEST_P(Sleep, for_ever_does_not_disturb_others) {
  weft::event stop;
  weft::wait_group group;
  for (int i = 0; i < 3; ++i) {
    group.go([&, i] {
      // As long as the clock can count, and longer.
      const bool woken = i == 0   ? stop.wait_for(std::chrono::nanoseconds::max())
                         : i == 1 ? stop.wait_for(std::chrono::hours::max())
                                  : stop.wait_for(std::chrono::duration<double>::max());
      EXPECT_TRUE(woken);
    });
  }
  weft::run([] {
    const Stopwatch watch;
    weft::this_goroutine::sleep_for(25ms);
    EXPECT_GE(watch.elapsed(), 25ms);
    EXPECT_LT(watch.elapsed(), 10s);
  });
  stop.set();
  group.wait();
}

TEST_P(Sleep, many_sleepers_wake_together) {  // TM16
  EXPECT_TRUE(holds_in_time(50ms, [](Clock::duration unit) {
    const Stopwatch watch;
    weft::wait_group group;
    for (int i = 0; i < scaled(5000); ++i) group.go([unit] { weft::this_goroutine::sleep_for(unit); });
    group.wait();
    EXPECT_GE(watch.elapsed(), unit);
    return watch.elapsed() < unit * 4;
  }));
}

TEST_P(Sleep, sleepers_wake_in_the_order_of_their_times) {
  EXPECT_TRUE(holds_in_time(3ms, [](Clock::duration unit) {
    const int order[] = {5, 1, 7, 3, 0, 8, 2, 6, 4};
    weft::mutex lock;
    std::vector<int> woken;
    weft::wait_group group;
    weft::run([&] {
      const auto start = Clock::now() + unit;
      for (const int slot : order) {
        group.go([&, slot] {
          weft::this_goroutine::sleep_until(start + slot * unit);
          const std::lock_guard guard(lock);
          woken.push_back(slot);
        });
      }
      group.wait();
    });
    return std::is_sorted(woken.begin(), woken.end());
  }));
}

TEST_P(Sleep, a_near_timer_is_not_held_up_by_a_far_one) {
  weft::event stop;
  weft::wait_group group;
  group.go([&] { EXPECT_TRUE(stop.wait_for(1000s)); });  // all threads sleep until then, if they may
  EXPECT_TRUE(holds_in_time(5ms, [](Clock::duration unit) {
    weft::this_goroutine::sleep_for(unit);  // plain thread: let the runtime fall asleep
    const Stopwatch watch;
    weft::run([unit] { weft::this_goroutine::sleep_for(unit); });
    return watch.elapsed() < unit * 3;
  }));
  EXPECT_TRUE(holds_in_time(5ms, [](Clock::duration unit) {
    weft::event never;
    weft::this_goroutine::sleep_for(unit);
    const Stopwatch watch;
    EXPECT_FALSE(weft::run([&] { return never.wait_for(unit); }));
    return watch.elapsed() < unit * 3;
  }));
  stop.set();
  group.wait();
}

TEST_P(Sleep, timers_fire_while_others_compute_and_yield) {
  EXPECT_TRUE(holds_in_time(10ms, [](Clock::duration unit) {
    return weft::run([unit] {
      std::atomic<bool> stop{false};
      weft::wait_group group;
      for (int i = 0; i < 2 * procs(); ++i) {
        group.go([&] {
          while (!stop) {
            compute_for(20us);
            weft::this_goroutine::yield();
          }
        });
      }
      const Stopwatch watch;
      weft::this_goroutine::sleep_for(unit);
      const auto took = watch.elapsed();
      stop = true;
      group.wait();
      return took < unit * 4;
    });
  }));
}

TEST_P(Sleep, timers_fire_while_others_make_blocking_calls) {
  EXPECT_TRUE(holds_in_time(10ms, [](Clock::duration unit) {
    return weft::run([unit] {
      std::atomic<bool> stop{false};
      weft::wait_group group;
      for (int i = 0; i < 2 * procs(); ++i) {
        group.go([&] {
          while (!stop) weft::blocking([] { usleep(100); });
        });
      }
      const Stopwatch watch;
      weft::this_goroutine::sleep_for(unit);
      const auto took = watch.elapsed();
      stop = true;
      group.wait();
      return took < unit * 4;
    });
  }));
}

TEST_P(Sleep, works_on_plain_threads_and_inside_blocking_calls) {
  const Stopwatch watch;
  weft::this_goroutine::sleep_for(3ms);
  EXPECT_GE(watch.elapsed(), 3ms);
  weft::this_goroutine::sleep_until(Clock::now() + 2ms);
  EXPECT_GE(watch.elapsed(), 5ms);
  weft::run([&] { weft::blocking([] { weft::this_goroutine::sleep_for(3ms); }); });
  EXPECT_GE(watch.elapsed(), 8ms);
}

TEST_P(Sleep, survives_changes_of_maxprocs) {
  weft::run([] {
    weft::wait_group group;
    std::atomic<int> early{0};
    for (int i = 0; i < scaled(300); ++i) {
      group.go([&, i] {
        const auto duration = std::chrono::microseconds(100 * (i % 100));
        const Stopwatch watch;
        weft::this_goroutine::sleep_for(duration);
        if (watch.elapsed() < duration) ++early;
      });
    }
    for (int i = 0; i < 20; ++i) {
      weft::runtime::set_maxprocs(1 + i % 6);
      weft::this_goroutine::sleep_for(500us);
    }
    weft::runtime::set_maxprocs(procs());
    group.wait();  // no timer was lost with its P
    EXPECT_EQ(early, 0);
  });
}

TEST_P(Sleep, waits_with_a_limit_are_never_early_and_see_what_happens) {
  weft::run([] {
    weft::event event;
    weft::wait_group busy;
    busy.add();
    weft::task<void> task = weft::spawn([&] { event.wait(); });
    for (const auto limit : {0us, 1us, 200us, 2000us}) {
      const Stopwatch watch;
      EXPECT_FALSE(event.wait_for(limit));
      EXPECT_GE(watch.elapsed(), limit);
      const Stopwatch second;
      EXPECT_FALSE(busy.wait_for(limit));
      EXPECT_GE(second.elapsed(), limit);
      const Stopwatch third;
      EXPECT_FALSE(task.wait_for(limit));
      EXPECT_GE(third.elapsed(), limit);
    }
    EXPECT_FALSE(busy.wait_until(Clock::now() + 1ms));
    EXPECT_FALSE(task.wait_until(Clock::now() + 1ms));
    weft::go([&] {
      weft::this_goroutine::sleep_for(1ms);
      event.set();
      busy.done();
    });
    EXPECT_TRUE(event.wait_for(20s));
    EXPECT_TRUE(busy.wait_for(20s));
    EXPECT_TRUE(task.wait_for(20s));
    EXPECT_TRUE(event.wait_for(-1s)) << "already set";
  });
}

TEST_P(Sleep, counts_the_timers_that_fired) {
  const std::uint64_t before = weft::runtime::read_stats().timers_fired;
  weft::run([] {
    for (int i = 0; i < 10; ++i) weft::this_goroutine::sleep_for(200us);
  });
  EXPECT_GE(weft::runtime::read_stats().timers_fired - before, 10u);
}

// A P with hundreds of goroutines to run looks at its timers all the same; the monitor would do so 10 ms late. The quickest of
// several: on a busy machine the threads wait for a CPU now and then.
// A ticker is not late by the turns of all who compute.
TEST_P(Sleep, who_runs_briefly_goes_before_those_that_compute) {
  if (GetParam().policy == weft::policy_kind::global) GTEST_SKIP() << "one queue, in the order of arrival";
  if (is_seam_test()) GTEST_SKIP() << "strict order of arrival";
  EXPECT_TRUE(holds_in_time(1ms, [](Clock::duration unit) {
    return weft::run([unit] {
      constexpr int kOthers = 30;
      std::atomic<bool> stop{false};
      weft::wait_group group;
      for (int i = 0; i < kOthers * procs(); ++i)
        group.go([&] {
          while (!stop) {
            compute_for(unit);
            weft::this_goroutine::yield();
          }
        });
      std::vector<Clock::duration> late;
      for (int i = 0; i < 9; ++i) {
        const auto due = Clock::now() + 2 * unit;
        weft::this_goroutine::sleep_until(due);
        late.push_back(Clock::now() - due);
      }
      stop = true;
      group.wait();
      std::ranges::sort(late);
      return late[late.size() / 2] < kOthers / 2 * unit;
    });
  }, 2));  // longer units come near a time slice, and preemption would help
}

TEST_P(Sleep, a_sleeper_is_woken_beside_hundreds_that_only_yield) {
  weft::run([] {
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int i = 0; i < 300 * procs(); ++i)
      group.go([&] {
        while (!stop) weft::this_goroutine::yield();
      });
    auto least = std::chrono::nanoseconds::max();
    for (int i = 0; i < 10; ++i) {
      const auto due = Clock::now() + 3ms;
      weft::this_goroutine::sleep_until(due);
      least = std::min<std::chrono::nanoseconds>(least, Clock::now() - due);
    }
    stop = true;
    group.wait();
    EXPECT_LT(least, 8ms * kSlowdown);
  });
}

// More are started than a P's own queues hold; the others wait in the global one beside sleepers that are always due.
TEST_P(Sleep, who_has_just_been_started_takes_turns_with_sleepers) {
  constexpr int kSleepers = 2000, kStarted = 2000;
  weft::run([] {
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> sleeps{0};
    weft::wait_group sleepers, started;
    for (int i = 0; i < kSleepers; ++i)
      sleepers.go([&] {
        while (!stop) {
          weft::this_goroutine::sleep_for(1us);
          ++sleeps;
        }
      });
    while (sleeps < 2 * kSleepers) weft::this_goroutine::yield();
    const std::uint64_t before = sleeps;
    for (int i = 0; i < kStarted; ++i) started.go([] {});
    started.wait();
    if (procs() == 1) {  // otherwise sleepers go on while the thread that starts the others waits for a CPU
      EXPECT_LT(sleeps - before, 12u * kStarted) << "every 61st pick alone lets a hundred overtake each of them";
    }
    stop = true;
    sleepers.wait();
  });
}

// Nobody is told of a timer that is far: whoever sleeps for a later one, or for none, is reminded of it in time. The best of three: without
// that it would always be late, by the 20 ms after which the monitor looks for what others have missed.
TEST_P(Sleep, a_far_one_ends_in_time_although_a_thread_sleeps_for_a_later_timer) {
  weft::run([] {
    const weft::timer later = weft::after_func(1h, [] {});
    auto late = Clock::duration::max();
    for (int i = 0; i < 3; ++i) {
      weft::wait_group calls;
      for (int c = 0; c < 3; ++c)
        calls.go([] { weft::blocking([] { usleep(2'000); }); });  // threads that retire, and watch
      calls.wait();
      weft::event woken;  // by a thread outside, so that not the one that watches the timers goes on
      std::thread outside([&] {
        usleep(5'000);
        woken.set();
      });
      woken.wait();
      const Stopwatch watch;
      weft::this_goroutine::sleep_for(260ms);
      outside.join();
      late = std::min<Clock::duration>(late, watch.elapsed() - 260ms);
    }
    EXPECT_LT(late, 10ms * kSlowdown);
    weft::timer(later).stop();
  });
}

}  // namespace
