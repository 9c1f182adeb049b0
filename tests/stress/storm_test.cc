// SPDX-License-Identifier: MIT
// test-timeout: 240
#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "support/stress.h"

// One thing, as often as it goes.
namespace {

using namespace weft::test;

class Storm : public StressTest {};
WEFT_AT_ALL_CONFIGURATIONS(Storm);

constexpr auto kShort = 400ms;

TEST_P(Storm, of_spawns) {
  const Budget budget(kShort);
  weft::run([&] {
    do {
      std::atomic<long> ran{0};
      weft::wait_group group;
      const int spawners = 8, each = scaled(2000);
      for (int s = 0; s < spawners; ++s) {
        group.go([&, s] {
          for (int i = 0; i < each; ++i) {
            group.go([&] { ++ran; });
            if (i % 64 == s) weft::this_goroutine::yield();
          }
        });
      }
      group.wait();
      ASSERT_EQ(ran, static_cast<long>(spawners) * each);
    } while (budget.is_left());
  });
}

TEST_P(Storm, of_spawns_from_threads) {
  const Budget budget(kShort);
  do {
    std::atomic<long> ran{0};
    weft::wait_group group;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < scaled(1000); ++i) group.go([&] { ++ran; });
      });
    }
    for (std::thread& thread : threads) thread.join();
    group.wait();
    ASSERT_EQ(ran, 4l * scaled(1000));
  } while (budget.is_left());
}

TEST_P(Storm, of_yields) {
  const Budget budget(kShort);
  weft::run([&] {
    std::atomic<bool> stop{false};
    std::vector<std::atomic<long>> rounds(100);
    weft::wait_group group;
    for (auto& count : rounds) {
      group.go([&] {
        while (!stop) {
          ++count;
          weft::this_goroutine::yield();
        }
      });
    }
    while (budget.is_left()) weft::this_goroutine::sleep_for(5ms);
    stop = true;
    group.wait();
    const auto [least, most] = std::minmax_element(rounds.begin(), rounds.end(),
                                                   [](const auto& a, const auto& b) { return a.load() < b.load(); });
    EXPECT_GT(*least, 0) << "somebody was forgotten";
    EXPECT_GT(*least * 1000, *most) << "nobody may get a thousand times another's share";
  });
}

TEST_P(Storm, of_joins) {
  const Budget budget(kShort);
  weft::run([&] {
    struct Fib {
      static long of(int n) {
        if (n < 2) return n;
        weft::task<long> left = weft::spawn([n] { return of(n - 1); });
        const long right = of(n - 2);
        return left.join() + right;
      }
    };
    do ASSERT_EQ(Fib::of(kSanitized ? 12 : 17), kSanitized ? 144 : 1597);
    while (budget.is_left());
  });
}

TEST_P(Storm, of_wakes_at_the_moment_of_the_time_limit) {
  // The waker and the time limit race for every waiter: each must be woken exactly once, by one of the two.
  const Budget budget(800ms);
  weft::run([&] {
    Random random(7);
    long by_event = 0, by_limit = 0;
    do {
      constexpr int kWaiters = 20;
      weft::event event;
      weft::wait_group counted, group;
      counted.add(1);
      weft::task<void> target = weft::spawn([&] { counted.wait(); });
      std::atomic<int> woken{0}, late{0};
      const auto limit = std::chrono::microseconds(50 + random.below(200));
      const auto when = Clock::now() + limit;
      for (int i = 0; i < kWaiters; ++i) {
        group.go([&, i] {
          const bool in_time = i % 2 == 0 ? event.wait_for(when - Clock::now()) : counted.wait_until(when);
          (in_time ? woken : late) += 1;
        });
      }
      const bool joined = target.wait_until(when - std::chrono::microseconds(random.below(20)));
      if (!joined) weft::this_goroutine::sleep_until(when - std::chrono::microseconds(random.below(40)));
      event.set();
      counted.done();
      group.wait();
      target.join();
      ASSERT_EQ(woken + late, kWaiters);
      by_event += woken;
      by_limit += late;
    } while (budget.is_left());
    RecordProperty("woken", static_cast<int>(by_event));
    RecordProperty("late", static_cast<int>(by_limit));
  });
}

TEST_P(Storm, of_wakes_of_threads_at_the_moment_of_the_time_limit) {
  const Budget budget(kShort);
  Random random(8);
  do {
    weft::event event;
    const auto limit = std::chrono::microseconds(20 + random.below(200));
    weft::go([&] {
      weft::this_goroutine::sleep_for(limit);
      event.set();
    });
    static_cast<void>(event.wait_for(limit));
    weft::task<int> task = weft::spawn([limit] {
      weft::this_goroutine::sleep_for(limit);
      return 3;
    });
    static_cast<void>(task.wait_for(limit));
    ASSERT_EQ(task.join(), 3);
    event.wait();  // lives until the setter is done with it
  } while (budget.is_left());
}

TEST_P(Storm, of_short_sleeps) {
  const Budget budget(kShort);
  weft::run([&] {
    std::atomic<bool> stop{false};
    std::atomic<long> early{0}, naps{0};
    weft::wait_group group;
    for (int i = 0; i < 200; ++i) {
      group.go([&, i] {
        Random random(static_cast<std::uint64_t>(i));
        while (!stop) {
          const auto nap = std::chrono::microseconds(random.below(500));
          const Stopwatch watch;
          weft::this_goroutine::sleep_for(nap);
          if (watch.elapsed() < nap) ++early;
          ++naps;
        }
      });
    }
    while (budget.is_left()) weft::this_goroutine::sleep_for(10ms);
    stop = true;
    group.wait();
    EXPECT_EQ(early, 0);
    EXPECT_GT(naps, 200);
  });
}

