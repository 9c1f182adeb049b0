// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "support/runtime_test.h"

// What a program can rely on about who runs when (SC01-SC05, SC08, SC12-SC16, SC29).
namespace {

using namespace weft::test;

class Scheduler : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Scheduler);

// Goroutines that pass a counter round by spinning, without ever giving way: they need to run at the same time.
bool passes_counter_by_spinning(int goroutines) {
  std::atomic<int> counter{0};
  std::atomic<bool> gave_up{false};
  weft::wait_group group;
  const auto end = Clock::now() + 20s;
  for (int i = 0; i < goroutines; ++i) {
    group.go([&, i] {
      for (int round = 0; round < 6; ++round) {
        while (counter.load(std::memory_order_acquire) != round * goroutines + i) {
          if (Clock::now() > end) {
            gave_up = true;
            return;
          }
        }
        counter.store(round * goroutines + i + 1, std::memory_order_release);
      }
    });
  }
  group.wait();
  return !gave_up;
}

TEST_P(Scheduler, as_many_goroutines_as_processors_run_at_the_same_time) {
  for (int attempt = 0; attempt < (kTsan ? 2 : 5); ++attempt)
    EXPECT_TRUE(weft::run([] { return passes_counter_by_spinning(procs()); })) << attempt;
}

TEST_P(Scheduler, so_they_do_after_a_burst_and_from_nested_goroutines) {
  for (int attempt = 0; attempt < (kTsan ? 1 : 3); ++attempt) {
    weft::run([] {
      weft::wait_group burst;
      for (int i = 0; i < 2000; ++i) burst.go([] { weft::this_goroutine::yield(); });
      burst.wait();
      weft::task<bool> nested = weft::spawn([] { return weft::spawn([] { return passes_counter_by_spinning(procs()); }).join(); });
      EXPECT_TRUE(nested.join());
    });
  }
}

TEST_P(Scheduler, everything_that_is_started_runs_exactly_once) {
  const int count = scaled(20'000);
  std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
  weft::wait_group group;
  weft::run([&] {
    for (int i = 0; i < count; ++i) {
      group.go([&, i] {
        if (i % 7 == 0) weft::this_goroutine::yield();
        ++runs[static_cast<std::size_t>(i)];
      });
    }
    group.wait();
  });
  EXPECT_TRUE(std::ranges::all_of(runs, [](const std::atomic<int>& n) { return n == 1; }));
}

TEST_P(Scheduler, yield_lets_every_other_goroutine_run) {
  weft::run([] {
    constexpr int kGoroutines = 50;
    std::vector<std::atomic<int>> rounds(kGoroutines);
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int i = 0; i < kGoroutines; ++i) {
      group.go([&, i] {
        while (!stop) {
          ++rounds[static_cast<std::size_t>(i)];
          weft::this_goroutine::yield();
        }
      });
    }
    EXPECT_TRUE(spin_until([&] { return std::ranges::all_of(rounds, [](const std::atomic<int>& n) { return n > 20; }); }, 20s));
    stop = true;
    group.wait();
  });
}

TEST_P(Scheduler, two_that_wake_each_other_do_not_starve_a_third) {
  weft::run([] {
    std::atomic<bool> stop{false};
    std::atomic<int> third{0};
    weft::wait_group group;
    // Each wake puts the other into the slot that runs next.
    group.go([&] {
      while (!stop) weft::spawn([] {}).join();
    });
    for (int i = 0; i < 3 * procs(); ++i) {
      group.go([&] {
        while (!stop) weft::spawn([] {}).join();
      });
    }
    group.go([&] {
      while (!stop) {
        ++third;
        weft::this_goroutine::yield();
      }
    });
    EXPECT_TRUE(spin_until([&] { return third > 50; }, 20s)) << third;
    stop = true;
    group.wait();
  });
}

TEST_P(Scheduler, two_take_turns_through_a_flag_with_check_points) {
  weft::run([] {
    std::atomic<int> turn{0};
    weft::wait_group group;
    for (int side = 0; side < 2; ++side) {
      group.go([&, side] {
        for (int round = 0; round < 5; ++round) {
          while (turn.load(std::memory_order_acquire) % 2 != side) weft::preempt_point();
          turn.fetch_add(1, std::memory_order_acq_rel);
        }
      });
    }
    group.wait();
    EXPECT_EQ(turn, 10);
  });
}

