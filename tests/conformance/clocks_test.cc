// SPDX-License-Identifier: MIT
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <system_error>

#include "support/runtime_test.h"

// Every *_until, on_deadline and with_deadline takes time points of any clock, and is never early by that clock.
namespace {

using namespace weft::test;

class Clocks : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Clocks);

// Half as fast as the steady clock: what is left by it takes twice as long.
struct SlowClock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SlowClock>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  static time_point now() {
    return time_point(std::chrono::duration_cast<duration>(Clock::now().time_since_epoch()) / 2);
  }
};

constexpr auto kLimit = 3ms;

// wait(limit) is to return false, and not before the limit, by the clocks of the standard, of the user, and of a
// type of time point that would overflow.
template <class Wait>
void expect_timely(Wait wait) {
  const auto check = [&]<class ClockType>(ClockType) {
    const auto limit = ClockType::now() + kLimit;
    EXPECT_FALSE(wait(limit));
    EXPECT_GE(ClockType::now(), limit);
    EXPECT_FALSE(wait(ClockType::now() - 1s));
    EXPECT_FALSE(wait(ClockType::time_point::min()));
  };
  const auto check_all = [&] {
    check(std::chrono::steady_clock());
    check(std::chrono::system_clock());
    check(SlowClock());
    EXPECT_FALSE(wait(std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>::min()));
  };
  check_all();
  weft::run(check_all);
}

// wait(limit) is to return true at once, or as soon as `make_true` has been called by another goroutine.
template <class Wait, class MakeTrue>
void expect_success(Wait wait, MakeTrue make_true) {
  const auto check = [&](auto limit) {
    weft::wait_group group;
    group.go([&] { make_true(); });
    EXPECT_TRUE(wait(limit));
    group.wait();
  };
  check(SlowClock::now() + 1h);
  check(SlowClock::time_point::max());
  check(std::chrono::system_clock::time_point::max());
  check(std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>::max());
  check(std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>>::max());
}

TEST_P(Clocks, locks) {
  weft::timed_mutex timed;
  weft::recursive_mutex recursive;
  weft::shared_mutex shared;
  timed.lock();
  std::thread([&] { recursive.lock(); }).join();
  shared.lock();
  expect_timely([&](auto limit) { return timed.try_lock_until(limit); });
  expect_timely([&](auto limit) { return recursive.try_lock_until(limit); });
  expect_timely([&](auto limit) { return shared.try_lock_until(limit); });
  expect_timely([&](auto limit) { return shared.try_lock_shared_until(limit); });
  expect_success([&](auto limit) { return timed.try_lock_until(limit); }, [&] { timed.unlock(); });
  expect_success([&](auto limit) { return shared.try_lock_until(limit); }, [&] { shared.unlock(); });
  timed.unlock();
  shared.unlock();
}

TEST_P(Clocks, counters) {
  weft::binary_semaphore semaphore(0);
  weft::weighted_semaphore weighted(2);
  weft::latch latch(1);
  weft::wait_group group;
  weft::event event;
  weft::barrier barrier(2);
  const auto token = barrier.arrive();
  group.add();
  weighted.acquire(2);
  expect_timely([&](auto limit) { return semaphore.try_acquire_until(limit); });
  expect_timely([&](auto limit) { return weighted.acquire_until(1, limit); });
  expect_timely([&](auto limit) { return latch.wait_until(limit); });
  expect_timely([&](auto limit) { return group.wait_until(limit); });
  expect_timely([&](auto limit) { return event.wait_until(limit); });
  expect_timely([&](auto limit) { return barrier.wait_until(token, limit); });
  expect_success([&](auto limit) { return semaphore.try_acquire_until(limit); }, [&] { semaphore.release(); });
  expect_success([&](auto limit) { return weighted.acquire_until(2, limit); }, [&] { weighted.release(2); });
  group.done();
  static_cast<void>(barrier.arrive());
}

TEST_P(Clocks, conditions) {
  weft::mutex mutex;
  weft::condition_variable condition;
  weft::condition_variable_any any;
  const std::stop_source never;
  const auto no = [] { return false; };
  expect_timely([&](auto limit) {
    std::unique_lock lock(mutex);
    return condition.wait_until(lock, limit, no);
  });
  expect_timely([&](auto limit) {
    std::unique_lock lock(mutex);
    return any.wait_until(lock, never.get_token(), limit, no);
  });
  // Without a predicate a wake-up may be early, but then it does not count as one of the limit.
  expect_timely([&](auto limit) {
    std::unique_lock lock(mutex);
    while (condition.wait_until(lock, limit) == std::cv_status::no_timeout) {
    }
    while (any.wait_until(lock, limit) == std::cv_status::no_timeout) {
    }
    return false;
  });
  bool ready = false;
  expect_success(
      [&](auto limit) {
        std::unique_lock lock(mutex);
        const bool result = condition.wait_until(lock, limit, [&] { return ready; });
        ready = false;
        return result;
      },
      [&] {
        const std::lock_guard lock(mutex);
        ready = true;
        condition.notify_one();
      });
}

