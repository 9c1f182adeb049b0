// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <sys/mman.h>
#include <unistd.h>
#include <weft/net.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/sockets.h"

// net::pipe(): connections in memory.
namespace {

using namespace weft::test;
namespace net = weft::net;

class NetPipe : public Net {};
WEFT_AT_ALL_CONFIGURATIONS(NetPipe);

// Works with any connection, as users' servers do.
void serve_echo(net::conn connection) {
  connection.set_no_delay(true);
  connection.set_keep_alive(15s);
  std::array<char, 100> buffer;
  while (const std::size_t size = connection.read(buffer)) connection.write_all(std::span(buffer).first(size));
}

TEST_P(NetPipe, serves_what_takes_a_conn_without_a_descriptor) {
  weft::run([] {
    const int before = count_descriptors();
    auto [client, server] = net::pipe();
    EXPECT_EQ(count_descriptors(), before);
    auto echo = weft::spawn([connection = std::move(server)]() mutable { serve_echo(std::move(connection)); });
    for (int round = 0; round < scaled(1000); ++round) {
      const std::string text = std::to_string(round);
      client.write(text);
      std::string back(text.size(), ' ');
      ASSERT_EQ(client.read_full(back), text.size());
      ASSERT_EQ(back, text);
    }
    EXPECT_TRUE(client);
    EXPECT_EQ(client.native_handle(), -1);
    EXPECT_FALSE(client.local_address());
    EXPECT_THROW(client.release(), std::system_error);
    client.close();
    EXPECT_FALSE(client);
    echo.join();
  });
}

TEST_P(NetPipe, a_write_returns_when_all_of_it_has_been_read) {
  weft::run([] {
    auto [one, other] = net::pipe();
    std::atomic<bool> written{false};
    auto writer = weft::spawn([&, &end = one] {
      end.write_all("abcdef");
      written = true;
    });
    std::string got(4, ' ');
    EXPECT_EQ(other.read(got), 4u);
    EXPECT_EQ(got, "abcd");
    EXPECT_FALSE(writer.wait_for(3ms));
    EXPECT_FALSE(written);
    EXPECT_EQ(other.read(got), 2u) << "what is left, not more";
    writer.join();
    EXPECT_EQ(got, "efcd");
    one.write_all("");  // nothing to wait for
  });
}

TEST_P(NetPipe, both_directions_carry_whole_writes_of_many_goroutines) {
  weft::run([] {
    auto [one, other] = net::pipe();
    weft::wait_group all;
    const int each = scaled(200);
    for (net::conn* end : {&one, &other})
      for (int i = 0; i < 4; ++i)
        all.go([=] {
          const std::string block(100, static_cast<char>('a' + i));
          const std::span<const std::byte> parts[] = {bytes(block).first(30), {}, bytes(block).subspan(30)};
          for (int k = 0; k < each; ++k) {
            if (k % 2 == 0) {
              end->write_all(block);
            } else {
              end->writev(parts);
            }
          }
        });
    for (net::conn* end : {&one, &other})
      all.go([=] {
        std::array<int, 4> seen{};
        std::string block(100, ' ');
        for (int k = 0; k < 4 * each; ++k) {
          ASSERT_EQ(end->read_full(block), block.size());
          ASSERT_EQ(block, std::string(100, block[0])) << "two writes are mixed";
          ++seen[static_cast<std::size_t>(block[0] - 'a')];
        }
        for (const int count : seen) EXPECT_EQ(count, each);
      });
    all.wait();
  });
}

TEST_P(NetPipe, closing_ends_what_waits_on_both_sides) {
  weft::run([] {
    {
      auto [one, other] = net::pipe();
      auto own = weft::spawn([&, &end = one] { return error_of_read(end); });
      auto peers = weft::spawn([&, &end = other] {
        char buffer[4];
        return end.read(buffer);
      });
      EXPECT_FALSE(own.wait_for(2ms));
      one.close();
      EXPECT_EQ(own.join(), std::errc::bad_file_descriptor);
      EXPECT_EQ(peers.join(), 0u) << "the end of the stream";
      std::error_code error;
      EXPECT_EQ(one.write("x", error), 0u);
      EXPECT_EQ(error, std::errc::bad_file_descriptor);
      EXPECT_EQ(other.write("x", error), 0u);
      EXPECT_EQ(error, std::errc::broken_pipe);
      EXPECT_THROW(one.close_write(), std::system_error);
    }
    auto [one, other] = net::pipe();
    auto writer = weft::spawn([&, &end = one] {
      std::error_code error;
      const std::size_t size = end.write("abcdef", error);
      return std::pair(size, error);
    });
    char buffer[2];
    EXPECT_EQ(other.read(buffer), 2u);
    other.close();
    const auto [size, error] = writer.join();
    EXPECT_EQ(size, 2u) << "how much was read";
    EXPECT_EQ(error, std::errc::broken_pipe);
  });
}

TEST_P(NetPipe, one_direction_can_be_closed_alone) {
  weft::run([] {
    auto [one, other] = net::pipe();
    one.close_write();
    char buffer[4];
    EXPECT_EQ(other.read(buffer), 0u);
    std::error_code error;
    one.write("x", error);
    EXPECT_EQ(error, std::errc::broken_pipe);
    auto reader = weft::spawn([&, &end = one] {
      std::string got(4, ' ');
      return got.substr(0, end.read(got));
    });
    other.write("back");
    EXPECT_EQ(reader.join(), "back");
    one.close_read();
    EXPECT_EQ(one.read(buffer), 0u);
    other.write("x", error);
    EXPECT_EQ(error, std::errc::broken_pipe);
  });
}

TEST_P(NetPipe, deadlines_end_calls_and_may_change_while_they_wait) {
  weft::run([] {
    auto [one, other] = net::pipe();
    one.set_read_deadline(Clock::now() - 1s);
    EXPECT_EQ(error_of_read(one), std::errc::timed_out);
    one.set_read_deadline(Clock::now() + 5ms);
    EXPECT_EQ(error_of_read(one), std::errc::timed_out);
    one.set_read_deadline(weft::time_point::max());
    auto reader = weft::spawn([&, &end = one] { return error_of_read(end); });
    EXPECT_FALSE(reader.wait_for(2ms));
    one.set_deadline(Clock::now());
    EXPECT_EQ(reader.join(), std::errc::timed_out);
    one.set_deadline(weft::time_point::max());
    // A later deadline counts, too: the first must not end the write.
    one.set_write_deadline(Clock::now() + 2ms);
    auto writer = weft::spawn([&, &end = one] {
      std::error_code error;
      end.write("abc", error);
      return error;
    });
    EXPECT_EQ(writer.join(), std::errc::timed_out);
    one.set_write_deadline(Clock::now() + 1h);
    auto patient = weft::spawn([&, &end = one] {
      std::error_code error;
      end.write("abc", error);
      return error;
    });
    char buffer[3];
    EXPECT_EQ(other.read_full(buffer), 3u);
    EXPECT_FALSE(patient.join());
    // What timed out left nothing behind.
    EXPECT_EQ(std::string(buffer, 3), "abc");
    other.set_read_deadline(Clock::now() + 2ms);
    EXPECT_EQ(error_of_read(other), std::errc::timed_out);
  });
}

TEST_P(NetPipe, contexts_end_calls_also_those_that_wait_for_their_turn) {
  weft::run([] {
    auto [one, other] = net::pipe();
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    weft::wait_group all;
    std::atomic<int> cancelled{0};
    for (int i = 0; i < 3; ++i) {
      all.go([&, &end = one, &given = ctx] {
        std::error_code error;
        end.write(given, "abc", error);
        cancelled += error == std::errc::operation_canceled;
      });
      all.go([&, &end = one, &given = ctx] {
        std::error_code error;
        char buffer[4];
        end.read(given, buffer, error);
        cancelled += error == std::errc::operation_canceled;
      });
    }
    EXPECT_FALSE(all.wait_for(3ms));
    cancel();
    all.wait();
    EXPECT_EQ(cancelled, 6);
    EXPECT_THROW(one.write(ctx, "x"), std::system_error);
    auto [timed, stop] = weft::with_timeout(weft::context::background(), 3ms);
    std::error_code error;
    char buffer[4];
    other.read(timed, buffer, error);
    EXPECT_EQ(error, std::errc::timed_out);
    stop();
  });
}

// The narrow place: a context that is cancelled between a call's look at it and its wait.
TEST_P(NetPipe, a_cancellation_is_never_missed) {
  weft::run([] {
    auto [one, other] = net::pipe();
    for (int round = 0; round < scaled(500); ++round) {
      auto [ctx, cancel] = weft::with_cancel(weft::context::background());
      auto reader = weft::spawn([&, &end = one, &given = ctx] {
        std::error_code error;
        char buffer[4];
        end.read(given, buffer, error);
        return error;
      });
      if (round % 2 == 0) weft::this_goroutine::yield();
      cancel();
      ASSERT_TRUE(reader.wait_for(30s)) << round;
      ASSERT_EQ(reader.join(), std::errc::operation_canceled);
    }
  });
}

TEST_P(NetPipe, files_and_vectors_go_through_it) {
  weft::run([] {
    const int file = memfd_create("weft", MFD_CLOEXEC);
    std::string text(200'000, ' ');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
    ASSERT_EQ(pwrite(file, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    auto [one, other] = net::pipe();
    auto sender = weft::spawn([&, &end = one] {
      const std::uint64_t size = end.send_file(file, 10, 1 << 20);
      end.close_write();
      return size;
    });
    std::string got;
    std::vector<std::byte> head(7), tail(1000);
    const std::array<std::span<std::byte>, 2> both = {head, tail};
    while (const std::size_t size = other.readv(both)) {
      for (std::size_t i = 0; i < size; ++i)
        got += static_cast<char>(i < head.size() ? head[i] : tail[i - head.size()]);
    }
    EXPECT_EQ(sender.join(), text.size() - 10);
    EXPECT_EQ(got, text.substr(10));
    close(file);
  });
}

TEST_P(NetPipe, plain_threads_use_it_too) {
  auto [one, other] = net::pipe();
  std::thread writer([&, &end = one] {
    end.write("from a thread");
    end.close();
  });
  std::string got(64, ' ');
  got.resize(other.read_full(got));
  EXPECT_EQ(got, "from a thread");
  writer.join();
}

}  // namespace
