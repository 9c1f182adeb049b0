// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <sys/resource.h>
#include <sys/socket.h>
#include <weft/net.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "support/sockets.h"

// Reads that wait without asking the kernel first: what they believe about the stream is true, whatever its other end does.
namespace {

using namespace weft::test;
namespace net = weft::net;

class NetRead : public Net {};
WEFT_AT_ALL_CONFIGURATIONS(NetRead);

std::span<std::byte> room(std::string& text) { return std::as_writable_bytes(std::span(text)); }

constexpr std::size_t kMessage = 64;

// After a few of these the server's side is watched by level.
void exchange_exact_messages(Pair& pair, int count = 20) {
  std::string text(kMessage, 'm'), got(kMessage, ' ');
  auto echo = weft::spawn([&] {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(pair.server.read(room(got)), kMessage);
      pair.server.write(got);
    }
  });
  std::string back(kMessage, ' ');
  for (int i = 0; i < count; ++i) {
    pair.client.write(text);
    ASSERT_EQ(pair.client.read_full(room(back)), kMessage);
    ASSERT_EQ(back, text);
  }
  echo.join();
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// A read that does not fill its buffer says that nothing is left, and the next one waits: not when the end or urgent data came
// with the same event.
TEST_P(NetRead, a_stream_that_ends_right_behind_its_data_is_read_to_its_end) {
  weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    constexpr int kRounds = 300;
    auto client = weft::spawn([&] {
      for (int round = 0; round < kRounds; ++round) {
        net::conn connection = net::dial("tcp", listener.address().to_string());
        connection.write("some text");
        if (round % 3 == 0) weft::this_goroutine::yield();
        if (round % 7 == 0) weft::this_goroutine::sleep_for(100us);
        if (round % 2 == 0) connection.write("and more of it");
        connection.close_write();
        std::array<std::byte, 8> rest;
        EXPECT_EQ(connection.read(rest), 0u);
      }
    });
    for (int round = 0; round < kRounds; ++round) {
      net::conn connection = listener.accept();
      connection.set_read_deadline(std::chrono::steady_clock::now() + 30s);
      if (round % 5 == 0) weft::this_goroutine::sleep_for(200us);  // all of it is there before the first read
      std::array<std::byte, 4096> buffer;
      std::size_t total = 0;
      while (const std::size_t size = connection.read(buffer)) total += size;
      EXPECT_EQ(total, round % 2 == 0 ? 23u : 9u);
    }
    client.join();
  });
}

TEST_P(NetRead, reading_goes_on_behind_urgent_data) {
  weft::run([] {
    for (int round = 0; round < 100; ++round) {
      Pair pair = connect_pair();
      pair.client.write("before");
      ASSERT_EQ(send(pair.client.native_handle(), "!", 1, MSG_OOB), 1);
      pair.client.write("behind");
      pair.client.close_write();
      pair.server.set_read_deadline(std::chrono::steady_clock::now() + 30s);
      if (round % 2 == 0) weft::this_goroutine::sleep_for(100us);
      std::string text(64, ' ');
      text.resize(pair.server.read_full(std::as_writable_bytes(std::span(text))));
      EXPECT_EQ(text, "beforebehind");
    }
  });
}

// Messages that fill the buffer exactly, then ones that do not, then such again: what is known about the queue changes its source.
TEST_P(NetRead, messages_as_large_as_the_buffer_and_smaller_ones_take_turns) {
  weft::run([] {
    Pair pair = connect_pair();
    auto echo = weft::spawn([&] {
      std::array<std::byte, 64> buffer;
      while (const std::size_t size = pair.server.read(buffer)) pair.server.write_all(std::span(buffer).first(size));
    });
    for (const std::size_t size : {64u, 10u, 64u, 128u, 63u, 65u, 64u}) {
      for (int i = 0; i < 150; ++i) {
        std::string text(size, static_cast<char>('a' + i % 26)), back(size, ' ');
        pair.client.write(text);
        pair.client.set_read_deadline(std::chrono::steady_clock::now() + 30s);
        ASSERT_EQ(pair.client.read_full(std::as_writable_bytes(std::span(back))), size);
        ASSERT_EQ(back, text);
      }
    }
    pair.client.close();
    echo.join();
  });
}

