// SPDX-License-Identifier: MIT
#include "support/runtime_test.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

// Tickers (TM11, TM12, TM14): one tick waits for a slow receiver, the rhythm stays.
namespace {

using namespace weft::test;
using weft::chan_status;

class Ticker : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Ticker);

TEST_P(Ticker, a_ticker_ticks_until_it_is_stopped) {  // TM11
  weft::run([] {
    EXPECT_TRUE(holds_in_time(10ms, [](Clock::duration period) {
      weft::ticker ticker(period);
      const auto measure = [&] {
        const auto start = Clock::now();
        for (int i = 0; i < 5; ++i) ticker.chan().recv();
        return Clock::now() - start;
      };
      const auto first = measure();
      ticker.reset(period * 2);
      const auto second = measure();
      ticker.stop();
      EXPECT_EQ(ticker.chan().recv_for(period * 3).status, chan_status::empty) << "none after stop";
      EXPECT_GE(first, period * 4) << "ticks are never early";
      EXPECT_GE(second, period * 8);
      return first < period * 13 / 2 && second < period * 13;
    }));
  });
}

TEST_P(Ticker, a_slow_receiver_finds_one_tick_with_its_own_time) {  // TM12
  weft::run([] {
    const auto start = Clock::now();
    weft::ticker ticker(10ms);
    const auto armed = Clock::now();
    weft::this_goroutine::sleep_for(205ms);
    const auto tick = ticker.chan().try_recv();
    ASSERT_TRUE(tick);
    EXPECT_GE(*tick.value, start + 10ms);
    EXPECT_LE(*tick.value, armed + 10ms) << "the time of the first tick, not of the last";
    const auto received = Clock::now();
    const auto second = ticker.chan().try_recv();
    if (second) {  // only if its time came meanwhile
      EXPECT_GT(*second.value + 10ms, received) << "the others were dropped";
    }
  });
}

TEST_P(Ticker, ticks_keep_their_rhythm) {
  weft::run([] {
    weft::ticker ticker(2ms);
    const auto first = *ticker.chan().recv();
    for (int i = 0; i < 20; ++i) {
      if (i % 5 == 0) weft::this_goroutine::sleep_for(5ms);
      const auto tick = *ticker.chan().recv();
      EXPECT_EQ((tick - first) % 2ms, 0ns) << "late receivers do not shift it";
    }
  });
}

TEST_P(Ticker, many_receive_from_one_ticker) {  // TM14
  weft::run([] {
    weft::ticker ticker(1us);
    weft::wait_group group;
    std::atomic<long> ticks{0};
    for (int i = 0; i < 4; ++i)
      group.go([&] {
        for (int n = 0; n < scaled(5000); ++n) {
          ticker.chan().recv();
          ++ticks;
        }
      });
    group.wait();
    EXPECT_EQ(ticks, 4l * scaled(5000));
    weft::timer timer(1us);
    for (int i = 0; i < 4; ++i)
      group.go([&] {
        for (int n = 0; n < scaled(3000); ++n) {
          timer.reset(1us);
          timer.chan().recv_for(100us);
        }
      });
    group.wait();
  });
}

// Counted, not timed: as many goroutines are dispatched as ticks are received, and a few for the others of this test.
TEST_P(Ticker, a_tick_wakes_one_of_those_who_wait) {
  constexpr int kWaiters = 200, kTicks = 60;
  weft::run([] {
    weft::ticker ticker(2ms);
    ticker.stop();
    weft::wait_group group;
    std::atomic<int> waiting{0}, got{0};
    std::atomic<bool> stop{false};
    for (int i = 0; i < kWaiters; ++i)
      group.go([&] {
        ++waiting;
        while (!stop) got += ticker.chan().recv_for(1h) && !stop;
      });
    EXPECT_TRUE(spin_until([&] { return waiting == kWaiters; }));
    const auto before = weft::runtime::read_stats().switches;
    ticker.reset(2ms);
    weft::event enough;
    weft::go([&] {
      while (got < kTicks) weft::this_goroutine::sleep_for(2ms);
      enough.set();
    });
    enough.wait();
    const auto switches = weft::runtime::read_stats().switches - before;
    EXPECT_LT(switches, 6u * kTicks + kWaiters) << "with a herd it would be " << kWaiters * kTicks;
    stop = true;
    ticker.reset(1us);
    group.wait();
  });
}

TEST_P(Ticker, those_who_wait_are_served_in_turn) {
  weft::run([] {
    weft::timer timer(1h);
    constexpr int kWaiters = 5;
    std::vector<int> order;
    weft::mutex lock;
    weft::wait_group group;
    std::atomic<int> waiting{0};
    for (int i = 0; i < kWaiters; ++i) {
      group.go([&, i] {
        ++waiting;
        timer.chan().recv();
        const std::lock_guard guard(lock);
        order.push_back(i);
      });
      const auto has_parked = [&] { return waiting == i + 1 && weft::runtime::read_stats().running == 1; };
      EXPECT_TRUE(spin_until(has_parked));
    }
    for (int i = 0; i < kWaiters; ++i) {
      timer.reset(0ms);
      EXPECT_TRUE(spin_until([&] {
        const std::lock_guard guard(lock);
        return order.size() == static_cast<std::size_t>(i) + 1;
      }));
    }
    group.wait();
    for (int i = 0; i < kWaiters; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  });
}

// The first in the line is a select that another channel decides, or one whose time limit comes: the tick goes to the
// next.
TEST_P(Ticker, a_tick_is_not_lost_when_the_first_in_the_line_leaves) {
  weft::run([] {
    for (int round = 0; round < scaled(200); ++round) {
      weft::timer timer(1h);
      weft::chan<int> other(1);
      std::atomic<int> ticks{0};
      weft::wait_group group;
      const auto take_turn = [&] {  // the next one gets a tick, too
        if (++ticks == 1) timer.reset(0ms);
      };
      group.go([&] {
        if (round % 2 == 0) {
          weft::select(weft::on_recv(timer.chan(), [&](std::optional<weft::time_point>) { take_turn(); }),
                       weft::on_recv(other, [](std::optional<int>) {}));
        } else if (timer.chan().recv_for(std::chrono::microseconds(50 + round))) {
          take_turn();
        }
      });
      group.go([&] {
        timer.chan().recv();
        take_turn();
      });
      weft::this_goroutine::yield();
      timer.reset(std::chrono::microseconds(50 + round));
      if (round % 4 == 0) weft::this_goroutine::sleep_for(std::chrono::microseconds(30 + round));
      other.send(1);
      group.wait();
      EXPECT_GE(ticks, 1);
    }
  });
}

// Without the runtime's help: threads wake up at the time by themselves, beside goroutines, and hear of resets.
TEST_P(Ticker, threads_and_goroutines_share_one_ticker) {
  weft::ticker ticker(1ms);
  std::atomic<int> by_threads{0}, by_goroutines{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!stop)
        if (ticker.chan().recv_for(20ms)) ++by_threads;
    });
  weft::run([&] {
    weft::wait_group group;
    for (int i = 0; i < 3; ++i)
      group.go([&] {
        while (!stop)
          if (ticker.chan().recv_for(20ms)) ++by_goroutines;
      });
    EXPECT_TRUE(spin_until([&] {
      ticker.reset(1ms);
      weft::this_goroutine::sleep_for(5ms);
      return by_threads + by_goroutines >= 30;
    }));
    stop = true;
    group.wait();
  });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
