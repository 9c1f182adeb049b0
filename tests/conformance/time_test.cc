// SPDX-License-Identifier: MIT
#include "support/runtime_test.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

// Timers with Go 1.23's semantics (TM01-TM10, TM13, TM16): never early, no stale value, dropping them costs nothing.
namespace {

using namespace weft::test;
using weft::chan_status;

class Time : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Time);

constexpr auto kNever = std::chrono::nanoseconds::max();

TEST_P(Time, a_signal_makes_no_sleep_or_timer_early) {
  struct sigaction action{}, old{};
  action.sa_handler = [](int) {};
  sigaction(SIGWINCH, &action, &old);  // without SA_RESTART
  std::atomic<bool> stop{false};
  std::thread noise([&] {
    while (!stop) {
      kill(getpid(), SIGWINCH);
      std::this_thread::sleep_for(2ms);
    }
  });
  weft::run([] {
    const auto start = Clock::now();
    weft::this_goroutine::sleep_for(50ms);
    EXPECT_GE(Clock::now() - start, 50ms);
    weft::timer timer(50ms);
    const auto armed = Clock::now();
    EXPECT_TRUE(timer.chan().recv().has_value());
    EXPECT_GE(Clock::now() - armed, 49ms);
    EXPECT_EQ(weft::chan<int>().recv_for(20ms).status, chan_status::empty);
  });
  stop = true;
  noise.join();
  sigaction(SIGWINCH, &old, nullptr);
}

TEST_P(Time, timers_fire_in_the_order_of_their_times) {
  weft::run([] {
    EXPECT_TRUE(holds_in_time(4ms, [](Clock::duration slot) {
      std::array<int, 13> slots{};
      std::iota(slots.begin(), slots.end(), 1);
      std::shuffle(slots.begin(), slots.end(), std::mt19937(7));
      weft::chan<int> fired(slots.size());
      const auto start = Clock::now();
      std::vector<weft::timer> timers;
      for (const int n : slots) timers.push_back(weft::after_func(slot * n, [&fired, n] { fired.send(n); }));
      bool good = true;
      for (int expected = 1; expected <= static_cast<int>(slots.size()); ++expected) {
        const int n = *fired.recv();
        EXPECT_GE(Clock::now() - start, slot * n) << "never early";
        good = good && n == expected && Clock::now() - start < slot * (n + 10);
      }
      return good;
    }));
  });
}

TEST_P(Time, the_value_is_the_time_for_which_the_timer_was_set) {
  weft::run([] {
    const auto before = Clock::now();
    weft::timer timer(5ms);
    const auto after = Clock::now();
    weft::this_goroutine::sleep_for(20ms);
    const auto value = timer.chan().recv();
    ASSERT_TRUE(value.has_value());
    EXPECT_GE(*value, before + 5ms);
    EXPECT_LE(*value, after + 5ms);
  });
}

TEST_P(Time, a_stopped_timer_never_fires_and_says_so_once) {
  weft::run([] {
    std::atomic<int> calls{0};
    std::vector<weft::timer> functions, channels;
    for (int i = 0; i < 100; ++i) {
      functions.push_back(weft::after_func(20ms, [&] { ++calls; }));
      channels.emplace_back(20ms);
    }
    int stopped = 0;
    for (weft::timer& timer : functions) stopped += timer.stop();
    for (weft::timer& timer : channels) EXPECT_TRUE(timer.stop());
    for (weft::timer& timer : functions) EXPECT_FALSE(timer.stop());
    for (weft::timer& timer : channels) EXPECT_FALSE(timer.stop());
    weft::this_goroutine::sleep_for(60ms);
    EXPECT_TRUE(spin_until([&] { return calls == 100 - stopped; }, 2s)) << "what was not stopped in time did fire";
    for (weft::timer& timer : channels) EXPECT_EQ(timer.chan().try_recv().status, chan_status::empty);
  });
}

