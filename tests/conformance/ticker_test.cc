// SPDX-License-Identifier: MIT
#include "support/runtime_test.h"

#include <atomic>

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

}  // namespace