TEST_P(Scheduler, work_spreads_over_idle_processors) {
  if (procs() == 1) return;  // nobody else is there
  EXPECT_TRUE(holds_in_time(5ms, [](Clock::duration unit) {
    return weft::run([unit] {
      std::mutex lock;
      std::set<pid_t> threads;
      weft::wait_group group;
      for (int i = 0; i < 4 * procs(); ++i) {
        group.go([&, unit] {
          compute_for(unit / 4);
          const std::lock_guard guard(lock);
          threads.insert(gettid());
        });
      }
      group.wait();
      return threads.size() >= 2;
    });
  }));
}

TEST_P(Scheduler, a_busy_spawner_is_helped) {
  // The spawner never waits: its goroutines must be taken from it.
  if (procs() == 1) return;  // nobody else is there
  weft::run([] {
    std::atomic<int> ran{0};
    for (int i = 0; i < 10; ++i) weft::go([&] { ++ran; });
    const Stopwatch watch;
    while (ran < 10 && watch.elapsed() < 20s) {
    }
    EXPECT_EQ(ran, 10);
  });
}

TEST_P(Scheduler, heavy_and_light_pairs_share_a_processor) {
  weft::run([] {
    std::atomic<bool> stop{false};
    std::atomic<long> heavy{0}, light{0};
    weft::wait_group group;
    const auto pair = [&](std::atomic<long>& counter, Clock::duration work) {
      for (int side = 0; side < 2; ++side) {
        group.go([&, work] {
          while (!stop) {
            compute_for(work);
            ++counter;
            weft::this_goroutine::yield();
          }
        });
      }
    };
    pair(heavy, 50us);
    pair(light, 0us);
    EXPECT_TRUE(spin_until([&] { return heavy > 1000; }, 20s));
    stop = true;
    group.wait();
    EXPECT_GT(light * 20, heavy);
    EXPECT_GT(heavy, 0);
  });
}

TEST_P(Scheduler, recursion_into_goroutines_gives_the_right_sum) {
  // Skynet: every node starts ten.
  std::function<long(long, long)> skynet = [&](long first, long leaves) -> long {
    if (leaves == 1) return first;
    std::vector<weft::task<long>> children;
    for (long i = 0; i < 10; ++i) children.push_back(weft::spawn([&, i] { return skynet(first + i * leaves / 10, leaves / 10); }));
    long sum = 0;
    for (auto& child : children) sum += child.join();
    return sum;
  };
  const long leaves = kSanitized ? 1000 : 10'000;
  EXPECT_EQ(weft::run([&] { return skynet(0, leaves); }), leaves * (leaves - 1) / 2);
}

TEST_P(Scheduler, fork_and_join_to_the_last_leaf) {
  struct Fib {
    static int of(int n) {
      if (n < 2) return n;
      weft::task<int> left = weft::spawn([n] { return of(n - 1); });
      const int right = of(n - 2);
      return left.join() + right;
    }
  };
  EXPECT_EQ(weft::run([] { return Fib::of(kSanitized ? 14 : 19); }), kSanitized ? 377 : 4181);
}

TEST_P(Scheduler, a_ring_of_goroutines_passes_a_token) {
  constexpr std::size_t kSize = 100;
  const int laps = scaled(40);
  struct Link {
    weft::mutex held;
  };
  std::vector<Link> ring(kSize);
  for (Link& link : ring) link.held.lock();
  long hops = 0;
  weft::wait_group group;
  for (std::size_t i = 0; i < kSize; ++i) {
    group.go([&, i] {
      for (int lap = 0; lap < laps; ++lap) {
        ring[i].held.lock();  // unlocked by the one before
        ++hops;
        ring[(i + 1) % kSize].held.unlock();
      }
    });
  }
  ring[0].held.unlock();
  group.wait();
  EXPECT_EQ(hops, static_cast<long>(kSize) * laps);
}

}  // namespace
