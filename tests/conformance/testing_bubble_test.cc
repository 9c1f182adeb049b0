// SPDX-License-Identifier: MIT
// test-labels: no-asan no-tsan no-trace
#include <gtest/gtest.h>
#include <weft/testing.h>
#include <weft/weft.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace wt = weft::testing;

template <class F>
std::string failure_of(F&& f, const wt::bubble_options& options = {}) {
  try {
    wt::bubble(options, f);
  } catch (const wt::failure& failed) {
    return failed.what();
  }
  return {};
}
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Bubble, runs_the_function_and_waits_for_what_it_started) {
  int done = 0;
  wt::bubble([&] {
    EXPECT_TRUE(wt::active());
    for (int i = 0; i < 10; ++i)
      weft::go([&] {
        weft::this_goroutine::yield();
        ++done;
      });
  });
  EXPECT_EQ(done, 10);
  EXPECT_FALSE(wt::active());
}

TEST(Bubble, sleeping_takes_no_time_and_moves_every_clock) {
  const auto before = std::chrono::steady_clock::now();
  wt::bubble([] {
    const auto steady = std::chrono::steady_clock::now();
    const auto system = std::chrono::system_clock::now();
    const std::time_t seconds = std::time(nullptr);
    const auto start = wt::now();
    weft::this_goroutine::sleep_for(24h);
    EXPECT_EQ(std::chrono::steady_clock::now() - steady, 24h);
    EXPECT_EQ(std::chrono::system_clock::now() - system, 24h);
    EXPECT_EQ(std::time(nullptr) - seconds, 24 * 3600);
    EXPECT_EQ(wt::now() - start, 24h);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - before, 1h);
}

TEST(Bubble, the_clock_starts_at_the_same_time_in_each_bubble) {
  std::vector<std::int64_t> starts;
  for (int i = 0; i < 2; ++i)
    wt::bubble([&] {
      starts.push_back(std::chrono::system_clock::now().time_since_epoch().count());
      starts.push_back(std::chrono::steady_clock::now().time_since_epoch().count());
      weft::this_goroutine::sleep_for(1s);
    });
  EXPECT_EQ(starts[0], starts[2]);
  EXPECT_EQ(starts[1], starts[3]);
  EXPECT_EQ(std::chrono::nanoseconds(starts[0]), 946'684'800s);  // 2000-01-01
}

TEST(Bubble, real_time_goes_on_outside) {
  std::vector<std::int64_t> years;
  wt::bubble([&] {
    const auto inside = std::chrono::steady_clock::now();
    std::thread([&] { EXPECT_LT(std::chrono::steady_clock::now(), inside); }).join();
  });
  EXPECT_GT(std::chrono::system_clock::now().time_since_epoch(), 946'684'800s);
}

TEST(Bubble, timers_tickers_contexts_and_time_limits_follow_the_clock) {
  wt::bubble([] {
    const auto start = wt::now();
    EXPECT_EQ(*weft::after(90s).recv(), start + 90s);
    weft::ticker ticker(1min);
    for (int i = 1; i <= 3; ++i) EXPECT_EQ(*ticker.chan().recv(), start + 90s + i * 1min);
    ticker.stop();
    auto [ctx, cancel] = weft::with_timeout(weft::context::background(), 10s);
    ctx.done().recv();
    EXPECT_EQ(wt::now() - start, 90s + 3min + 10s);
    weft::timed_mutex mutex;
    mutex.lock();
    weft::go([&] { EXPECT_FALSE(mutex.try_lock_for(5s)); });
    weft::this_goroutine::sleep_for(6s);
    weft::chan<int> never;
    EXPECT_FALSE(never.recv_for(1h));
    EXPECT_EQ(wt::now() - start, 90s + 3min + 10s + 6s + 1h);
    bool fired = false;
    weft::after_func(1s, [&] { fired = true; });
    wt::advance(999ms);
    EXPECT_FALSE(fired);
    wt::advance(1ms);
    EXPECT_TRUE(fired);
    weft::condition_variable condition;
    weft::mutex lock;
    std::unique_lock hold(lock);
    EXPECT_EQ(condition.wait_for(hold, 3s), std::cv_status::timeout);
    EXPECT_EQ(weft::select(weft::on_recv(never), weft::on_timeout(2s)), 1u);
  });
}

TEST(Bubble, settle_returns_when_all_others_wait_for_anything) {
  wt::bubble([] {
    weft::mutex mutex;
    weft::wait_group group;
    weft::chan<int> channel;
    int arrived = 0;
    mutex.lock();
    group.go([&] {
      ++arrived;
      mutex.lock();
      mutex.unlock();
    });
    group.go([&] {
      ++arrived;
      channel.recv();
    });
    group.go([&] {
      ++arrived;
      weft::this_goroutine::sleep_for(1s);
      ++arrived;
    });
    const auto before = wt::now();
    wt::settle();
    EXPECT_EQ(arrived, 3);
    EXPECT_EQ(wt::now(), before);
    mutex.unlock();
    channel.send(1);
    group.wait();
    EXPECT_EQ(arrived, 4);
    EXPECT_EQ(wt::now() - before, 1s);
  });
}

TEST(Bubble, a_deadlock_is_a_failure_that_names_the_goroutines) {
  const std::string text = failure_of([] {
    weft::mutex mutex;
    mutex.lock();
    auto task = weft::spawn([&] { mutex.lock(); });
    task.join();
  });
  EXPECT_TRUE(contains(text, "deadlock")) << text;
  EXPECT_TRUE(contains(text, "testing_bubble_test.cc:")) << text;
}

TEST(Bubble, goroutines_that_are_left_over_are_a_failure_that_names_where_they_were_started) {
  const std::string text = failure_of([] { weft::go([channel = weft::chan<int>()]() mutable { channel.recv(); }); });
  EXPECT_TRUE(contains(text, "left over")) << text;
  EXPECT_TRUE(contains(text, "testing_bubble_test.cc:")) << text;
}

TEST(Bubble, exceptions_leave_it_from_any_goroutine) {
  EXPECT_THROW(wt::bubble([] { throw std::out_of_range("root"); }), std::out_of_range);
  EXPECT_THROW(wt::bubble([] {
                 weft::go([] { throw std::domain_error("child"); });
                 weft::this_goroutine::sleep_for(1s);
               }),
               std::domain_error);
}

TEST(Bubble, fail_and_abort_end_it_from_any_goroutine) {
  EXPECT_EQ(failure_of([] {
              weft::go([] { wt::fail("that is wrong"); });
              weft::this_goroutine::sleep_for(1h);
            }),
            "that is wrong");
  const std::string aborted = failure_of([] {
    weft::go([] { std::abort(); });
    weft::this_goroutine::sleep_for(1h);
  });
  EXPECT_TRUE(contains(aborted, "abort")) << aborted;
  EXPECT_THROW(wt::fail("outside"), wt::failure);
}

TEST(Bubble, works_in_a_goroutine_and_several_take_turns) {
  const int sum = weft::run([] {
    int done = 0;
    std::vector<weft::task<void>> tasks;
    weft::mutex mutex;
    for (int i = 0; i < 4; ++i)
      tasks.push_back(weft::spawn([&] {
        wt::bubble([] { weft::this_goroutine::sleep_for(1h); });
        std::lock_guard guard(mutex);
        ++done;
      }));
    for (auto& task : tasks) task.join();
    return done;
  });
  EXPECT_EQ(sum, 4);
}

TEST(Bubble, a_bubble_inside_a_bubble_is_refused) {
  wt::bubble([] { EXPECT_THROW(wt::bubble([] {}), weft::logic_error); });
}

TEST(Bubble, the_same_seed_gives_the_same_order) {
  const auto order = [](std::uint64_t seed) {
    std::string names;
    wt::bubble({.seed = seed}, [&] {
      weft::wait_group group;
      for (char name = 'a'; name < 'k'; ++name)
        group.go([&, name] {
          for (int i = 0; i < 3; ++i) {
            names += name;
            weft::this_goroutine::yield();
          }
        });
      group.wait();
    });
    return names;
  };
  EXPECT_EQ(order(7), order(7));
  EXPECT_NE(order(7), order(8));
  EXPECT_EQ(order(0).substr(0, 10), "abcdefghij");
}

TEST(Bubble, a_goroutine_that_is_woken_from_outside_is_reported) {
  weft::chan<int> channel;
  const std::string text = failure_of([&] {
    auto receiver = weft::spawn([&] { channel.recv(); });
    wt::settle();
    std::thread outside([&] { channel.send(1); });
    weft::blocking([&] { outside.join(); });
    receiver.join();
  });
  EXPECT_TRUE(contains(text, "uncontrolled access")) << text;
}

TEST(Bubble, the_rest_of_the_process_goes_on) {
  weft::run([] {
    weft::chan<int> numbers;
    bool stop = false;
    auto outside = weft::spawn([&] {
      int n = 0;
      while (!stop) {
        ++n;
        weft::this_goroutine::sleep_for(100us);
      }
      return n;
    });
    wt::bubble([] { weft::this_goroutine::sleep_for(1000h); });
    stop = true;
    EXPECT_GE(outside.join(), 0);
  });
}

}  // namespace
