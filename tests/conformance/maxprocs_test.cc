// SPDX-License-Identifier: MIT
#include "support/runtime_test.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

// maxprocs and policies, changed while goroutines run (SC19, SC20).
namespace {

using namespace weft::test;

class Maxprocs : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Maxprocs);

TEST_P(Maxprocs, maxprocs_can_be_changed_and_the_old_value_is_returned) {
  EXPECT_EQ(weft::runtime::maxprocs(), procs());
  int expected = procs();
  for (const int n : {1, 3, 3, 8, 2, procs()}) {
    EXPECT_EQ(weft::runtime::set_maxprocs(n), expected);
    EXPECT_EQ(weft::runtime::maxprocs(), n);
    expected = n;
    EXPECT_EQ(weft::spawn([] { return 1; }).join(), 1);
  }
}

TEST_P(Maxprocs, an_impossible_maxprocs_throws_and_changes_nothing) {
  for (const int n : {0, -1, 1025, 1'000'000, INT32_MAX, INT32_MIN}) {
    try {
      weft::runtime::set_maxprocs(n);
      ADD_FAILURE() << n;
    } catch (const weft::logic_error& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(n)), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("1024"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(weft::runtime::maxprocs(), procs());
}

TEST_P(Maxprocs, the_largest_maxprocs_works) {
  weft::runtime::set_maxprocs(1024);
  std::atomic<int> sum{0};
  weft::run([&] {
    weft::wait_group group;
    for (int i = 0; i < 2000; ++i)
      group.go([&] {
        weft::this_goroutine::yield();
        ++sum;
      });
    group.wait();
  });
  EXPECT_EQ(sum, 2000);
  weft::runtime::set_maxprocs(procs());
}

TEST_P(Maxprocs, maxprocs_changes_under_load_lose_nothing) {
  weft::run([] {
    constexpr int kGoroutines = 1000;
    std::atomic<bool> stop{false};
    std::atomic<long> rounds{0}, done_rounds{0};
    weft::mutex lock;
    long counter = 0;
    weft::wait_group group;
    for (int i = 0; i < scaled(kGoroutines); ++i) {
      group.go([&, i] {
        while (!stop) {
          ++rounds;
          if (i % 3 == 0) {
            weft::this_goroutine::sleep_for(std::chrono::microseconds(100 + i));
          } else if (i % 3 == 1) {
            weft::spawn([] {}).join();
          }
          {
            const std::lock_guard guard(lock);
            ++counter;
          }
          ++done_rounds;
          weft::this_goroutine::yield();
        }
      });
    }
    std::uint32_t random = 1;
    for (int i = 0; i < scaled(200); ++i) {
      random = random * 1664525 + 1013904223;
      weft::runtime::set_maxprocs(static_cast<int>(1 + (random >> 24) % 8));
      weft::this_goroutine::yield();
    }
    stop = true;
    group.wait();
    weft::runtime::set_maxprocs(procs());
    EXPECT_EQ(rounds, done_rounds);
    EXPECT_EQ(counter, rounds);
  });
}

TEST_P(Maxprocs, goroutines_and_threads_may_all_change_it_at_once) {
  weft::wait_group group;
  for (int i = 0; i < 5; ++i) {
    group.go([i] {
      for (int round = 0; round < scaled(40); ++round) {
        weft::runtime::set_maxprocs(1 + (i + round) % 6);
        weft::runtime::set_policy((i + round) % 2 == 0 ? weft::policy_kind::classic : weft::policy_kind::global);
        weft::runtime::stop_the_world([] {});
      }
    });
  }
  std::thread thread([] {
    for (int round = 0; round < scaled(40); ++round) {
      weft::runtime::set_maxprocs(1 + round % 3);
      weft::runtime::stop_the_world([] {});
    }
  });
  group.wait();
  thread.join();
  weft::runtime::set_maxprocs(procs());
}

TEST_P(Maxprocs, the_policy_can_be_changed_under_load) {
  weft::run([] {
    std::atomic<bool> stop{false};
    std::atomic<long> spawned{0}, ran{0};
    weft::wait_group group;
    for (int i = 0; i < 20; ++i) {
      group.go([&] {
        while (!stop) {
          for (int k = 0; k < 20; ++k) {
            ++spawned;
            group.go([&] { ++ran; });
          }
          weft::this_goroutine::yield();
        }
      });
    }
    for (int i = 0; i < scaled(100); ++i) {
      const weft::policy_kind kind = i % 2 == 0 ? weft::policy_kind::global : weft::policy_kind::classic;
      weft::runtime::set_policy(kind);
      EXPECT_EQ(weft::runtime::policy(), kind);
      weft::this_goroutine::yield();
    }
    stop = true;
    group.wait();
    EXPECT_EQ(spawned, ran);
  });
}

}  // namespace
