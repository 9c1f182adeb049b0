// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/net.h>

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

}  // namespace