TEST_P(Clocks, results_of_others) {
  weft::promise<int> promise;
  weft::future<int> future = promise.get_future();
  weft::event may_end;
  auto task = weft::spawn([&] { may_end.wait(); });
  weft::group group;
  group.go([&] { may_end.wait(); });
  expect_timely([&](auto limit) { return future.wait_until(limit) == std::future_status::ready; });
  expect_timely([&](auto limit) { return task.wait_until(limit); });
  expect_timely([&](auto limit) { return group.wait_until(limit); });
  const weft::shared_future<int> shared = future.share();
  expect_timely([&](auto limit) { return shared.wait_until(limit) == std::future_status::ready; });
  may_end.set();
  EXPECT_TRUE(task.wait_until(std::chrono::system_clock::now() + 1h));
  EXPECT_TRUE(group.wait_until(std::chrono::system_clock::now() + 1h));
}

TEST_P(Clocks, channels_and_select) {
  weft::chan<int> channel;
  int value = 1;
  expect_timely([&](auto limit) { return channel.send_until(value, limit); });
  expect_timely([&](auto limit) { return channel.send_until(2, limit); });
  expect_timely([&](auto limit) { return channel.recv_until(limit).status != weft::chan_status::empty; });
  expect_timely([&](auto limit) { return weft::select(weft::on_recv(channel), weft::on_deadline(limit)) == 0; });
  weft::selector selector;
  selector.recv(channel);
  expect_timely([&](auto limit) { return selector.wait_until(limit).has_value(); });
  weft::watch<int> watched(1);
  auto watching = watched.subscribe();
  expect_timely([&](auto limit) { return watching.changed_until(limit) != weft::watch_status::timed_out; });
  weft::broadcast<int> sender(1);
  auto receiver = sender.subscribe();
  expect_timely([&](auto limit) { return receiver.recv_until(limit).status != weft::chan_status::empty; });

  const auto send = [&] { channel.send(3); };
  expect_success([&](auto limit) { return channel.recv_until(limit).value == 3; }, send);
  expect_success([&](auto limit) { return weft::select(weft::on_deadline(limit), weft::on_recv(channel)) == 1; }, send);
  expect_success([&](auto limit) { return selector.wait_until(limit).has_value(); }, send);
  channel.close();
  EXPECT_EQ(channel.recv_until(SlowClock::now() + 1h).status, weft::chan_status::closed);
}

TEST_P(Clocks, a_select_with_a_default_does_not_wait_for_any) {
  weft::chan<int> channel;
  bool defaulted = false;
  EXPECT_EQ(weft::select(weft::on_recv(channel), weft::on_deadline(SlowClock::now() + 1h),
                         weft::on_default([&] { defaulted = true; })),
            2u);
  EXPECT_TRUE(defaulted);
}

TEST_P(Clocks, sleep) {
  expect_timely([](auto limit) {
    weft::this_goroutine::sleep_until(limit);
    return false;
  });
}

TEST_P(Clocks, contexts) {
  const weft::context root = weft::context::background();
  expect_timely([&](auto limit) {
    const auto [ctx, cancel] = weft::with_deadline(root, limit);
    EXPECT_TRUE(ctx.deadline().has_value());
    ctx.done().recv();
    EXPECT_TRUE(spin_until([&, &of = ctx] { return of.err() == std::make_error_code(std::errc::timed_out); }));
    return false;
  });
  const auto [never, cancel] = weft::with_deadline(root, std::chrono::system_clock::time_point::max());
  EXPECT_FALSE(never.deadline().has_value());
  cancel();
}

TEST_P(Clocks, a_context_below_one_of_a_slow_clock_keeps_its_own_limit) {
  // The limit above seems to be earlier, and turns out to be later.
  const auto [above, cancel_above] = weft::with_deadline(weft::context::background(), SlowClock::now() + 1h);
  const auto [below, cancel_below] = weft::with_timeout(above, 10ms);
  below.done().recv();
  EXPECT_FALSE(above.cancelled());
  const auto [first, cancel_first] = weft::with_deadline(weft::context::background(), SlowClock::now() + 50ms);
  const auto [second, cancel_second] = weft::with_timeout(first, 60ms);
  const Stopwatch watch;
  second.done().recv();
  EXPECT_LT(watch.elapsed(), 10s);
}

}  // namespace