TEST_P(Storm, of_blocking_calls) {
  const Budget budget(kShort);
  weft::run([&] {
    std::atomic<bool> stop{false};
    std::atomic<long> calls{0};
    weft::wait_group group;
    for (int i = 0; i < 16; ++i) {
      group.go([&, i] {
        Random random(static_cast<std::uint64_t>(i));
        while (!stop) {
          const int kind = random.below(20);
          weft::blocking([&] {
            if (kind == 0) usleep(static_cast<useconds_t>(random.below(500)));
            if (kind == 1) sched_yield();
            ++calls;
          });
          if (kind == 2) weft::this_goroutine::yield();
          if (kind == 3) weft::spawn([] {}).join();
        }
      });
    }
    // However little of the machine is ours, calls go on being made.
    const bool enough = spin_until([&] { return calls > 1000 / kSlowdown; });
    while (budget.is_left()) weft::this_goroutine::sleep_for(10ms);
    stop = true;
    group.wait();
    EXPECT_TRUE(enough) << calls << " calls";
  });
}

TEST_P(Storm, of_lock_and_unlock) {
  const Budget budget(kShort);
  std::atomic<bool> stop{false};
  weft::mutex locks[3];
  long counts[3] = {};
  std::atomic<long> total{0};
  const auto work = [&](int seed) {
    Random random(static_cast<std::uint64_t>(seed));
    while (!stop) {
      const int which = random.below(3);
      if (random.below(10) == 0) {
        if (!locks[which].try_lock()) continue;
      } else {
        locks[which].lock();
      }
      ++counts[which];
      if (random.below(200) == 0) weft::this_goroutine::sleep_for(10us);
      locks[which].unlock();
      ++total;
    }
  };
  weft::wait_group group;
  for (int i = 0; i < 12; ++i) group.go([&, i] { work(i); });
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&, i] { work(100 + i); });
  while (budget.is_left()) usleep(5000);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  group.wait();
  EXPECT_EQ(counts[0] + counts[1] + counts[2], total);
}

TEST_P(Storm, of_dumps) {
  // Stacks of goroutines in every state are walked while all goes on around.
  const Budget budget(800ms);
  weft::run([&] {
    std::atomic<bool> stop{false};
    weft::event never;
    weft::wait_group group;
    for (int i = 0; i < 30; ++i) {
      group.go([&, i] {
        Random random(static_cast<std::uint64_t>(i));
        while (!stop) {
          switch (random.below(6)) {
            case 0: weft::this_goroutine::yield(); break;
            case 1: weft::this_goroutine::sleep_for(50us); break;
            case 2: weft::blocking([] { usleep(50); }); break;
            case 3: static_cast<void>(never.wait_for(30us)); break;
            case 4: weft::spawn([] { weft::this_goroutine::yield(); }).join(); break;
            default:
              weft::this_goroutine::set_name("number " + std::to_string(i));
              try {
                throw i;
              } catch (int) {
                weft::this_goroutine::yield();
              }
          }
        }
      });
    }
    std::thread thread([&] {
      while (!stop) {
        ASSERT_NE(dump_text().find("goroutine "), std::string::npos);
        usleep(1000);
      }
    });
    do {
      const std::string text = dump_text();
      ASSERT_NE(text.find("goroutine "), std::string::npos);
      weft::this_goroutine::yield();
    } while (budget.is_left());
    stop = true;
    weft::blocking([&] { thread.join(); });
    group.wait();
  });
}

TEST_P(Storm, of_goroutine_ends_on_locked_threads) {
  const Budget budget(kShort);
  weft::run([&] {
    do {
      weft::wait_group group;
      for (int i = 0; i < 8; ++i) {
        group.go([i] {
          weft::lock_os_thread();
          if (i % 3 == 0) weft::this_goroutine::yield();
          if (i % 3 == 1) weft::blocking([] { usleep(20); });
          if (i % 2 == 0) weft::unlock_os_thread();
        });
      }
      group.wait();
    } while (budget.is_left());
  });
}

// A stack and what a sanitizer knows about it are used again and again: nothing may pile up from one goroutine to the next.
TEST_P(Storm, of_goroutines_one_after_another) {
  weft::run([] {
    weft::wait_group group;
    for (int i = 0; i < 80'000; ++i) {
      group.go([i] {
        if (i % 2 == 0) weft::this_goroutine::yield();
        if (i % 3 == 0) weft::this_goroutine::exit();
      });
      group.wait();
    }
  });
}

// Who has stopped the world may touch what goroutines own; ThreadSanitizer must agree.
TEST_P(Storm, of_looks_at_what_others_own) {
  const Budget budget(kShort);
  weft::run([&] {
    std::atomic<bool> stop{false};
    long owned[8] = {}, given = 0, seen = 0;
    weft::wait_group group;
    for (long& own : owned) {
      group.go([&] {
        while (!stop) {
          own += given > 0 ? 1 : 2;
          if (own % 8 == 0) weft::this_goroutine::sleep_for(10us);
          weft::this_goroutine::yield();
        }
      });
    }
    do {
      weft::runtime::stop_the_world([&] {
        for (long& own : owned) seen += std::exchange(own, 0);
        ++given;
      });
      weft::this_goroutine::yield();
    } while (budget.is_left());
    stop = true;
    group.wait();
    for (const long own : owned) seen += own;
    EXPECT_GT(seen, 0);
  });
}

}  // namespace
