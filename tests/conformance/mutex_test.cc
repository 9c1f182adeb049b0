// SPDX-License-Identifier: MIT
#include <mutex>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// timed_mutex and recursive_mutex; what unlocking the wrong way does (SY02). The plain mutex is in sync_test.cc.
namespace {

using namespace weft::test;

class Mutex : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Mutex);

TEST_P(Mutex, try_lock_for_gives_up_when_the_time_is_over_and_not_before) {
  weft::timed_mutex lock;
  lock.lock();
  const auto give_up = [&] {
    const Stopwatch watch;
    EXPECT_FALSE(lock.try_lock_for(10ms));
    EXPECT_GE(watch.elapsed(), 10ms);
    EXPECT_FALSE(lock.try_lock_for(0s));
    EXPECT_FALSE(lock.try_lock_for(-1h));
    EXPECT_FALSE(lock.try_lock_until(Clock::now() - 1s));
    EXPECT_FALSE(lock.try_lock_until(std::chrono::system_clock::now() + 1ms));
  };
  give_up();
  weft::run(give_up);
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_for(0s));
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_until(Clock::time_point::min()));
  lock.unlock();
}

TEST_P(Mutex, try_lock_for_gets_what_is_unlocked_in_time) {
  weft::run([] {
    weft::timed_mutex lock;
    lock.lock();
    weft::task<bool> waiting = weft::spawn([&] { return lock.try_lock_for(std::chrono::hours::max()); });
    weft::this_goroutine::sleep_for(1ms);
    lock.unlock();
    EXPECT_TRUE(waiting.join());
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
  });
}

// Time limits and unlocks meet at every distance: nobody who waits without a limit is left behind.
TEST_P(Mutex, a_waiter_that_gives_up_takes_no_wake_up_along) {
  weft::timed_mutex lock;
  int inside = 0;
  std::atomic<int> got{0}, gave_up{0};
  weft::wait_group group;
  const auto work = [&](int seed) {
    for (int round = 0; round < scaled(200); ++round) {
      const bool limited = (seed + round) % 3 != 0;
      if (limited && !lock.try_lock_for(std::chrono::microseconds((seed * 7 + round * 13) % 90))) {
        ++gave_up;
        continue;
      }
      if (!limited) lock.lock();
      EXPECT_EQ(++inside, 1);
      if (round % 8 == 0) weft::this_goroutine::sleep_for(20us);
      --inside;
      lock.unlock();
      ++got;
    }
  };
  for (int i = 0; i < 8; ++i) group.go([&, i] { work(i); });
  std::thread thread(work, 9);
  thread.join();
  group.wait();
  EXPECT_EQ(got + gave_up, 9 * scaled(200));
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST_P(Mutex, a_recursive_one_can_be_locked_again_by_who_holds_it) {
  weft::recursive_mutex lock;
  const auto use = [&] {
    lock.lock();
    EXPECT_TRUE(lock.try_lock());
    EXPECT_TRUE(lock.try_lock_for(1ms));
    weft::this_goroutine::yield();  // maybe to another thread: the goroutine counts
    weft::this_goroutine::sleep_for(100us);
    const std::lock_guard again(lock);
    lock.unlock();
    lock.unlock();
    std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
    weft::spawn([&] {
      EXPECT_FALSE(lock.try_lock());
      EXPECT_FALSE(lock.try_lock_for(1ms));
      EXPECT_FALSE(lock.try_lock_until(Clock::now() + 1ms));
    }).join();
    lock.unlock();
  };
  use();
  weft::run(use);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST_P(Mutex, a_recursive_one_excludes_others) {
  weft::recursive_mutex lock;
  long counter = 0;
  const auto work = [&] {
    for (int i = 0; i < scaled(500); ++i) {
      const std::lock_guard outer(lock);
      const long seen = counter;
      if (i % 50 == 0) weft::this_goroutine::yield();
      const std::unique_lock inner(lock);
      counter = seen + 1;
    }
  };
  weft::wait_group group;
  for (int i = 0; i < 6; ++i) group.go(work);
  std::thread first(work), second(work);
  first.join();
  second.join();
  group.wait();
  EXPECT_EQ(counter, 8 * scaled(500));
}

TEST_P(Mutex, a_recursive_one_held_around_a_blocking_call_stays_the_goroutines) {
  weft::run([] {
    weft::recursive_mutex lock;
    const std::lock_guard guard(lock);
    weft::blocking([&] {
      EXPECT_TRUE(lock.try_lock());
      lock.unlock();
    });
  });
}

TEST_P(Mutex, scoped_lock_takes_several_without_deadlock) {
  weft::mutex first;
  weft::timed_mutex second;
  weft::recursive_mutex third;
  int counter = 0;
  weft::wait_group group;
  for (int i = 0; i < 4; ++i) {
    group.go([&, i] {
      for (int round = 0; round < scaled(200); ++round) {
        if ((i + round) % 2 == 0) {
          const std::scoped_lock all(first, second, third);
          ++counter;
        } else {
          const std::scoped_lock all(third, first, second);
          ++counter;
        }
      }
    });
  }
  group.wait();
  EXPECT_EQ(counter, 4 * scaled(200));
}

TEST(MutexDeathTest, unlocking_what_is_not_locked_is_fatal_and_named) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(weft::mutex().unlock(), "unlock of an unlocked mutex \\(at 0x");
  EXPECT_DEATH(weft::timed_mutex().unlock(), "unlock of an unlocked mutex");
  EXPECT_DEATH(weft::recursive_mutex().unlock(), "unlock of an unlocked recursive_mutex");
  EXPECT_DEATH(
      {
        weft::mutex lock;
        lock.lock();
        lock.unlock();
        weft::run([&] { lock.unlock(); });
      },
      "unlock of an unlocked mutex");
}

TEST(MutexDeathTest, unlocking_what_another_holds_is_fatal_and_says_who) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        weft::recursive_mutex lock;
        weft::run([&] {
          lock.lock();
          weft::spawn([&] { lock.unlock(); }).join();
        });
      },
      "unlocked by goroutine [0-9]+, but goroutine [0-9]+ holds it");
  EXPECT_DEATH(
      {
        weft::recursive_mutex lock;
        weft::spawn([&] { lock.lock(); }).join();
        lock.unlock();
      },
      "unlocked by thread .*, but goroutine [0-9]+ holds it");
}

}  // namespace
