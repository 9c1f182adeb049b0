// SPDX-License-Identifier: MIT
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// condition_variable and condition_variable_any (SY14-SY17).
namespace {

using namespace weft::test;

class Condition : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Condition);

TEST_P(Condition, each_notify_one_wakes_exactly_one) {
  weft::run([] {
    weft::mutex lock;
    weft::condition_variable condition;
    int waiting = 0, awake = 0;
    weft::wait_group group;
    for (int i = 0; i < 2; ++i) {
      group.go([&] {
        std::unique_lock guard(lock);
        ++waiting;
        condition.wait(guard);
        ++awake;
      });
    }
    const auto count = [&](int& what) {
      const std::lock_guard guard(lock);
      return what;
    };
    ASSERT_TRUE(spin_until([&] { return count(waiting) == 2; }));
    for (int expected = 1; expected <= 2; ++expected) {
      condition.notify_one();
      ASSERT_TRUE(spin_until([&] { return count(awake) == expected; }));
      for (int i = 0; i < 50; ++i) weft::this_goroutine::yield();
      EXPECT_EQ(count(awake), expected);
    }
    group.wait();
    condition.notify_one();  // nobody there: not kept
    std::unique_lock guard(lock);
    EXPECT_EQ(condition.wait_for(guard, 1ms), std::cv_status::timeout);
  });
}

TEST_P(Condition, waiters_are_woken_in_the_order_in_which_they_came) {
  weft::run([] {
    constexpr int kWaiters = 100;
    weft::mutex lock;
    weft::condition_variable condition;
    std::vector<int> order;
    int waiting = 0, turn = -1;
    weft::wait_group group;
    for (int i = 0; i < kWaiters; ++i) {
      group.go([&, i] {
        std::unique_lock guard(lock);
        ++waiting;
        condition.wait(guard);
        EXPECT_EQ(turn, i);
        order.push_back(i);
      });
      ASSERT_TRUE(spin_until([&] {
        const std::lock_guard guard(lock);
        return waiting == i + 1;
      }));
    }
    for (int i = 0; i < kWaiters; ++i) {
      {
        const std::lock_guard guard(lock);
        turn = i;
        condition.notify_one();
      }
      ASSERT_TRUE(spin_until([&] {
        const std::lock_guard guard(lock);
        return order.size() == static_cast<std::size_t>(i) + 1;
      }));
    }
    group.wait();
  });
}

TEST_P(Condition, notify_all_wakes_everybody_once_a_round) {
  weft::run([] {
    const int kWaiters = 200, kRounds = scaled(40);
    weft::mutex lock;
    weft::condition_variable round_begins, all_there;
    int round = 0, there = 0;
    weft::wait_group group;
    for (int i = 0; i < kWaiters; ++i) {
      group.go([&] {
        std::unique_lock guard(lock);
        for (int mine = 0; mine < kRounds; ++mine) {
          if (++there == kWaiters) all_there.notify_one();
          round_begins.wait(guard);
          ASSERT_EQ(round, mine + 1) << "woken twice, or not at all";
        }
      });
    }
    for (int i = 0; i < kRounds; ++i) {
      std::unique_lock guard(lock);
      all_there.wait(guard, [&] { return there == kWaiters; });
      there = 0;
      ++round;
      round_begins.notify_all();
    }
    group.wait();
  });
}

// Who waits before notify_all must wake, even if others come to wait meanwhile.
TEST_P(Condition, newcomers_steal_no_notification) {
  weft::run([] {
    for (int round = 0; round < scaled(300); ++round) {
      weft::mutex lock;
      weft::condition_variable condition;
      bool is_waiting = false;
      weft::event woken;
      weft::wait_group group;
      group.go([&] {
        std::unique_lock guard(lock);
        is_waiting = true;
        condition.wait(guard);
        woken.set();
      });
      ASSERT_TRUE(spin_until([&] {
        const std::lock_guard guard(lock);
        return is_waiting;
      }));
      group.go([&] {
        std::unique_lock guard(lock);
        condition.wait_for(guard, 100ms, [&] { return woken.is_set(); });
      });
      group.go([&] { condition.notify_all(); });
      ASSERT_TRUE(woken.wait_for(20s * kSlowdown));
      {
        const std::lock_guard guard(lock);
        condition.notify_all();
      }
      group.wait();
    }
  });
}