// Several at once: a read takes the first, and nothing new comes for the others.
TEST_P(NetRead, exact_messages_that_come_together_are_all_read) {
  weft::run([] {
    Pair pair = connect_pair();
    pair.server.set_read_deadline(Clock::now() + 30s);
    for (int round = 0; round < scaled(50); ++round) {
      exchange_exact_messages(pair);
      const auto together = static_cast<std::size_t>(1 + round % 7);
      auto sender = weft::spawn([&] { pair.client.write(std::string(together * kMessage, 'x')); });
      std::string got(kMessage, ' ');
      for (std::size_t i = 0; i < together; ++i) ASSERT_EQ(pair.server.read_full(room(got)), kMessage);
      sender.join();
    }
  });
}

// What nobody reads must not keep the poller busy.
TEST_P(NetRead, data_that_nobody_reads_costs_no_time) {
  weft::run([] {
    std::vector<Pair> pairs;
    for (int i = 0; i < 4; ++i) {
      pairs.push_back(connect_pair());
      exchange_exact_messages(pairs.back());
      pairs.back().client.write(std::string(kMessage, 'x'));
    }
    const bool quiet = holds_in_time(200ms, [](Clock::duration length) {
      const double before = cpu_seconds();
      weft::this_goroutine::sleep_for(length);
      return cpu_seconds() - before < 0.25 * std::chrono::duration<double>(length).count();
    });
    EXPECT_TRUE(quiet);
    for (Pair& pair : pairs) {
      pair.server.set_read_deadline(Clock::now() + 30s);
      std::string got(kMessage, ' ');
      EXPECT_EQ(pair.server.read(room(got)), kMessage);
      exchange_exact_messages(pair);
    }
  });
}

TEST_P(NetRead, a_writer_that_has_to_wait_is_woken_beside_reads_of_exact_messages) {
  weft::run([] {
    for (int round = 0; round < 3; ++round) {
      Pair pair = connect_pair();
      exchange_exact_messages(pair);
      const std::size_t much = 16 << 20;
      auto writer = weft::spawn([&] { pair.server.write(std::string(much, 'w')); });
      auto reader = weft::spawn([&] {  // of the same side, meanwhile
        std::string got(kMessage, ' ');
        for (int i = 0; i < 200; ++i) ASSERT_EQ(pair.server.read_full(room(got)), kMessage);
      });
      auto sender = weft::spawn([&] {
        for (int i = 0; i < 200; ++i) pair.client.write(std::string(kMessage, 's'));
      });
      EXPECT_FALSE(writer.wait_for(5ms));
      std::string all(much, ' ');
      pair.client.set_read_deadline(Clock::now() + 30s);
      EXPECT_EQ(pair.client.read_full(room(all)), much);
      EXPECT_EQ(all.find_first_not_of('w'), std::string::npos);
      writer.join();
      sender.join();
      reader.join();
    }
  });
}

TEST_P(NetRead, exact_messages_are_read_to_the_end_of_the_stream_or_past_urgent_data) {
  weft::run([] {
    for (int round = 0; round < 20; ++round) {
      Pair pair = connect_pair();
      exchange_exact_messages(pair);
      pair.server.set_read_deadline(Clock::now() + 30s);
      if (round % 2 == 0) {
        ASSERT_EQ(send(pair.client.native_handle(), "!", 1, MSG_OOB), 1);
        weft::this_goroutine::sleep_for(100us);
      }
      pair.client.write(std::string(3 * kMessage, 'e'));
      pair.client.close_write();
      std::string got(kMessage, ' ');
      std::size_t total = 0;
      while (const std::size_t size = pair.server.read(room(got))) total += size;
      EXPECT_EQ(total, 3 * kMessage);
    }
  });
}

TEST_P(NetRead, closing_and_deadlines_end_reads_that_wait_first) {
  weft::run([] {
    for (int round = 0; round < 20; ++round) {
      Pair pair = connect_pair();
      exchange_exact_messages(pair);
      pair.server.set_read_deadline(Clock::now() + 2ms);
      EXPECT_EQ(error_of_read(pair.server), std::errc::timed_out);
      pair.server.set_read_deadline(weft::time_point::max());
      auto reader = weft::spawn([&] { return error_of_read(pair.server); });
      if (round % 2 == 0) weft::this_goroutine::yield();
      pair.server.close();
      EXPECT_EQ(reader.join(), std::errc::bad_file_descriptor);
    }
  });
}

}  // namespace
