// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <weft/net.h>

#include <array>
#include <atomic>

#include "support/sockets.h"

// Deadlines of reads, writes and accepts. (behaviours NP02-NP06)
namespace {

using namespace weft::test;
namespace net = weft::net;

class NetDeadline : public Net {};
WEFT_AT_ALL_CONFIGURATIONS(NetDeadline);

TEST_P(NetDeadline, a_past_deadline_fails_with_data_there_and_clearing_it_lets_calls_block_again) {  // NP02, NP03
  weft::run([] {
    Pair pair = connect_pair();
    pair.client.write("x");
    pair.server.set_read_deadline(Clock::now() - 1s);
    EXPECT_EQ(error_of_read(pair.server), std::errc::timed_out);
    EXPECT_EQ(error_of_read(pair.server), std::errc::timed_out);
    pair.server.set_read_deadline(weft::time_point::max());
    EXPECT_FALSE(error_of_read(pair.server));
    auto reader = weft::spawn([&] { return error_of_read(pair.server); });
    EXPECT_FALSE(reader.wait_for(5ms));
    pair.client.write("y");
    EXPECT_FALSE(reader.join());

    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    listener.set_deadline(Clock::now());
    std::error_code error;
    listener.accept(error);
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_THROW(listener.accept(), std::system_error);
  });
}

TEST_P(NetDeadline, deadlines_change_while_calls_wait) {  // NP04
  weft::run([] {
    Pair pair = connect_pair();
    const auto start = Clock::now();
    pair.server.set_read_deadline(start + 20ms);
    auto extended = weft::spawn([&] { return error_of_read(pair.server); });
    pair.server.set_read_deadline(start + 100ms);
    EXPECT_EQ(extended.join(), std::errc::timed_out);
    EXPECT_GE(Clock::now() - start, 100ms);

    pair.server.set_read_deadline(Clock::now() + 1h);
    auto shortened = weft::spawn([&] { return error_of_read(pair.server); });
    EXPECT_FALSE(shortened.wait_for(2ms));
    pair.server.set_read_deadline(Clock::now() + 1ms);
    EXPECT_EQ(shortened.join(), std::errc::timed_out);

    pair.server.set_read_deadline(Clock::now() + 20ms);
    auto cleared = weft::spawn([&] { return error_of_read(pair.server); });
    pair.server.set_read_deadline(weft::time_point::max());
    EXPECT_FALSE(cleared.wait_for(60ms));
    pair.client.write("z");
    EXPECT_FALSE(cleared.join());
  });
}

TEST_P(NetDeadline, three_goroutines_race_with_deadlines_reads_and_writes) {  // NP05
  weft::run([] {
    Pair pair = connect_pair();
    std::atomic<bool> stop{false};
    weft::wait_group all;
    all.go([&] {
      for (int i = 0; i < scaled(1000); ++i)
        pair.server.set_deadline(i % 3 == 0 ? weft::time_point::max()
                                            : Clock::now() + std::chrono::microseconds(i % 200));
      pair.server.set_deadline(Clock::now());
      stop = true;
    });
    all.go([&] {
      std::array<std::byte, 16> buffer;
      std::error_code error;
      while (!stop) {
        pair.server.read(buffer, error);
        if (error) {
          EXPECT_EQ(error, std::errc::timed_out);
        }
        weft::this_goroutine::yield();
      }
    });
    all.go([&] {
      std::error_code error;
      while (!stop) {
        pair.client.write("abc", error);
        weft::this_goroutine::yield();
      }
    });
    all.wait();
  });
}

TEST_P(NetDeadline, time_limits_are_kept) {  // NP06
  weft::run([] {
    Pair pair = connect_pair();
    for (const auto limit : {std::chrono::nanoseconds(1), std::chrono::nanoseconds(50'000),
                             std::chrono::nanoseconds(5'000'000), std::chrono::nanoseconds(100'000'000)}) {
      const bool kept = holds_in_time(50ms, [&](Clock::duration late) {
        const auto start = Clock::now();
        pair.server.set_read_deadline(start + limit);
        EXPECT_EQ(error_of_read(pair.server), std::errc::timed_out);
        EXPECT_GE(Clock::now() - start, limit);
        return Clock::now() - start < limit + late;
      });
      EXPECT_TRUE(kept) << limit.count();
    }
  });
}

}  // namespace