TEST_P(Condition, time_limits_are_kept) {
  weft::mutex lock;
  weft::condition_variable condition;
  const auto check = [&] {
    std::unique_lock guard(lock);
    const Stopwatch watch;
    EXPECT_EQ(condition.wait_for(guard, 10ms), std::cv_status::timeout);
    EXPECT_GE(watch.elapsed(), 10ms);
    EXPECT_TRUE(guard.owns_lock());
    EXPECT_FALSE(lock.try_lock());
    EXPECT_EQ(condition.wait_for(guard, -1s), std::cv_status::timeout);
    EXPECT_EQ(condition.wait_until(guard, Clock::now()), std::cv_status::timeout);
    EXPECT_EQ(condition.wait_until(guard, std::chrono::system_clock::now() + 1ms), std::cv_status::timeout);
    EXPECT_FALSE(condition.wait_for(guard, 1ms, [] { return false; }));
    EXPECT_TRUE(condition.wait_for(guard, 0ms, [] { return true; }));
    EXPECT_FALSE(condition.wait_until(guard, Clock::now() + 1ms, [] { return false; }));
  };
  check();
  weft::run(check);
}

TEST_P(Condition, a_waiter_that_gives_up_takes_no_notification_along) {
  weft::run([] {
    weft::mutex lock;
    weft::condition_variable condition;
    int tokens = 0, taken = 0;
    const int kTokens = scaled(400);
    weft::wait_group group;
    for (int i = 0; i < 4; ++i) {  // impatient ones, which take nothing
      group.go([&, i] {
        std::unique_lock guard(lock);
        while (taken < kTokens) {
          if (condition.wait_for(guard, std::chrono::microseconds(10 + 7 * i)) == std::cv_status::no_timeout)
            condition.notify_one();  // not for us
        }
      });
    }
    for (int i = 0; i < 4; ++i) {
      group.go([&] {
        std::unique_lock guard(lock);
        for (;;) {
          condition.wait(guard, [&] { return tokens > 0 || taken == kTokens; });
          if (tokens == 0) return;
          --tokens;
          if (++taken == kTokens) condition.notify_all();
        }
      });
    }
    for (int i = 0; i < kTokens; ++i) {
      {
        const std::lock_guard guard(lock);
        ++tokens;
      }
      condition.notify_one();
      if (i % 10 == 0) weft::this_goroutine::sleep_for(30us);
    }
    group.wait();
    EXPECT_EQ(taken, kTokens);
  });
}

TEST_P(Condition, may_go_away_when_all_have_been_notified) {
  weft::run([] {
    for (int round = 0; round < scaled(300); ++round) {
      weft::mutex lock;
      auto condition = std::make_unique<weft::condition_variable>();
      int waiting = 0;
      weft::wait_group group;
      for (int i = 0; i < 3; ++i) {
        group.go([&, i, condition = condition.get()] {
          std::unique_lock guard(lock);
          ++waiting;
          if (i == 0) {
            condition->wait_for(guard, 30us);
          } else {
            condition->wait(guard);
          }
        });
      }
      ASSERT_TRUE(spin_until([&] {
        const std::lock_guard guard(lock);
        return waiting == 3;
      }));
      std::unique_lock guard(lock);
      condition->notify_all();
      condition.reset();
      guard.unlock();
      group.wait();
    }
  });
}

