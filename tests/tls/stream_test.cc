// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "tls/tls_fixture.h"

// weft::tls: the bytes that go through a connection.
namespace {

using namespace weft::test;

class TlsStream : public Tls {};
WEFT_AT_ALL_CONFIGURATIONS(TlsStream);

std::string pattern(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 % 251);
  return text;
}

TEST_P(TlsStream, carries_all_sizes_both_ways_at_the_same_time) {
  weft::run([] {
    for (const bool in_memory : {true, false}) {
      TlsPair pair = tls_pair(in_memory);
      const std::vector<std::size_t> sizes = {1, 100, 16'383, 16'384, 16'385, 70'000, 300'000};
      weft::wait_group all;
      for (tls::conn* end : {&pair.client, &pair.server}) {
        all.go([&, end] {
          for (const std::size_t size : sizes) EXPECT_EQ(end->write(pattern(size)), size);
        });
        all.go([&, end] {
          for (const std::size_t size : sizes) {
            std::string got(size, ' ');
            ASSERT_EQ(end->read_full(got), size);
            ASSERT_EQ(got, pattern(size));
          }
        });
      }
      all.wait();
      EXPECT_EQ(pair.client.write(""), 0u);
      EXPECT_EQ(pair.client.read(std::span<std::byte>()), 0u);
    }
  });
}

TEST_P(TlsStream, writes_of_many_goroutines_stay_whole) {
  weft::run([] {
    TlsPair pair = tls_pair();
    const int each = scaled(50);
    weft::wait_group all;
    for (char letter : {'a', 'b', 'c'})
      all.go([&, letter] {
        const std::string block(40'000, letter);
        const std::span<const std::byte> parts[] = {bytes(block).first(1), {}, bytes(block).subspan(1)};
        for (int i = 0; i < each; ++i) i % 2 == 0 ? pair.client.write_all(block) : pair.client.writev(parts);
      });
    std::string block(40'000, ' ');
    for (int i = 0; i < 3 * each; ++i) {
      ASSERT_EQ(pair.server.read_full(block), block.size());
      ASSERT_EQ(block, std::string(block.size(), block[0])) << "two writes are mixed";
    }
    all.wait();
  });
}

TEST_P(TlsStream, the_end_needs_a_close_notify) {
  weft::run([] {
    for (const bool in_memory : {true, false}) {
      char byte[1];
      {
        TlsPair pair = tls_pair(in_memory);
        auto closing = weft::spawn([&] { pair.client.close(); });
        EXPECT_EQ(pair.server.read(byte), 0u);
        EXPECT_EQ(pair.server.read(byte), 0u) << "and so it stays";
        closing.join();
      }
      // The transport ends without it: what an attacker can do, too.
      auto [one, other] = plain_ends(in_memory);
      auto [near, far] = plain_ends(in_memory);
      std::atomic<bool> cut{false};
      weft::wait_group relays;
      const auto relay = [](net::conn& from, net::conn& to) {
        std::array<char, 4096> buffer;
        std::error_code error;
        while (const std::size_t size = from.read(buffer, error)) {
          to.write(std::span(buffer).first(size), error);
          if (error) break;
        }
      };
      relays.go([&, &a = other, &b = far] { relay(a, b); });
      relays.go([&, &a = other, &b = far] { relay(b, a); });
      TlsPair pair{tls::conn(std::move(one), client_config(), tls::role::client),
                   tls::conn(std::move(near), server_config(), tls::role::server)};
      EXPECT_FALSE(greet(pair).client);
      other.close();
      far.close();
      std::error_code error;
      EXPECT_EQ(pair.server.read(byte, error), 0u);
      EXPECT_EQ(error, tls::errc::truncated) << error.message();
      EXPECT_THROW(pair.client.read(byte), std::system_error);
      pair.client.close();
      pair.server.close();
      relays.wait();
    }
  });
}

TEST_P(TlsStream, one_direction_can_be_closed_alone) {
  weft::run([] {
    for (const bool in_memory : {true, false}) {
      TlsPair pair = tls_pair(in_memory);
      auto closing = weft::spawn([&] {
        pair.client.write("last");
        pair.client.close_write();
      });
      std::string got(10, ' ');
      EXPECT_EQ(pair.server.read_full(got), 4u);
      closing.join();
      std::error_code error;
      EXPECT_EQ(pair.client.write("x", error), 0u);
      EXPECT_EQ(error, std::errc::broken_pipe);
      auto answer = weft::spawn([&] {
        pair.server.write(pattern(50'000));
        pair.server.close_write();
      });
      std::string back(60'000, ' ');
      back.resize(pair.client.read_full(back));
      EXPECT_EQ(back, pattern(50'000));
      answer.join();
    }
  });
}

TEST_P(TlsStream, deadlines_and_contexts_lose_nothing) {
  weft::run([] {
    for (const bool in_memory : {true, false}) {
      TlsPair pair = tls_pair(in_memory);
      std::error_code error;
      char byte[1];
      pair.client.set_read_deadline(Clock::now() + 2ms);
      EXPECT_EQ(pair.client.read(byte, error), 0u);
      EXPECT_EQ(error, std::errc::timed_out);
      pair.client.set_read_deadline(weft::time_point::max());
      auto [ctx, cancel] = weft::with_timeout(weft::context::background(), 2ms);
      EXPECT_EQ(pair.client.read(ctx, byte, error), 0u);
      EXPECT_EQ(error, std::errc::timed_out);
      EXPECT_THROW(pair.client.read(ctx, byte), std::system_error);

      // Writes that nobody reads end at the deadline; the bytes they took over come whole and in order.
      const std::string text = pattern(1'000'000);
      std::string sent;
      pair.client.set_write_deadline(Clock::now() + 5ms);
      do {
        const std::size_t size = pair.client.write(text, error);
        sent += text.substr(0, size);
      } while (!error);
      EXPECT_EQ(error, std::errc::timed_out);
      pair.client.set_write_deadline(weft::time_point::max());
      auto reader = weft::spawn([&] {
        std::string got, block(65'536, ' ');
        while (const std::size_t size = pair.server.read(block)) got += block.substr(0, size);
        return got;
      });
      pair.client.write("end");
      pair.client.close_write();
      EXPECT_TRUE(reader.join() == sent + "end");
    }
  });
}

TEST_P(TlsStream, close_wakes_what_waits_on_both_sides) {
  weft::run([] {
    for (const bool in_memory : {true, false}) {
      TlsPair pair = tls_pair(in_memory);
      auto reader = weft::spawn([&] {
        std::error_code error;
        char byte[1];
        pair.client.read(byte, error);
        return error;
      });
      auto second = weft::spawn([&] {
        std::error_code error;
        char byte[1];
        pair.client.read(byte, error);
        return error;
      });
      auto writer = weft::spawn([&] {
        std::error_code error;
        const std::string block(1'000'000, 'x');
        while (!error) pair.client.write(block, error);
        return error;
      });
      EXPECT_FALSE(writer.wait_for(5ms));
      EXPECT_FALSE(reader.ready());
      pair.client.close();
      EXPECT_EQ(reader.join(), std::errc::bad_file_descriptor);
      EXPECT_EQ(second.join(), std::errc::bad_file_descriptor);
      EXPECT_EQ(writer.join(), std::errc::bad_file_descriptor);
      std::error_code error;
      EXPECT_EQ(pair.client.write("x", error), 0u);
      EXPECT_EQ(error, std::errc::bad_file_descriptor);
    }
  });
}

TEST_P(TlsStream, a_reader_and_files_work_with_it) {
  weft::run([] {
    TlsPair pair = tls_pair();
    const std::string text = pattern(200'000);
    const int file = memfd_create("weft", MFD_CLOEXEC);
    ASSERT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    auto sender = weft::spawn([&] {
      pair.client.write("GET /\r\n\r\n");
      EXPECT_EQ(pair.client.send_file(file, 100, 1 << 20), text.size() - 100);
      pair.client.close_write();
    });
    net::reader reader(pair.server);
    EXPECT_EQ(reader.read_line(), "GET /");
    EXPECT_EQ(reader.read_line(), "");
    std::string body(text.size() - 100, ' ');
    reader.read_exact(body);
    EXPECT_EQ(body, text.substr(100));
    EXPECT_EQ(reader.read_line(), std::nullopt);
    sender.join();
    close(file);
  });
}

TEST_P(TlsStream, two_hundred_connections_at_once) {
  weft::run([] {
    tls::listener listener = tls::listen("tcp", "127.0.0.1:0", server_config());
    auto serve = weft::spawn([&] {
      weft::wait_group served;
      std::error_code error;
      for (;;) {
        tls::conn connection = listener.accept(error);
        if (error) break;
        served.go([connection = std::move(connection)]() mutable {
          std::error_code failure;
          net::reader reader(connection);
          while (const auto line = reader.read_line(100, failure))
            connection.write(std::string(*line) + "!\n", failure);
        });
      }
      served.wait();
    });
    const int count = scaled(200);
    std::atomic<int> right{0};
    weft::wait_group all;
    for (int i = 0; i < count; ++i)
      all.go([&, i] {
        tls::conn connection = tls::dial("tcp", listener.address().to_string(), client_config(), 60s);
        net::reader reader(connection);
        for (int k = 0; k < 3; ++k) {
          const std::string line = std::to_string(i) + "." + std::to_string(k);
          connection.write(line + "\n");
          right += reader.read_line() == line + "!";
        }
      });
    all.wait();
    EXPECT_EQ(right, 3 * count);
    listener.close();
    serve.join();
  });
}

}  // namespace
