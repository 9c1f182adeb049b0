// SPDX-License-Identifier: MIT
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// weighted_semaphore: several permits at a time, in order of arrival.
namespace {

using namespace weft::test;
using weft::weighted_semaphore;

class WeightedSemaphore : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(WeightedSemaphore);

std::size_t waiting_now() { return occurrences(dump_text(), "[weighted semaphore acquire"); }

TEST_P(WeightedSemaphore, counts_permits) {
  weighted_semaphore semaphore(10);
  EXPECT_EQ(semaphore.total(), 10);
  semaphore.acquire(4);
  EXPECT_TRUE(semaphore.try_acquire(6));
  EXPECT_EQ(semaphore.available(), 0);
  EXPECT_FALSE(semaphore.try_acquire());
  EXPECT_TRUE(semaphore.try_acquire(0));
  semaphore.release(5);
  EXPECT_FALSE(semaphore.try_acquire(6));
  EXPECT_TRUE(semaphore.try_acquire(5));
  semaphore.release(10);
  semaphore.release(0);
  EXPECT_EQ(semaphore.available(), 10);
  weighted_semaphore largest(INT64_MAX);
  largest.acquire(INT64_MAX);
  EXPECT_FALSE(largest.try_acquire());
  largest.release(INT64_MAX);
}

TEST_P(WeightedSemaphore, what_nobody_could_give_throws_and_changes_nothing) {
  EXPECT_THROW(weighted_semaphore(-1), weft::logic_error);
  weighted_semaphore semaphore(5);
  semaphore.acquire(2);
  const weft::context root = weft::context::background();
  EXPECT_THROW(semaphore.acquire(6), weft::logic_error);
  EXPECT_THROW(semaphore.acquire(-1), weft::logic_error);
  EXPECT_THROW(static_cast<void>(semaphore.acquire(root, 6)), weft::logic_error);
  EXPECT_THROW(static_cast<void>(semaphore.try_acquire(6)), weft::logic_error);
  EXPECT_THROW(static_cast<void>(semaphore.acquire_for(6, 1ms)), weft::logic_error);
  EXPECT_THROW(semaphore.release(3), weft::logic_error);
  EXPECT_THROW(semaphore.release(-1), weft::logic_error);
  EXPECT_EQ(semaphore.available(), 3);
  try {
    semaphore.acquire(6);
  } catch (const weft::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("6 permits are asked for, but there are only 5 in all"), std::string::npos)
        << error.what();
  }
  weighted_semaphore none(0);
  none.acquire(0);
  EXPECT_THROW(none.acquire(), weft::logic_error);
}

TEST_P(WeightedSemaphore, time_limits_are_kept) {
  weighted_semaphore semaphore(3);
  semaphore.acquire(2);
  const auto check = [&] {
    const Stopwatch watch;
    EXPECT_FALSE(semaphore.acquire_for(2, 10ms));
    EXPECT_GE(watch.elapsed(), 10ms);
    EXPECT_FALSE(semaphore.acquire_for(2, -1s));
    EXPECT_FALSE(semaphore.acquire_until(2, Clock::now()));
    EXPECT_TRUE(semaphore.acquire_for(1, 0s));
    semaphore.release();
    EXPECT_TRUE(semaphore.acquire_until(1, Clock::time_point::min()));
    semaphore.release();
    EXPECT_EQ(semaphore.available(), 1);
  };
  check();
  weft::run(check);
}

TEST_P(WeightedSemaphore, a_large_request_is_not_starved_by_small_ones) {
  weft::run([] {
    weighted_semaphore semaphore(4);
    semaphore.acquire(3);
    std::atomic<bool> large_served{false};
    weft::wait_group group;
    group.go([&] {
      semaphore.acquire(4);
      large_served = true;
      semaphore.release(4);
    });
    ASSERT_TRUE(spin_until([] { return waiting_now() == 1; }));
    EXPECT_FALSE(semaphore.try_acquire(1)) << "one is free, but it is for the one that waits";
    group.go([&] {
      semaphore.acquire(1);
      EXPECT_TRUE(large_served);
      semaphore.release(1);
    });
    ASSERT_TRUE(spin_until([] { return waiting_now() == 2; }));
    EXPECT_EQ(semaphore.available(), 1);
    semaphore.release(3);
    group.wait();
    EXPECT_EQ(semaphore.available(), 4);
  });
}

TEST_P(WeightedSemaphore, one_release_serves_all_there_are_permits_for_in_order) {
  weft::run([] {
    weighted_semaphore semaphore(10);
    semaphore.acquire(10);
    weft::mutex lock;
    std::vector<int> order;
    weft::wait_group group;
    const int wanted[] = {3, 2, 4, 1};
    for (std::size_t i = 0; i < 4; ++i) {
      group.go([&, i] {
        semaphore.acquire(wanted[i]);
        const std::lock_guard guard(lock);
        order.push_back(wanted[i]);
      });
      ASSERT_TRUE(spin_until([&] { return waiting_now() == i + 1; }));
    }
    const auto served = [&] {
      const std::lock_guard guard(lock);
      return order.size();
    };
    semaphore.release(8);  // 3 and 2; 3 are left, of which 4 cannot be made
    ASSERT_TRUE(spin_until([&] { return served() == 2; }));
    EXPECT_EQ(waiting_now(), 2u);
    EXPECT_EQ(semaphore.available(), 3);
    semaphore.release(2);
    group.wait();
    EXPECT_EQ(semaphore.available(), 0);
  });
}