TEST_P(Condition, goroutines_and_threads_wait_together) {
  weft::mutex lock;
  weft::condition_variable condition;
  int turn = 0;
  const int kRounds = scaled(200);
  constexpr int kPlayers = 4;
  const auto play = [&](int me) {
    std::unique_lock guard(lock);
    for (int round = 0; round < kRounds; ++round) {
      condition.wait(guard, [&] { return turn % kPlayers == me; });
      ++turn;
      condition.notify_all();
    }
  };
  weft::wait_group group;
  group.go([&] { play(0); });
  group.go([&] { play(2); });
  std::thread first(play, 1), second(play, 3);
  first.join();
  second.join();
  group.wait();
  EXPECT_EQ(turn, kPlayers * kRounds);
}

// A lock whose unlock() parks, as a user's may.
struct ParkingLock {
  void lock() { inner.lock(); }
  void unlock() {
    inner.unlock();
    weft::this_goroutine::sleep_for(50us);
  }
  weft::mutex inner;
};

TEST_P(Condition, any_works_with_a_lock_whose_unlock_parks) {
  ParkingLock lock;
  weft::condition_variable_any condition;
  int tokens = 0;
  const int kTokens = scaled(50);
  const auto take = [&] {
    for (int i = 0; i < kTokens; ++i) {
      std::unique_lock guard(lock);
      condition.wait(guard, [&] { return tokens > 0; });
      --tokens;
    }
  };
  weft::wait_group group;
  group.go(take);
  std::thread thread(take);
  for (int i = 0; i < 2 * kTokens; ++i) {
    {
      const std::lock_guard guard(lock.inner);
      ++tokens;
    }
    condition.notify_one();
  }
  thread.join();
  group.wait();
  EXPECT_EQ(tokens, 0);
}

TEST_P(Condition, any_works_with_a_shared_lock) {
  weft::run([] {
    weft::shared_mutex lock;
    weft::condition_variable_any condition;
    bool flag = false;
    weft::wait_group group;
    for (int i = 0; i < 5; ++i) {
      group.go([&] {
        std::shared_lock guard(lock);
        condition.wait(guard, [&] { return flag; });
      });
    }
    weft::this_goroutine::sleep_for(1ms);
    {
      const std::unique_lock guard(lock);
      flag = true;
    }
    condition.notify_all();
    group.wait();
    std::shared_lock guard(lock);
    EXPECT_EQ(condition.wait_for(guard, 1ms), std::cv_status::timeout);
    EXPECT_FALSE(condition.wait_until(guard, Clock::now() + 1ms, [] { return false; }));
  });
}

TEST_P(Condition, an_unlock_that_throws_leaves_nobody_queued) {
  struct Throwing {
    void lock() {}
    void unlock() { throw 7; }
  } lock;
  weft::condition_variable_any condition;
  EXPECT_THROW(condition.wait(lock), int);
  condition.notify_all();
  EXPECT_THROW(weft::run([&] { condition.wait_for(lock, 1h); }), int);
  condition.notify_all();
}

TEST_P(Condition, a_stop_request_ends_the_wait) {
  weft::run([] {
    weft::mutex lock;
    weft::condition_variable_any condition;
    for (int round = 0; round < scaled(200); ++round) {
      std::stop_source source;
      weft::task<bool> waiting = weft::spawn([&] {
        std::unique_lock guard(lock);
        return condition.wait(guard, source.get_token(), [] { return false; });
      });
      if (round % 2 == 0) weft::this_goroutine::yield();
      source.request_stop();
      ASSERT_FALSE(waiting.join());
    }
    std::unique_lock guard(lock);
    EXPECT_TRUE(condition.wait(guard, std::stop_token(), [] { return true; }));
    EXPECT_FALSE(condition.wait_for(guard, std::stop_token(), 1ms, [] { return false; }));
    EXPECT_FALSE(condition.wait_until(guard, std::stop_token(), Clock::now() + 1ms, [] { return false; }));
  });
}

}  // namespace
