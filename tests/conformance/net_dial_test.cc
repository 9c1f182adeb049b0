// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/net.h>

#include <array>
#include <string>
#include <vector>

#include "support/sockets.h"

// Dialling, names and addresses. (behaviour NP13)
namespace {

using namespace weft::test;
namespace net = weft::net;

class NetDial : public Net {};
WEFT_AT_ALL_CONFIGURATIONS(NetDial);

TEST_P(NetDial, dialling_fails_with_the_right_error_and_leaves_nothing) {  // NP13
  weft::run([] {
    std::uint16_t free_port;
    {
      net::listener listener = net::listen("tcp", "127.0.0.1:0");
      free_port = listener.port();
    }
    const std::string nobody = "127.0.0.1:" + std::to_string(free_port);
    const int before = count_descriptors();
    for (int i = 0; i < scaled(500); ++i) {
      std::error_code error;
      EXPECT_FALSE(net::dial("tcp", nobody, error));
      EXPECT_EQ(error, std::errc::connection_refused);
    }
    EXPECT_EQ(count_descriptors(), before);
    EXPECT_THROW(net::dial("unix", "/nonexistent/socket"), std::system_error);
    EXPECT_THROW(net::dial("smoke", "x"), std::invalid_argument);
    EXPECT_THROW(net::dial("tcp", "no port"), std::invalid_argument);
    EXPECT_THROW(net::dial("tcp", "::1:80"), std::invalid_argument);

    // A listener whose queue is full answers no more: time-outs and cancellation.
    const int full = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(bind(full, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(full, 0), 0);
    socklen_t size = sizeof address;
    getsockname(full, reinterpret_cast<sockaddr*>(&address), &size);
    const std::string busy = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    std::vector<net::conn> queued;
    std::error_code error;
    for (int i = 0; i < 8 && !error; ++i) {
      net::conn next = net::dial("tcp", busy, 50ms, error);
      if (!error) queued.push_back(std::move(next));
    }
    EXPECT_EQ(error, std::errc::timed_out);
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    auto dialling = weft::spawn([&, &given = ctx] {
      std::error_code cancelled;
      net::dial(given, "tcp", busy, cancelled);
      return cancelled;
    });
    EXPECT_FALSE(dialling.wait_for(5ms));
    cancel();
    EXPECT_EQ(dialling.join(), std::errc::operation_canceled);
    ::close(full);
  });
}

TEST_P(NetDial, dials_names_and_all_their_addresses) {
  weft::run([] {
    const auto addresses = net::lookup_host("localhost");
    ASSERT_FALSE(addresses.empty());
    net::listener listener = net::listen("tcp4", "127.0.0.1:0");
    net::conn connection =
        net::dial("tcp", "localhost:" + std::to_string(listener.port()), 5s);  // ::1 may come first, and refuses
    EXPECT_EQ(connection.remote_address().to_string(), listener.address().to_string());
    net::conn accepted = listener.accept();
    EXPECT_EQ(accepted.remote_address(), connection.local_address());
    std::error_code error;
    EXPECT_TRUE(net::lookup_host("no-such-host.invalid", error).empty());
    EXPECT_TRUE(error);
  });
}

TEST_P(NetDial, comes_from_the_local_address_that_it_is_given) {
  weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    const std::string where = listener.address().to_string();
    std::error_code error;
    {
      net::conn connection = net::dial("tcp", where, {.local_address = "127.0.0.7:0", .timeout = 5s});
      EXPECT_EQ(connection.local_address().host(), "127.0.0.7");
      EXPECT_EQ(listener.accept().remote_address(), connection.local_address());
    }
    {
      std::uint16_t port;
      {
        net::packet_conn free = net::listen_packet("udp", "127.0.0.8:0");
        port = free.port();
      }
      net::conn connection =
          net::dial("udp", "127.0.0.1:9", {.local_address = "127.0.0.8:" + std::to_string(port)}, error);
      EXPECT_EQ(connection.local_address().to_string(), "127.0.0.8:" + std::to_string(port)) << error.message();
    }
    {
      net::conn connection = net::dial("tcp", "localhost:" + std::to_string(listener.port()),
                                       {.local_address = "127.0.0.9:0"}, error);  // ::1 has no way from there
      EXPECT_EQ(connection.local_address().host(), "127.0.0.9") << error.message();
      listener.accept();
    }
    {
      const std::string own = unix_name();
      net::packet_conn server = net::listen_packet("unixgram", unix_name());
      net::conn client = net::dial("unixgram", server.local_address().to_string(), {.local_address = own});
      client.write("?");
      net::address from;
      std::array<char, 8> buffer;
      server.read_from(buffer, from);
      EXPECT_EQ(from.to_string(), own);
      server.write_to("!", from);
      EXPECT_EQ(client.read(buffer), 1u) << "it can be answered";
    }
  });
}

TEST_P(NetDial, options_that_cannot_be_are_errors) {
  weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    const std::string where = listener.address().to_string();
    const int before = count_descriptors();
    const auto error_of = [&](const net::dial_options& options) {
      std::error_code error;
      EXPECT_FALSE(net::dial("tcp", where, options, error));
      return error;
    };
    EXPECT_EQ(error_of({.local_address = "127.0.0.1:99999"}), std::errc::invalid_argument);
    EXPECT_EQ(error_of({.local_address = "nonsense"}), std::errc::invalid_argument);
    EXPECT_EQ(error_of({.local_address = "[::1]:0"}), std::errc::address_family_not_supported);
    EXPECT_EQ(error_of({.local_address = "192.0.2.1:0"}), std::errc::address_not_available);
    EXPECT_EQ(error_of({.local_address = where}), std::errc::address_in_use);
    EXPECT_EQ(error_of({.timeout = 0s}), std::errc::timed_out);
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    cancel();
    std::error_code error;
    EXPECT_FALSE(net::dial(ctx, "tcp", where, {.local_address = "127.0.0.1:0"}, error));
    EXPECT_EQ(error, std::errc::operation_canceled);
    EXPECT_THROW(net::dial(ctx, "tcp", where, net::dial_options{}), std::system_error);
    EXPECT_THROW(net::dial("tcp", where, {.local_address = "x"}), std::invalid_argument);
    EXPECT_EQ(count_descriptors(), before);
    EXPECT_TRUE(net::dial("tcp", where, {}));
  });
}

}  // namespace
