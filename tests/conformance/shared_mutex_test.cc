// SPDX-License-Identifier: MIT
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// shared_mutex (SY02, SY05, SY06).
namespace {

using namespace weft::test;

class SharedMutex : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(SharedMutex);

TEST_P(SharedMutex, readers_hold_it_at_the_same_time) {
  for (const int readers : {1, 3, 4, 20}) {
    weft::shared_mutex lock;
    weft::latch all_in(readers);
    weft::wait_group group;
    for (int i = 0; i < readers; ++i) {
      group.go([&] {
        const std::shared_lock guard(lock);
        all_in.arrive_and_wait();
      });
    }
    group.wait();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  }
}

TEST_P(SharedMutex, tries_say_who_holds_it) {
  weft::shared_mutex lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock_shared());
  EXPECT_FALSE(lock.try_lock_for(1ms));
  EXPECT_FALSE(lock.try_lock_shared_for(1ms));
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_shared());
  EXPECT_TRUE(lock.try_lock_shared());
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock_until(Clock::now() + 1ms));
  EXPECT_TRUE(lock.try_lock_shared_until(Clock::now() - 1ms));
  lock.unlock_shared();
  lock.unlock_shared();
  lock.unlock_shared();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST_P(SharedMutex, a_writer_is_alone) {
  weft::shared_mutex lock;
  std::atomic<int> activity{0};  // +1 a reader, +10,000 a writer
  const auto read = [&] {
    for (int i = 0; i < scaled(300); ++i) {
      const std::shared_lock guard(lock);
      const int seen = ++activity;
      ASSERT_TRUE(seen >= 1 && seen < 10'000) << seen;
      if (i % 20 == 0) weft::this_goroutine::yield();
      --activity;
    }
  };
  const auto write = [&] {
    for (int i = 0; i < scaled(300); ++i) {
      const std::unique_lock guard(lock);
      const int seen = activity += 10'000;
      ASSERT_EQ(seen, 10'000);
      if (i % 20 == 0) weft::this_goroutine::yield();
      activity -= 10'000;
    }
  };
  for (const int readers : {1, 3, 10}) {
    weft::wait_group group;
    for (int i = 0; i < readers; ++i) group.go(read);
    group.go(write);
    group.go(write);
    std::thread reader(read), writer(write);
    reader.join();
    writer.join();
    group.wait();
    ASSERT_EQ(activity, 0);
  }
}

TEST_P(SharedMutex, what_a_reader_saw_is_over_when_a_writer_comes) {
  weft::run([] {
    weft::shared_mutex lock;
    long value = 0;  // plain: the lock orders the accesses
    weft::wait_group group;
    for (int i = 0; i < 4; ++i) {
      group.go([&] {
        for (int round = 0; round < scaled(300); ++round) {
          {
            const std::shared_lock guard(lock);
            ASSERT_EQ(value % 2, 0);
          }
          const std::unique_lock guard(lock);
          ++value;
          if (round % 16 == 0) weft::this_goroutine::yield();
          ++value;
        }
      });
    }
    group.wait();
    EXPECT_EQ(value, 8 * scaled(300));
  });
}

TEST_P(SharedMutex, a_waiting_writer_holds_up_new_readers) {
  weft::run([] {
    weft::shared_mutex lock;
    lock.lock_shared();
    std::vector<char> order;
    weft::wait_group group;
    group.go([&] {
      const std::unique_lock guard(lock);
      order.push_back('w');
    });
    ASSERT_TRUE(spin_until([&] {
      if (!lock.try_lock_shared()) return true;
      lock.unlock_shared();
      return false;
    }));
    group.go([&] {
      const std::shared_lock guard(lock);
      order.push_back('r');
    });
    EXPECT_FALSE(lock.try_lock_shared_for(2ms));
    EXPECT_TRUE(order.empty());
    lock.unlock_shared();
    group.wait();
    EXPECT_EQ(order, (std::vector<char>{'w', 'r'}));
  });
}

TEST_P(SharedMutex, readers_behind_a_writer_that_gives_up_go_on) {
  weft::run([] {
    weft::shared_mutex lock;
    lock.lock_shared();
    weft::task<bool> writer = weft::spawn([&] { return lock.try_lock_for(100ms); });
    weft::wait_group readers;
    ASSERT_TRUE(spin_until([&] {
      if (!lock.try_lock_shared()) return true;
      lock.unlock_shared();
      return false;
    }));
    for (int i = 0; i < 5; ++i) {
      readers.go([&] {
        lock.lock_shared();
        lock.unlock_shared();
      });
    }
    readers.wait();  // although the first reader never leaves
    EXPECT_FALSE(writer.join());
    lock.unlock_shared();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  });
}

TEST_P(SharedMutex, writers_get_it_from_readers_that_never_all_leave) {
  weft::run([] {
    weft::shared_mutex lock;
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int i = 0; i < 4; ++i) {
      group.go([&] {
        while (!stop) {
          const std::shared_lock guard(lock);
          weft::this_goroutine::sleep_for(100us);
        }
      });
    }
    for (int i = 0; i < 10; ++i) {
      const std::unique_lock guard(lock);
    }
    stop = true;
    group.wait();
  });
}

// Time limits meet hand-overs at every distance: nobody is left behind, nobody is let in twice.
TEST_P(SharedMutex, those_who_give_up_leave_no_trace) {
  weft::shared_mutex lock;
  std::atomic<int> activity{0};
  const auto work = [&](int seed) {
    for (int round = 0; round < scaled(300); ++round) {
      const int choice = (seed * 31 + round * 17) % 100;
      const auto limit = std::chrono::microseconds(choice);
      if (choice % 4 == 0) {
        if (choice % 8 == 0) {
          lock.lock();
        } else if (!lock.try_lock_for(limit)) {
          continue;
        }
        ASSERT_EQ(activity += 10'000, 10'000);
        if (round % 8 == 0) weft::this_goroutine::sleep_for(10us);
        activity -= 10'000;
        lock.unlock();
      } else {
        if (choice % 3 == 0) {
          lock.lock_shared();
        } else if (!lock.try_lock_shared_for(limit)) {
          continue;
        }
        ASSERT_LT(++activity, 10'000);
        if (round % 8 == 0) weft::this_goroutine::sleep_for(10us);
        --activity;
        lock.unlock_shared();
      }
    }
  };
  weft::wait_group group;
  for (int i = 0; i < 8; ++i) group.go([&, i] { work(i); });
  std::thread thread(work, 8);
  thread.join();
  group.wait();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(SharedMutexDeathTest, unlocking_the_wrong_way_is_fatal_and_named) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(weft::shared_mutex().unlock(), "unlock of an unlocked shared_mutex \\(at 0x");
  EXPECT_DEATH(weft::shared_mutex().unlock_shared(), "unlock_shared of an unlocked shared_mutex \\(at 0x");
  EXPECT_DEATH(
      {
        weft::shared_mutex lock;
        lock.lock_shared();
        lock.unlock();
      },
      "unlock of an unlocked shared_mutex .*: it is locked shared");
  EXPECT_DEATH(
      {
        weft::shared_mutex lock;
        lock.lock();
        lock.unlock_shared();
      },
      "unlock_shared of an unlocked shared_mutex .*: it is locked by a writer");
  EXPECT_DEATH(
      {
        weft::shared_mutex lock;
        lock.lock_shared();
        lock.unlock_shared();
        weft::run([&] { lock.unlock_shared(); });
      },
      "unlocked shared_mutex");
}

}  // namespace
