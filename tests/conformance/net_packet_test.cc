// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <weft/net.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "support/sockets.h"

// Datagrams. (behaviours NP10, NP16)
namespace {

using namespace weft::test;
namespace net = weft::net;

class NetPacket : public Net {};
WEFT_AT_ALL_CONFIGURATIONS(NetPacket);

TEST_P(NetPacket, datagrams_arrive_whole_also_empty_ones) {  // NP10
  weft::run([] {
    for (const char* network : {"udp", "udp6", "unixgram"}) {
      const bool is_unix = network[0] == 'u' && network[1] == 'n';
      const auto where = [&] {
        return is_unix ? unix_name() : std::string(network) == "udp6" ? "[::1]:0" : "127.0.0.1:0";
      };
      std::error_code error;
      net::packet_conn one = net::listen_packet(network, where(), error);
      if (error) continue;  // no IPv6 here
      net::packet_conn two = net::listen_packet(network, where());
      std::array<std::byte, 64> buffer;
      net::address from;
      for (const char* text : {"", "hello", ""}) {
        one.write_to(bytes(text), two.local_address());
        EXPECT_EQ(two.read_from(buffer, from), std::string_view(text).size());
        EXPECT_EQ(from, one.local_address());
      }
      two.set_read_deadline(Clock::now());
      EXPECT_THROW(two.read_from(buffer, from), std::system_error);
    }
  });
}

TEST_P(NetPacket, each_datagram_goes_to_one_of_100_readers) {  // NP16
  weft::run([] {
    net::packet_conn in = net::listen_packet("udp", "127.0.0.1:0"), out = net::listen_packet("udp", "127.0.0.1:0");
    const int count = scaled(1000);
    std::atomic<int> received{0};
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
    weft::wait_group readers;
    for (int i = 0; i < 100; ++i)
      readers.go([&] {
        for (;;) {
          std::uint32_t number = 0;
          net::address from;
          std::error_code error;
          const std::size_t size = in.read_from(std::as_writable_bytes(std::span(&number, 1)), from, error);
          if (error) return;
          if (size == sizeof number && number < seen.size()) ++seen[number];
          ++received;
        }
      });
    for (std::uint32_t i = 0; i < seen.size(); ++i) {
      out.write_to(std::as_bytes(std::span(&i, 1)), in.local_address());
      const bool pause = i % 50 == 49;  // keep the queue short
      EXPECT_TRUE(!pause || spin_until([&] { return received > static_cast<int>(i); }));
    }
    EXPECT_TRUE(spin_until([&] { return received == count; }));
    in.close();
    readers.wait();
    for (const auto& each : seen) EXPECT_EQ(each, 1);
  });
}

}  // namespace