TEST_P(Time, no_stale_value_is_left_after_stop_or_reset) {
  weft::run([] {
    weft::timer timer(0ns);
    weft::this_goroutine::sleep_for(1ms);
    EXPECT_TRUE(timer.stop()) << "it has fired, but its value was not received";
    EXPECT_EQ(timer.chan().try_recv().status, chan_status::empty);
    timer.reset(0ns);
    weft::this_goroutine::sleep_for(1ms);
    EXPECT_TRUE(timer.reset(1h));
    EXPECT_EQ(timer.chan().try_recv().status, chan_status::empty);
    EXPECT_EQ(timer.chan().recv_for(5ms).status, chan_status::empty);
    weft::ticker ticker(1ms);
    weft::this_goroutine::sleep_for(5ms);
    ticker.stop();
    EXPECT_EQ(ticker.chan().try_recv().status, chan_status::empty);
    ticker.reset(1ms);
    weft::this_goroutine::sleep_for(5ms);
    ticker.reset(1h);
    EXPECT_EQ(ticker.chan().recv_for(5ms).status, chan_status::empty);
  });
}

// The answer of stop and what the channel does never contradict each other.
TEST_P(Time, stop_and_a_receiver_never_both_get_the_value) {
  weft::run([] {
    int received = 0, stopped = 0;
    for (int i = 0; i < scaled(2000); ++i) {
      weft::timer timer(std::chrono::microseconds(i % 40));
      weft::chan<int> quit;
      bool got = false;
      auto receiver = weft::spawn(
          [&] { weft::select(weft::on_recv(timer.chan(), [&](auto) { got = true; }), weft::on_recv(quit)); });
      if (i % 3 != 0) weft::this_goroutine::sleep_for(std::chrono::microseconds(i % 30));
      const bool had_not = timer.stop();
      quit.close();
      receiver.join();
      EXPECT_NE(got, had_not);
      received += got;
      stopped += had_not;
    }
    EXPECT_GT(received + stopped, 0);
  });
}

TEST_P(Time, reset_says_whether_it_was_running_and_only_the_new_time_counts) {
  weft::run([] {
    weft::timer timer(1h);
    EXPECT_TRUE(timer.reset(10ms));
    const auto start = Clock::now();
    EXPECT_TRUE(timer.chan().recv().has_value());
    EXPECT_GE(Clock::now() - start, 9ms);
    EXPECT_FALSE(timer.reset(5ms)) << "its value has been received";
    EXPECT_TRUE(timer.chan().recv().has_value());
    EXPECT_FALSE(timer.stop());
    EXPECT_FALSE(timer.reset(1h)) << "it was stopped";
    EXPECT_TRUE(timer.stop());

    std::atomic<int> calls{0};
    weft::timer function = weft::after_func(1h, [&] { ++calls; });
    EXPECT_TRUE(function.reset(1ms));
    EXPECT_TRUE(spin_until([&] { return calls == 1; }));
    EXPECT_FALSE(function.reset(1ms));
    EXPECT_TRUE(spin_until([&] { return calls == 2; }));
    EXPECT_FALSE(function.stop());
  });
}

TEST_P(Time, a_reset_reaches_those_who_wait_already) {
  weft::run([] {
    weft::timer timer(1h);
    auto earlier = weft::spawn([&] { return timer.chan().recv().has_value(); });
    auto selecting = weft::spawn([&] { return weft::select(weft::on_recv(timer.chan()), weft::on_timeout(20s)); });
    weft::this_goroutine::sleep_for(2ms);
    timer.reset(1ms);
    EXPECT_TRUE(spin_until([&] { return earlier.ready() || selecting.ready(); }));
    timer.reset(1ms);
    EXPECT_TRUE(earlier.join());
    EXPECT_EQ(selecting.join(), 0u);
    // Later: the old time passes, and nothing comes. Where the machine was away until then, that was not seen: once more.
    bool was_in_time = false;
    for (int tries = 0; !was_in_time && tries < 50; ++tries) {
      timer.reset(10ms);
      const auto start = Clock::now();
      auto later = weft::spawn([&] {
        timer.chan().recv();
        return Clock::now() - start;
      });
      weft::this_goroutine::yield();
      timer.reset(60ms);
      was_in_time = Clock::now() - start < 10ms;
      const auto waited = later.join();
      if (was_in_time) {
        EXPECT_GE(waited, 59ms);
      }
    }
    EXPECT_TRUE(was_in_time);
  });
}

