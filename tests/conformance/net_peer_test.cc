// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <sys/socket.h>
#include <weft/net.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "support/process.h"
#include "support/sockets.h"

// Peers that break off, dawdle or do not read. (fault F34)
namespace {

using namespace weft::test;
namespace net = weft::net;

class NetPeer : public Net {};
WEFT_AT_ALL_CONFIGURATIONS(NetPeer);

std::span<std::byte> room(std::string& text) { return std::as_writable_bytes(std::span(text)); }

TEST_P(NetPeer, one_that_ends_in_the_middle_of_a_message_is_noticed) {
  weft::run([] {
    for (const bool resets : {false, true}) {
      for (int round = 0; round < 20; ++round) {
        Pair pair = connect_pair();
        pair.server.set_read_deadline(Clock::now() + 30s);
        std::string message(1000, ' ');
        std::error_code error;
        auto reader = weft::spawn([&] { return pair.server.read_full(room(message), error); });
        pair.client.write(std::string(400, 'h'));
        if (round % 2 == 0) weft::this_goroutine::sleep_for(200us);
        if (resets) pair.client.set_linger(0s);
        pair.client.close();
        const std::size_t got = reader.join();
        if (resets) {
          EXPECT_EQ(error, std::errc::connection_reset);
          EXPECT_LE(got, 400u);  // what had not been read is gone
        } else {
          EXPECT_FALSE(error);
          EXPECT_EQ(got, 400u);
        }
        EXPECT_EQ(message.substr(0, got), std::string(got, 'h'));
      }
    }
  });
}

TEST_P(NetPeer, one_that_sends_single_bytes_is_understood) {
  weft::run([] {
    Pair pair = connect_pair();
    std::string text;
    for (int i = 0; i < scaled(3000); ++i) text += static_cast<char>('a' + i % 23);
    auto sender = weft::spawn([&] {
      for (std::size_t i = 0; i < text.size(); ++i) {
        pair.client.write(std::string_view(text).substr(i, 1));
        if (i % 100 == 0) weft::this_goroutine::sleep_for(50us);
      }
      pair.client.close_write();
    });
    std::string got, part(64, ' ');
    while (const std::size_t size = pair.server.read(room(part))) got.append(part, 0, size);
    sender.join();
    EXPECT_EQ(got, text);
  });
}

// Its window closes: writing stops after what the kernel holds, costs no memory of ours, and goes on when it reads again.
TEST_P(NetPeer, one_that_reads_nothing_stops_the_writer_and_nobody_else) {
  weft::run([] {
    Pair pair = connect_pair(), other = connect_pair();
    pair.client.set_read_buffer(65'536);
    pair.server.set_write_buffer(65'536);
    const std::string piece(65'536, 'p');
    const std::size_t before = resident_bytes();
    std::atomic<std::size_t> written{0};
    std::atomic<bool> stop{false};
    auto writer = weft::spawn([&] {
      std::error_code error;
      while (!error && !stop) written += pair.server.write(piece, error);
      return error;
    });
    std::size_t seen = 0;
    EXPECT_TRUE(spin_until([&] {
      const std::size_t last = std::exchange(seen, written);
      weft::this_goroutine::sleep_for(20ms);
      return seen != 0 && last == seen && written == seen;
    }));
    EXPECT_LT(seen, 32u << 20);
    if (!kSanitized) {
      EXPECT_LT(resident_bytes(), before + (16u << 20));
    }
    std::string back(2, ' ');
    other.client.write("hi");  // the others are served meanwhile
    EXPECT_EQ(other.server.read_full(room(back)), 2u);
    pair.server.set_write_deadline(Clock::now() + 5ms);
    EXPECT_EQ(writer.join(), std::errc::timed_out);
    pair.server.set_write_deadline(weft::time_point::max());
    auto again = weft::spawn([&] {
      std::error_code error;
      written += pair.server.write(piece, error);
      EXPECT_FALSE(error);
      pair.server.close_write();
    });
    EXPECT_FALSE(again.wait_for(20ms));
    std::size_t read = 0;
    std::string part(100'000, ' ');
    while (const std::size_t size = pair.client.read(room(part))) read += size;
    again.join();
    EXPECT_EQ(read, written);
  });
}

}  // namespace