TEST_P(WeightedSemaphore, who_gives_up_lets_those_behind_it_through) {
  weft::run([] {
    weighted_semaphore semaphore(4);
    semaphore.acquire(2);
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    weft::wait_group group;
    group.go([&semaphore, of = ctx] { EXPECT_FALSE(semaphore.acquire(of, 4)); });
    ASSERT_TRUE(spin_until([] { return waiting_now() == 1; }));
    for (int i = 0; i < 2; ++i) group.go([&] { semaphore.acquire(1); });
    ASSERT_TRUE(spin_until([] { return waiting_now() == 3; }));
    cancel();
    group.wait();
    EXPECT_EQ(semaphore.available(), 0);
    // The same with a time limit.
    semaphore.release(2);
    std::atomic<bool> gave_up{false};
    group.go([&] {
      EXPECT_FALSE(semaphore.acquire_for(3, 50ms));
      gave_up = true;
    });
    ASSERT_TRUE(spin_until([&] { return gave_up || waiting_now() == 1; }));
    semaphore.acquire(2);
    group.wait();
  });
}

TEST_P(WeightedSemaphore, a_cancelled_context_gets_nothing) {
  weighted_semaphore semaphore(2);
  auto [ctx, cancel] = weft::with_cancel(weft::context::background());
  EXPECT_TRUE(semaphore.acquire(ctx, 1));
  EXPECT_TRUE(semaphore.acquire(weft::context::background(), 1));
  const auto wait = [&semaphore, of = ctx] {
    EXPECT_FALSE(semaphore.acquire(of));
    EXPECT_FALSE(semaphore.acquire(of, 2));
  };
  weft::wait_group group;
  for (int i = 0; i < 5; ++i) group.go(wait);
  std::thread thread(wait);
  ASSERT_TRUE(spin_until([] { return waiting_now() == 5; }));
  cancel();
  thread.join();
  group.wait();
  semaphore.release(2);
  EXPECT_FALSE(semaphore.acquire(ctx)) << "although there are permits";
  EXPECT_EQ(semaphore.available(), 2);
  const auto [timed, cancel_timed] = weft::with_timeout(weft::context::background(), 5ms);
  semaphore.acquire(2);
  EXPECT_FALSE(semaphore.acquire(timed, 1));
  EXPECT_TRUE(spin_until([&, &of = timed] { return of.err() == std::make_error_code(std::errc::timed_out); }));
}

TEST_P(WeightedSemaphore, no_more_are_in_use_than_there_are) {
  constexpr std::int64_t kTotal = 7;
  weighted_semaphore semaphore(kTotal);
  std::atomic<std::int64_t> in_use{0};
  const auto work = [&](unsigned seed) {
    for (int i = 0; i < scaled(300); ++i) {
      seed = seed * 1664525 + 1013904223;
      const std::int64_t n = 1 + static_cast<std::int64_t>((seed >> 16) % kTotal);
      bool got = true;
      if (i % 5 == 0) {
        got = semaphore.try_acquire(n);
      } else if (i % 5 == 1) {
        got = semaphore.acquire_for(n, std::chrono::microseconds(seed % 200));
      } else if (i % 5 == 2) {
        const auto limit = std::chrono::microseconds(seed % 200);
        const auto [ctx, cancel] = weft::with_timeout(weft::context::background(), limit);
        got = semaphore.acquire(ctx, n);
      } else {
        semaphore.acquire(n);
      }
      if (!got) continue;
      ASSERT_LE(in_use += n, kTotal);
      if (i % 7 == 0) weft::this_goroutine::yield();
      in_use -= n;
      semaphore.release(n);
    }
  };
  weft::wait_group group;
  for (unsigned i = 0; i < 8; ++i) group.go([&, i] { work(i); });
  std::thread first(work, 100u), second(work, 200u);
  first.join();
  second.join();
  group.wait();
  EXPECT_EQ(semaphore.available(), kTotal);
  EXPECT_TRUE(semaphore.try_acquire(kTotal)) << "and nobody counts as waiting";
}

TEST_P(WeightedSemaphore, may_go_away_as_soon_as_acquire_returns) {
  weft::run([] {
    for (int round = 0; round < scaled(2000); ++round) {
      auto semaphore = std::make_unique<weighted_semaphore>(2);
      semaphore->acquire(2);
      weft::go([raw = semaphore.get()] { raw->release(2); });
      if (round % 2 == 0) {
        while (!semaphore->try_acquire(2)) weft::this_goroutine::yield();
      } else {
        semaphore->acquire(2);
      }
      semaphore.reset();
    }
  });
}

}  // namespace