// Copied and destroyed when a timer's goroutine is prepared and dropped.
struct GivesWay {
  GivesWay() = default;
  GivesWay(const GivesWay&) { weft::this_goroutine::yield(); }
  GivesWay& operator=(const GivesWay&) = delete;
  ~GivesWay() { weft::this_goroutine::yield(); }
};
weft::goroutine_local<GivesWay> gives_way(weft::inherit::copy);

TEST_P(Time, the_users_code_runs_without_a_timers_lock) {
  weft::run([] {
    gives_way.get();
    std::atomic<int> calls{0};
    weft::timer timer = weft::after_func(1h, [&] { ++calls; });
    auto stopping = weft::spawn([&] {
      int stopped = 0;
      for (int i = 0; i < scaled(500); ++i) {
        stopped += timer.stop();
        weft::this_goroutine::yield();
      }
      return stopped;
    });
    int pending = 0;
    for (int i = 0; i < scaled(500); ++i) pending += timer.reset(1h);
    const int stopped = stopping.join();
    EXPECT_LE(pending + stopped, scaled(500) + 1) << "each reset makes it pending once, and each is ended once";
    EXPECT_GT(pending + stopped, 0);
    timer.stop();
    EXPECT_EQ(calls, 0);
  });
}

TEST_P(Time, a_timer_of_nothing_fires_at_once) {  // TM07
  weft::run([] {
    weft::timer reused(1h);
    for (int i = 0; i < scaled(20'000); ++i) {
      const Stopwatch watch;
      EXPECT_TRUE(weft::after(i % 2 == 0 ? 0ns : -1h).recv().has_value());
      reused.reset(0ns);
      EXPECT_TRUE(reused.chan().try_recv()) << "it is due already";
      if (i % 10 == 0) {
        weft::event done;
        weft::after_func(0ns, [&] { done.set(); });
        done.wait();
      }
      if (watch.elapsed() > 2s * kSlowdown) FAIL() << watch.seconds() << " s for a timer of nothing";
    }
  });
}

TEST_P(Time, timers_moved_into_the_past_fire_at_once) {  // TM08
  weft::run([] {
    constexpr int kTimers = 1000;
    std::atomic<int> fired{0};
    std::vector<weft::timer> timers;
    timers.reserve(kTimers);
    for (int i = 0; i < kTimers; ++i) timers.push_back(weft::after_func(1h, [&] { ++fired; }));
    int expected = 0;
    for (int round = 0; round < 10; ++round)
      for (weft::timer& timer : timers) expected += timer.reset(-1s) ? 0 : 1;
    EXPECT_TRUE(spin_until([&] { return fired == expected + kTimers; }, 8s)) << fired << " of " << expected + kTimers;
  });
}

TEST_P(Time, timers_survive_a_random_walk_of_resets_and_stops) {  // TM09
  weft::run([] {
    constexpr int kTimers = 100;
    std::mt19937 random(11);
    std::vector<weft::timer> timers;
    for (int i = 0; i < kTimers; ++i) timers.emplace_back(1h);
    weft::wait_group walkers;
    for (int part = 0; part < 4; ++part)
      walkers.go([&timers, part, seed = random()] {
        std::mt19937 steps(seed);
        for (int stage = 0; stage < 11; ++stage)
          for (int i = part; i < kTimers; i += 4) {
            switch (steps() % 4) {
              case 0:  timers[static_cast<std::size_t>(i)].stop(); break;
              case 1:  timers[static_cast<std::size_t>(i)].reset(1h); break;
              case 2:  timers[static_cast<std::size_t>(i)].reset(std::chrono::microseconds(steps() % 500)); break;
              default: timers[static_cast<std::size_t>(i)].chan().try_recv();
            }
            if (steps() % 8 == 0) weft::this_goroutine::yield();
          }
      });
    walkers.wait();
    for (weft::timer& timer : timers) timer.reset(1ms);
    const Stopwatch watch;
    for (weft::timer& timer : timers) EXPECT_TRUE(timer.chan().recv().has_value());
    EXPECT_LT(watch.elapsed(), 5s * kSlowdown);
  });
}

TEST_P(Time, the_largest_durations_never_come_and_disturb_nobody) {  // TM10
  weft::run([] {
    std::atomic<bool> fired{false};
    weft::timer timer(kNever), hours(std::chrono::hours::max());
    weft::timer function = weft::after_func(kNever, [&] { fired = true; });
    weft::timer seconds(std::chrono::duration<double>(1e300)),
        not_a_number(std::chrono::duration<double>(std::nan("")));
    weft::ticker ticker(kNever - 1ns);
    EXPECT_TRUE(weft::after(25ms).recv().has_value());
    EXPECT_EQ(timer.chan().try_recv().status, chan_status::empty);
    EXPECT_EQ(ticker.chan().try_recv().status, chan_status::empty);
    EXPECT_EQ(hours.chan().recv_for(1ms).status, chan_status::empty);
    EXPECT_TRUE(not_a_number.chan().recv().has_value()) << "not a number means now";
    // They were started and have not fired.
    EXPECT_TRUE(timer.stop());
    EXPECT_FALSE(timer.stop());
    EXPECT_TRUE(hours.reset(kNever));
    EXPECT_TRUE(hours.reset(1ms));
    EXPECT_TRUE(hours.chan().recv().has_value());
    EXPECT_TRUE(function.stop());
    EXPECT_FALSE(function.stop());
    EXPECT_FALSE(function.reset(kNever));
    EXPECT_TRUE(function.reset(kNever));
    EXPECT_TRUE(function.stop());
    EXPECT_TRUE(seconds.stop());
    ticker.reset(1ms);
    EXPECT_TRUE(ticker.chan().recv().has_value());
    EXPECT_TRUE(weft::after(std::chrono::nanoseconds::min()).recv().has_value());
    EXPECT_FALSE(fired);
  });
}

TEST_P(Time, misuse_throws_and_harms_nothing) {  // TM13
  weft::run([] {
    EXPECT_THROW(weft::ticker(0ms), weft::logic_error);
    EXPECT_THROW(weft::ticker(-1ms), weft::logic_error);
    EXPECT_THROW(weft::ticker(std::chrono::duration<double>(std::nan(""))), weft::logic_error);
    weft::ticker ticker(1ms);
    EXPECT_THROW(ticker.reset(0ms), weft::logic_error);
    EXPECT_THROW(ticker.reset(-1h), weft::logic_error);
    EXPECT_TRUE(ticker.chan().recv().has_value()) << "it goes on";
    EXPECT_EQ(weft::tick(0ms), weft::chan<weft::time_point>::nil());
    EXPECT_TRUE(weft::tick(1ms).recv().has_value());
    weft::ticker moved = std::move(ticker);
    EXPECT_THROW(ticker.stop(), weft::logic_error);
    EXPECT_THROW(ticker.reset(1ms), weft::logic_error);
    EXPECT_TRUE(moved.chan().recv().has_value());
    weft::timer none;
    EXPECT_FALSE(none);
    EXPECT_THROW(none.stop(), weft::logic_error);
    EXPECT_THROW(none.reset(1ms), weft::logic_error);
    EXPECT_THROW(weft::timer(1ms, nullptr), weft::logic_error);
    EXPECT_THROW(weft::after_func(1ms, std::function<void()>()), weft::logic_error);
  });
}

TEST_P(Time, only_the_timer_sends_on_its_channel) {
  weft::run([] {
    for (const auto duration : {0ns, std::chrono::nanoseconds(1h)}) {
      weft::timer timer(duration);
      auto c = timer.chan();
      weft::time_point value{};
      EXPECT_THROW(c.send(value), weft::logic_error);
      EXPECT_THROW(c.try_send(value), weft::logic_error);
      EXPECT_THROW(c.send_for(value, 1ms), weft::logic_error);
      EXPECT_THROW(weft::select(weft::on_send(c, value), weft::on_default()), weft::logic_error);
      EXPECT_THROW(weft::select(weft::on_send(c, value), weft::on_timeout(1h)), weft::logic_error);
      EXPECT_THROW(c.close(), weft::logic_error);
      EXPECT_FALSE(c.closed());
      EXPECT_EQ(c.size(), 0u);
      EXPECT_EQ(c.capacity(), 0u);
      EXPECT_TRUE(timer.stop());
    }
    weft::timer timer(1h);
    auto receiver = weft::spawn([&] { return timer.chan().recv(); });
    weft::this_goroutine::sleep_for(1ms);
    EXPECT_THROW(timer.chan().send({}), weft::logic_error);
    timer.reset(0ns);
    EXPECT_TRUE(receiver.join().has_value());
  });
}

// TM16: what nobody receives from is in no heap and no list; a million of them would show.
TEST_P(Time, abandoned_channels_cost_nothing) {
  const int count = scaled(100'000);
  weft::run([&] {
    for (int i = 0; i < 1000; ++i) weft::after(1h);
    const std::size_t before = resident_bytes();
    const std::uint64_t fired = weft::runtime::read_stats().timers_fired;
    weft::chan<int> c(1);
    for (int i = 0; i < count; ++i) {
      c.send(i);
      weft::select(weft::on_recv(c), weft::on_recv(weft::after(5s)));  // the usual way to leave one behind
    }
    if (!kSanitized) {
      EXPECT_LT(resident_bytes(), before + 4'000'000) << "100,000 timers that are kept would need 10 MB";
    }
    EXPECT_LT(weft::runtime::read_stats().timers_fired - fired, 1000u);
  });
}

TEST_P(Time, short_sleeps_are_short_when_there_is_nothing_else_to_do) {
  weft::run([] {
    EXPECT_TRUE(holds_in_time(200us, [](Clock::duration duration) {
      std::vector<Clock::duration> took;
      for (int i = 0; i < 21; ++i) {
        const Stopwatch watch;
        weft::this_goroutine::sleep_for(duration);
        EXPECT_GE(watch.elapsed(), duration);
        took.push_back(watch.elapsed());
      }
      std::ranges::nth_element(took, took.begin() + 10);
      return took[10] < duration + 800us;  // half of them; the machine may be busy
    }));
  });
}

TEST_P(Time, threads_use_timers_too) {
  weft::timer timer(5ms);
  const auto start = Clock::now();
  EXPECT_TRUE(timer.chan().recv().has_value());
  EXPECT_GE(Clock::now() - start, 4ms);
  weft::ticker ticker(1ms);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ticker.chan().recv().has_value());
  std::atomic<int> calls{0};
  weft::timer function = weft::after_func(1ms, [&] { ++calls; });
  EXPECT_TRUE(spin_until([&] { return calls == 1; }));
  EXPECT_EQ(weft::select(weft::on_recv(weft::chan<int>()), weft::on_recv(weft::after(1ms))), 1u);
  // Goroutines and threads on one ticker, and one of each resets it.
  std::atomic<int> ticks{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n) {
        ticker.chan().recv();
        ++ticks;
        if (n == 10) ticker.reset(500us);
      }
    });
  weft::run([&] {
    for (int n = 0; n < 20; ++n) {
      ticker.chan().recv();
      ++ticks;
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ticks, 80);
}

TEST_P(Time, timers_of_all_kinds_survive_changes_of_maxprocs) {
  const int procs = RuntimeTest::procs();
  weft::run([&] {
    std::atomic<bool> stop{false};
    std::atomic<long> calls{0}, started{0};
    weft::wait_group group;
    for (int i = 0; i < 4; ++i)
      group.go([&, i] {
        weft::ticker ticker(300us);
        while (!stop) {
          ++started;
          weft::timer timer = weft::after_func(std::chrono::microseconds(i * 50), [&] { ++calls; });
          if (i % 2 == 0 && timer.stop()) --started;
          ticker.chan().recv();
        }
      });
    for (int round = 0; round < 20; ++round) {
      weft::runtime::set_maxprocs(1 + round % 4);
      weft::this_goroutine::sleep_for(1ms);
    }
    stop = true;
    group.wait();
    weft::runtime::set_maxprocs(procs);
    EXPECT_TRUE(spin_until([&] { return calls == started; })) << calls << " of " << started;
  });
}

}  // namespace
