// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <sys/stat.h>
#include <unistd.h>
#include <weft/net.h>

#include <array>
#include <string>
#include <vector>

#include "support/sockets.h"

// Connections of packets.
namespace {

using namespace weft::test;
namespace net = weft::net;

class NetUnixpacket : public Net {};
WEFT_AT_ALL_CONFIGURATIONS(NetUnixpacket);

TEST_P(NetUnixpacket, reads_get_one_packet_each) {
  weft::run([] {
    net::listener listener = net::listen("unixpacket", unix_name());
    net::conn client = net::dial("unixpacket", listener.address().to_string());
    net::conn server = listener.accept();
    for (const char* text : {"one", "three", "two"}) client.write(text);
    std::array<char, 4> buffer;
    EXPECT_EQ(server.read(buffer), 3u);
    EXPECT_EQ(server.read(buffer), 4u) << "what does not fit is lost";
    EXPECT_EQ(std::string(buffer.data(), 4), "thre");
    EXPECT_EQ(server.read(buffer), 3u);
    EXPECT_EQ(std::string(buffer.data(), 3), "two");
    const std::vector<std::span<const std::byte>> parts = {bytes("a"), bytes("bc")};
    client.writev(parts);
    EXPECT_EQ(server.read(buffer), 3u) << "one packet";
    client.close();
    EXPECT_EQ(server.read(buffer), 0u);
  });
}

TEST_P(NetUnixpacket, waits_for_packets_deadlines_and_contexts) {
  weft::run([] {
    net::listener listener = net::listen("unixpacket", unix_name());
    net::conn client = net::dial("unixpacket", listener.address().to_string(), 5s);
    net::conn server = listener.accept();
    auto reader = weft::spawn([&] {
      std::array<char, 64> buffer;
      return server.read(buffer);
    });
    EXPECT_FALSE(reader.wait_for(2ms));
    client.write("now");
    EXPECT_EQ(reader.join(), 3u);
    server.set_read_deadline(Clock::now() + 3ms);
    EXPECT_EQ(error_of_read(server), std::errc::timed_out);
    // Nobody reads: the writer waits until its context ends.
    auto [ctx, cancel] = weft::with_timeout(weft::context::background(), 20ms);
    std::error_code error;
    const std::vector<char> block(8192);
    while (!error) client.write_all(ctx, block, error);
    EXPECT_EQ(error, std::errc::timed_out);
    cancel();
  });
}

TEST_P(NetUnixpacket, paths_are_made_and_removed_and_streams_do_not_fit) {
  weft::run([] {
    const std::string path = "/tmp/weft-packet-" + std::to_string(getpid());
    unlink(path.c_str());
    net::listener listener = net::listen("unixpacket", path);
    struct stat status;
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    std::error_code error;
    EXPECT_FALSE(net::dial("unix", path, error));
    EXPECT_TRUE(error) << "a stream";
    EXPECT_TRUE(net::dial("unixpacket", path, error)) << error.message();
    listener.close();
    EXPECT_NE(stat(path.c_str(), &status), 0);
    EXPECT_EQ(net::parse_address("unixpacket", path).to_string(), path);
  });
}

}  // namespace
