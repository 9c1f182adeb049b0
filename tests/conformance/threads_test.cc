// SPDX-License-Identifier: MIT
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// Everything works from plain threads, and from many of them at once.
namespace {

using namespace weft::test;

class Threads : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Threads);

TEST_P(Threads, start_and_join_goroutines) {
  std::thread([] {
    EXPECT_EQ(weft::this_goroutine::get_id(), weft::goroutine_id());
    EXPECT_EQ(weft::spawn([](int x) { return 2 * x; }, 21).join(), 42);
    weft::event event;
    weft::go([&] { event.set(); });
    event.wait();
    weft::wait_group group;
    for (int i = 0; i < 100; ++i) group.go([] { weft::this_goroutine::yield(); });
    group.wait();
    weft::this_goroutine::yield();
    weft::preempt_point();
    const weft::no_preempt nothing_to_do;
  }).join();
}

TEST_P(Threads, many_threads_start_goroutines_at_once) {
  std::atomic<long> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      weft::wait_group group;
      for (int i = 0; i < scaled(2000); ++i) {
        group.go([&sum, i] {
          if (i % 5 == 0) weft::this_goroutine::yield();
          ++sum;
        });
        if (i % 100 == 0) sum += weft::spawn([] { return 1; }).join();
      }
      group.wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 6 * (scaled(2000) + (scaled(2000) + 99) / 100));
}

TEST_P(Threads, a_thread_may_end_before_the_goroutines_it_started) {
  weft::event go_on;
  std::atomic<int> ended{0};
  for (int i = 0; i < 10; ++i) {
    std::thread([&] {
      weft::go([&] {
        go_on.wait();
        ++ended;
      });
    }).join();
  }
  go_on.set();
  EXPECT_TRUE(spin_until([&] { return ended == 10; }));
}

TEST_P(Threads, ask_and_change_the_runtime) {
  std::thread([] {
    EXPECT_EQ(weft::runtime::maxprocs(), procs());
    EXPECT_EQ(weft::runtime::set_maxprocs(procs() + 1), procs());
    EXPECT_EQ(weft::runtime::set_maxprocs(procs()), procs() + 1);
    EXPECT_EQ(weft::runtime::policy(), GetParam().policy);
    EXPECT_EQ(weft::runtime::stop_the_world([] { return 4; }), 4);
    EXPECT_EQ(weft::runtime::read_stats().goroutines, weft::runtime::num_goroutines());
  }).join();
}

TEST_P(Threads, goroutines_see_work_of_threads_however_busy_they_are) {
  // The global queue is looked at now and then even by those who always have local work.
  weft::run([] {
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int i = 0; i < 3 * procs(); ++i) {
      group.go([&] {
        while (!stop) {
          weft::wait_group inner;
          inner.go([] {});
          inner.wait();
          weft::this_goroutine::yield();
        }
      });
    }
    std::thread thread([&] {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(weft::spawn([i] { return i; }).join(), i);
      stop = true;
    });
    group.wait();
    weft::blocking([&] { thread.join(); });
  });
}

TEST_P(Threads, wait_with_limits) {
  std::thread([] {
    weft::event event;
    const Stopwatch watch;
    EXPECT_FALSE(event.wait_for(5ms));
    EXPECT_GE(watch.elapsed(), 5ms);
    weft::task<int> task = weft::spawn([&] {
      event.wait();
      return 3;
    });
    EXPECT_FALSE(task.wait_for(2ms));
    weft::wait_group group;
    group.add();
    EXPECT_FALSE(group.wait_for(2ms));
    weft::go([&] {
      weft::this_goroutine::sleep_for(1ms);
      event.set();
      group.done();
    });
    EXPECT_TRUE(event.wait_for(20s));
    EXPECT_TRUE(group.wait_for(20s));
    EXPECT_TRUE(task.wait_for(20s));
    EXPECT_EQ(task.join(), 3);
  }).join();
}

TEST_P(Threads, come_and_go_in_large_numbers) {
  std::atomic<int> sum{0};
  for (int i = 0; i < scaled(100); ++i) {
    std::thread([&] {
      weft::mutex lock;
      weft::wait_group group;
      group.go([&] {
        const std::lock_guard guard(lock);
        ++sum;
      });
      group.wait();
    }).join();
  }
  EXPECT_EQ(sum, scaled(100));
}

}  // namespace
