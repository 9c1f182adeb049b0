// SPDX-License-Identifier: MIT
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// counting_semaphore and binary_semaphore.
namespace {

using namespace weft::test;

class Semaphore : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Semaphore);

TEST_P(Semaphore, counts_permits) {
  static_assert(weft::binary_semaphore::max() == 1);
  static_assert(weft::counting_semaphore<7>::max() == 7);
  static_assert(weft::counting_semaphore<>::max() == PTRDIFF_MAX);
  weft::counting_semaphore<> semaphore(2);
  EXPECT_TRUE(semaphore.try_acquire());
  semaphore.acquire();
  EXPECT_FALSE(semaphore.try_acquire());
  semaphore.release(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(semaphore.try_acquire());
  EXPECT_FALSE(semaphore.try_acquire());
  semaphore.release(0);
  EXPECT_FALSE(semaphore.try_acquire());
  semaphore.release(PTRDIFF_MAX);
  EXPECT_TRUE(semaphore.try_acquire());
}

TEST_P(Semaphore, too_many_permits_throw_and_change_nothing) {
  EXPECT_THROW(weft::binary_semaphore(2), weft::logic_error);
  EXPECT_THROW(weft::counting_semaphore<>(-1), weft::logic_error);
  weft::counting_semaphore<3> semaphore(2);
  EXPECT_THROW(semaphore.release(2), weft::logic_error);
  EXPECT_THROW(semaphore.release(-1), weft::logic_error);
  EXPECT_THROW(semaphore.release(4), weft::logic_error);
  EXPECT_TRUE(semaphore.try_acquire());
  EXPECT_TRUE(semaphore.try_acquire());
  EXPECT_FALSE(semaphore.try_acquire());
}

TEST_P(Semaphore, time_limits_are_kept) {
  weft::binary_semaphore semaphore(0);
  const auto check = [&] {
    const Stopwatch watch;
    EXPECT_FALSE(semaphore.try_acquire_for(10ms));
    EXPECT_GE(watch.elapsed(), 10ms);
    EXPECT_FALSE(semaphore.try_acquire_for(-1s));
    EXPECT_FALSE(semaphore.try_acquire_until(Clock::now()));
    EXPECT_FALSE(semaphore.try_acquire_until(std::chrono::system_clock::now() + 1ms));
    semaphore.release();
    EXPECT_TRUE(semaphore.try_acquire_for(0s));
    semaphore.release();
    EXPECT_TRUE(semaphore.try_acquire_until(Clock::time_point::min()));
  };
  check();
  weft::run(check);
}

TEST_P(Semaphore, no_more_get_in_than_there_are_permits) {
  constexpr int kPermits = 3;
  weft::counting_semaphore<kPermits> semaphore(kPermits);
  std::atomic<int> inside{0}, most{0};
  const auto work = [&] {
    for (int i = 0; i < scaled(300); ++i) {
      semaphore.acquire();
      const int now = ++inside;
      ASSERT_LE(now, kPermits);
      if (now > most) most = now;
      if (i % 10 == 0) weft::this_goroutine::yield();
      --inside;
      semaphore.release();
    }
  };
  weft::wait_group group;
  for (int i = 0; i < 8; ++i) group.go(work);
  std::thread first(work), second(work);
  first.join();
  second.join();
  group.wait();
  for (int i = 0; i < kPermits; ++i) EXPECT_TRUE(semaphore.try_acquire());
  EXPECT_FALSE(semaphore.try_acquire());
}

TEST_P(Semaphore, permits_go_to_who_has_waited_longest) {
  weft::run([] {
    weft::counting_semaphore<> semaphore(0);
    weft::mutex lock;
    std::vector<int> order;
    const auto count_waiting = [] {
      const std::string dump = dump_text();
      int count = 0;
      for (std::size_t at = 0; (at = dump.find("semaphore acquire", at)) != std::string::npos; ++at) ++count;
      return count;
    };
    weft::wait_group group;
    for (int i = 0; i < 10; ++i) {
      group.go([&, i] {
        semaphore.acquire();
        const std::lock_guard guard(lock);
        order.push_back(i);
      });
      ASSERT_TRUE(spin_until([&] { return count_waiting() == i + 1; }));
    }
    for (std::size_t i = 0; i < 10; ++i) {
      semaphore.release();
      EXPECT_FALSE(semaphore.try_acquire()) << "it was handed over";
      ASSERT_TRUE(spin_until([&] {
        const std::lock_guard guard(lock);
        return order.size() == i + 1;
      }));
      EXPECT_EQ(order.back(), static_cast<int>(i));
    }
    group.wait();
  });
}

TEST_P(Semaphore, one_release_serves_several) {
  weft::counting_semaphore<> semaphore(0);
  weft::wait_group group;
  for (int i = 0; i < 10; ++i) group.go([&] { semaphore.acquire(); });
  std::thread thread([&] { semaphore.acquire(); });
  weft::this_goroutine::sleep_for(1ms);
  semaphore.release(12);
  group.wait();
  thread.join();
  EXPECT_TRUE(semaphore.try_acquire());
  EXPECT_FALSE(semaphore.try_acquire());
}

TEST_P(Semaphore, a_waiter_that_gives_up_takes_no_permit_along) {
  weft::counting_semaphore<> semaphore(0);
  std::atomic<long> taken{0};
  std::atomic<bool> stop{false};
  weft::wait_group group;
  for (int i = 0; i < 6; ++i) {
    group.go([&, i] {
      while (!stop) taken += semaphore.try_acquire_for(std::chrono::microseconds(5 + 11 * i));
    });
  }
  const int kPermits = scaled(2000);
  for (int i = 0; i < kPermits; ++i) {
    semaphore.release();
    if (i % 16 == 0) weft::this_goroutine::sleep_for(20us);
  }
  EXPECT_TRUE(spin_until([&] { return taken == kPermits; })) << taken << " of " << kPermits;
  stop = true;
  group.wait();
  EXPECT_EQ(taken, kPermits);
  EXPECT_FALSE(semaphore.try_acquire());
}

TEST_P(Semaphore, may_go_away_as_soon_as_acquire_returns) {
  weft::run([] {
    for (int round = 0; round < scaled(2000); ++round) {
      auto semaphore = std::make_unique<weft::binary_semaphore>(0);
      weft::go([raw = semaphore.get()] { raw->release(); });
      if (round % 2 == 0) {
        while (!semaphore->try_acquire()) weft::this_goroutine::yield();
      } else {
        semaphore->acquire();
      }
      semaphore.reset();
    }
  });
}

}  // namespace
