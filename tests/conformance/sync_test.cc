// SPDX-License-Identifier: MIT
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// wait_group, mutex and event, between goroutines and between goroutines and threads (SY01, SY03, SY08-SY10).
namespace {

using namespace weft::test;

class Sync : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Sync);

TEST_P(Sync, wait_returns_at_once_when_nothing_is_counted) {
  weft::wait_group group;
  group.wait();
  EXPECT_TRUE(group.wait_for(0s));
  group.add(2);
  group.done();
  EXPECT_FALSE(group.wait_for(1ms));
  group.done();
  group.wait();
}

TEST_P(Sync, a_negative_count_throws_and_changes_nothing) {
  weft::wait_group group;
  EXPECT_THROW(group.done(), weft::logic_error);
  group.add(2);
  try {
    group.add(-3);
    FAIL();
  } catch (const weft::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("negative"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(group.wait_for(1ms)) << "still two";
  group.add(-2);
  group.wait();
}

TEST_P(Sync, a_count_that_is_too_large_throws_and_changes_nothing) {
  weft::wait_group group;
  group.add(INT32_MAX);
  EXPECT_THROW(group.add(1), weft::logic_error);
  group.add(-INT32_MAX);
  group.wait();
}

TEST_P(Sync, wait_sees_the_effects_of_all_workers) {
  weft::run([] {
    for (int round = 0; round < scaled(1000); ++round) {
      weft::wait_group group;
      int first = 0, second = 0;  // plain: the group orders the accesses
      group.go([&] { first = 1; });
      group.go([&] { second = 1; });
      group.wait();
      ASSERT_EQ(first + second, 2);
    }
  });
}

TEST_P(Sync, groups_can_be_used_again) {
  weft::run([] {
    constexpr int kWorkers = 16, kRounds = 8;
    weft::wait_group groups[2];
    std::atomic<int> arrived[kRounds] = {};
    weft::wait_group all;
    groups[0].add(kWorkers);
    for (int worker = 0; worker < kWorkers; ++worker) {
      all.go([&] {
        for (int round = 0; round < kRounds; ++round) {
          weft::wait_group& mine = groups[round % 2];
          if (++arrived[round] == kWorkers && round + 1 < kRounds) groups[(round + 1) % 2].add(kWorkers);
          mine.done();
          mine.wait();
          ASSERT_EQ(arrived[round], kWorkers) << "released early in round " << round;
        }
      });
    }
    all.wait();
  });
}

TEST_P(Sync, many_wait_for_one_group) {
  weft::wait_group group;
  group.add(1);
  std::atomic<int> released{0};
  weft::wait_group waiters;
  for (int i = 0; i < 200; ++i) {
    waiters.go([&] {
      group.wait();
      ++released;
    });
  }
  std::thread thread([&] { group.wait(); });
  weft::this_goroutine::sleep_for(2ms);
  EXPECT_EQ(released, 0);
  group.done();
  waiters.wait();
  thread.join();
  EXPECT_EQ(released, 200);
}

TEST_P(Sync, a_group_may_go_away_as_soon_as_wait_returns) {
  weft::run([] {
    for (int round = 0; round < scaled(2000); ++round) {
      auto group = std::make_unique<weft::wait_group>();
      for (int i = 0; i < 3; ++i) group->go([] {});
      group->wait();
      group.reset();  // what done() does after the last count must not touch it
    }
  });
}

TEST_P(Sync, an_event_may_go_away_as_soon_as_wait_returns) {
  weft::run([] {
    for (int round = 0; round < scaled(2000); ++round) {
      auto event = std::make_unique<weft::event>();
      weft::go([raw = event.get()] { raw->set(); });
      event->wait();
      event.reset();
    }
  });
}

TEST_P(Sync, a_mutex_excludes) {
  weft::mutex lock;
  long counter = 0;
  int inside = 0;
  weft::wait_group group;
  for (int i = 0; i < 10; ++i) {
    group.go([&] {
      for (int round = 0; round < scaled(1000); ++round) {
        if (round % 3 == 0) {
          while (!lock.try_lock()) weft::this_goroutine::yield();
        } else {
          lock.lock();
        }
        ASSERT_EQ(++inside, 1);
        ++counter;
        if (round % 50 == 0) weft::this_goroutine::yield();
        if (round % 200 == 0) weft::this_goroutine::sleep_for(10us);
        --inside;
        lock.unlock();
      }
    });
  }
  group.wait();
  EXPECT_EQ(counter, 10 * scaled(1000));
}

TEST_P(Sync, try_lock_says_whether_it_is_held) {
  weft::mutex lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST_P(Sync, a_mutex_may_be_unlocked_by_another) {
  weft::mutex lock;
  lock.lock();
  weft::wait_group group;
  group.go([&] { lock.unlock(); });
  lock.lock();
  group.wait();
  std::thread([&] { lock.unlock(); }).join();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST_P(Sync, goroutines_and_threads_share_a_mutex) {
  weft::mutex lock;
  long counter = 0;
  const auto work = [&] {
    for (int i = 0; i < scaled(2000); ++i) {
      const std::lock_guard guard(lock);
      ++counter;
    }
  };
  weft::wait_group group;
  for (int i = 0; i < 6; ++i) group.go(work);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  group.wait();
  EXPECT_EQ(counter, 9 * scaled(2000));
}

TEST_P(Sync, a_waiter_gets_the_mutex_from_one_that_hardly_lets_go) {
  weft::run([] {
    weft::mutex lock;
    std::atomic<bool> stop{false};
    weft::wait_group group;
    group.go([&] {
      while (!stop) {
        lock.lock();
        weft::this_goroutine::sleep_for(100us);
        lock.unlock();
      }
    });
    const Stopwatch watch;
    for (int i = 0; i < 10; ++i) {
      weft::this_goroutine::sleep_for(100us);
      const std::lock_guard guard(lock);
    }
    EXPECT_LT(watch.elapsed(), 10s);
    stop = true;
    group.wait();
  });
}

TEST_P(Sync, a_mutex_passes_through_a_ring_of_waiters) {
  weft::run([] {
    weft::mutex lock;
    lock.lock();
    std::atomic<int> had_it{0};
    weft::wait_group group;
    for (int i = 0; i < scaled(500); ++i) {
      group.go([&] {
        const std::unique_lock guard(lock);
        ++had_it;
      });
    }
    weft::this_goroutine::sleep_for(3ms);  // long enough for hand-over
    EXPECT_EQ(had_it, 0);
    lock.unlock();
    group.wait();
    EXPECT_EQ(had_it, scaled(500));
  });
}

TEST_P(Sync, an_event_releases_all_and_stays_set) {
  weft::event event;
  EXPECT_FALSE(event.is_set());
  std::atomic<int> released{0};
  weft::wait_group group;
  for (int i = 0; i < 100; ++i) {
    group.go([&] {
      event.wait();
      ++released;
    });
  }
  weft::this_goroutine::sleep_for(1ms);
  EXPECT_EQ(released, 0);
  event.set();
  event.set();
  group.wait();
  EXPECT_EQ(released, 100);
  event.wait();
  EXPECT_TRUE(event.is_set());
  event.reset();
  EXPECT_FALSE(event.is_set());
  EXPECT_FALSE(event.wait_for(1ms));
}

TEST_P(Sync, an_event_orders_what_was_written_before_it) {
  weft::run([] {
    for (int round = 0; round < scaled(1000); ++round) {
      weft::event event;
      int value = 0;  // plain
      weft::task<int> reader = weft::spawn([&] {
        event.wait();
        return value;
      });
      value = round;
      event.set();
      ASSERT_EQ(reader.join(), round);
    }
  });
}

TEST_P(Sync, goroutines_and_threads_hand_work_to_each_other) {
  constexpr int kRounds = 200;
  std::vector<weft::event> there(kRounds), back(kRounds);
  std::thread thread([&] {
    for (int i = 0; i < kRounds; ++i) {
      there[static_cast<std::size_t>(i)].wait();
      back[static_cast<std::size_t>(i)].set();
    }
  });
  weft::run([&] {
    for (int i = 0; i < kRounds; ++i) {
      there[static_cast<std::size_t>(i)].set();
      back[static_cast<std::size_t>(i)].wait();
    }
  });
  thread.join();
}

}  // namespace
