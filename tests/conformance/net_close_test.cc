// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <weft/net.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "support/sockets.h"

// Closing, half-closing and resets, and who waits meanwhile. (behaviours NP07-NP10, NP16, NP19)
namespace {

using namespace weft::test;
namespace net = weft::net;

class NetClose : public Net {};
WEFT_AT_ALL_CONFIGURATIONS(NetClose);

TEST_P(NetClose, closing_wakes_a_reader) {  // NP07
  weft::run([] {
    for (const char* network : {"tcp", "unix"}) {
      for (int i = 0; i < scaled(300); ++i) {
        Pair pair = connect_pair(network);
        auto reader = weft::spawn([&] { return error_of_read(pair.server); });
        if (i % 3 == 0) weft::this_goroutine::yield();
        if (i % 100 == 50) weft::this_goroutine::sleep_for(1ms);
        pair.server.close();
        EXPECT_EQ(reader.join(), std::errc::bad_file_descriptor);
        EXPECT_EQ(error_of_read(pair.server), std::errc::bad_file_descriptor);
      }
    }
    for (int i = 0; i < scaled(300); ++i) {
      net::packet_conn socket = net::listen_packet("udp", "127.0.0.1:0");
      auto reader = weft::spawn([&] {
        std::array<std::byte, 8> buffer;
        net::address from;
        std::error_code error;
        socket.read_from(buffer, from, error);
        return error;
      });
      if (i % 2 == 0) weft::this_goroutine::yield();
      socket.close();
      EXPECT_EQ(reader.join(), std::errc::bad_file_descriptor);
    }
    Pair pair = connect_pair();
    pair.client.close();
    try {
      pair.client.write("x");
      ADD_FAILURE() << "a closed connection was written to";
    } catch (const std::system_error& error) {
      EXPECT_NE(std::string(error.what()).find("use of closed connection"), std::string::npos) << error.what();
    }
  });
}

TEST_P(NetClose, closing_a_listener_ends_all_acceptors) {  // NP08
  weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    std::atomic<int> ended{0};
    weft::wait_group all;
    for (int i = 0; i < 10; ++i)
      all.go([&] {
        std::error_code error;
        listener.accept(error);
        if (error == std::errc::bad_file_descriptor) ++ended;
      });
    weft::this_goroutine::sleep_for(2ms);
    listener.close();
    all.wait();
    EXPECT_EQ(ended, 10);
  });
}

TEST_P(NetClose, half_closing_lets_the_other_half_go_on) {  // NP09, NP10
  weft::run([] {
    for (const char* network : {"tcp", "unix"}) {
      Pair pair = connect_pair(network);
      pair.client.write("question");
      pair.client.close_write();
      EXPECT_THROW(pair.client.write("more"), std::system_error);
      std::array<char, 64> buffer;
      std::string question;
      while (const std::size_t size = pair.server.read(std::span<char>(buffer))) question.append(buffer.data(), size);
      EXPECT_EQ(question, "question");
      pair.server.write("answer");
      pair.server.close();
      std::string answer;
      while (const std::size_t size = pair.client.read(std::span<char>(buffer))) answer.append(buffer.data(), size);
      EXPECT_EQ(answer, "answer");
    }
    Pair pair = connect_pair();
    EXPECT_EQ(pair.server.read(std::span<std::byte>()), 0u);
  });
}

TEST_P(NetClose, a_reset_wakes_reader_and_writer) {  // NP16, NP19
  weft::run([] {
    Pair pair = connect_pair();
    auto reader = weft::spawn([&] { return error_of_read(pair.server); });
    auto writer = weft::spawn([&] {
      const std::vector<std::byte> much(1 << 20);
      std::error_code error;
      while (!error) pair.server.write_all(much, error);
      return error;
    });
    EXPECT_FALSE(writer.wait_for(5ms));
    pair.client.set_linger(0s);
    pair.client.close();
    const std::error_code seen = reader.join();  // the kernel tells once: behind the writer it is the end of the stream
    EXPECT_TRUE(!seen || seen == std::errc::connection_reset) << seen.message();
    const std::error_code error = writer.join();
    EXPECT_TRUE(error == std::errc::broken_pipe || error == std::errc::connection_reset) << error.message();
  });
}

}  // namespace
