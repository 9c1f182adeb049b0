// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <sys/mman.h>
#include <unistd.h>
#include <weft/net.h>

#include <array>
#include <functional>
#include <vector>

#include "support/sockets.h"

// Contexts that are cancelled while calls wait.
namespace {

using namespace weft::test;
namespace net = weft::net;

class NetContext : public Net {};
WEFT_AT_ALL_CONFIGURATIONS(NetContext);

TEST_P(NetContext, a_cancelled_context_interrupts_calls) {
  weft::run([] {
    Pair pair = connect_pair();
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    auto reader = weft::spawn([&, &given = ctx] {
      std::array<std::byte, 8> buffer;
      std::error_code error;
      pair.server.read(given, buffer, error);
      return error;
    });
    auto queued = weft::spawn([&, &given = ctx] {
      std::array<std::byte, 8> buffer;
      std::error_code error;
      pair.server.read(given, buffer, error);
      return error;
    });
    EXPECT_FALSE(reader.wait_for(3ms));
    cancel();
    EXPECT_EQ(reader.join(), std::errc::operation_canceled);
    EXPECT_EQ(queued.join(), std::errc::operation_canceled);
    pair.client.write("still there");
    EXPECT_FALSE(error_of_read(pair.server));
    auto [timed, cancel_timed] = weft::with_timeout(weft::context::background(), 5ms);
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    std::error_code error;
    listener.accept(timed, error);
    EXPECT_EQ(error, std::errc::timed_out);
    cancel_timed();
  });
}

TEST_P(NetContext, every_call_has_a_form_that_a_context_interrupts) {
  weft::run([] {
    const int file = memfd_create("weft", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, 64 << 20), 0);
    using Call = std::function<void(const weft::context&, net::conn&, std::error_code&)>;
    static std::array<std::byte, 1 << 16> block;
    const Call calls[] = {
        [](auto& ctx, auto& connection, auto& error) { connection.read_full(ctx, block, error); },
        [](auto& ctx, auto& connection, auto& error) {
          const std::span<std::byte> parts[] = {std::span(block).first(8), std::span(block).last(8)};
          connection.readv(ctx, parts, error);
        },
        [](auto& ctx, auto& connection, auto& error) {
          const std::vector<std::span<const std::byte>> parts(1000, std::span<const std::byte>(block));
          connection.writev(ctx, parts, error);
        },
        [&](auto& ctx, auto& connection, auto& error) { connection.send_file(ctx, file, 0, 64 << 20, error); },
    };
    for (const Call& call : calls) {
      Pair pair = connect_pair();
      pair.client.write("some");  // a whole buffer never comes, and nobody reads
      if (&call == &calls[1]) pair.server.read(std::span(block));
      auto [ctx, cancel] = weft::with_cancel(weft::context::background());
      auto caller = weft::spawn([&, &given = ctx] {
        std::error_code error;
        call(given, pair.server, error);
        return error;
      });
      EXPECT_FALSE(caller.wait_for(20ms));
      cancel();
      EXPECT_EQ(caller.join(), std::errc::operation_canceled);
    }
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    cancel();
    net::packet_conn packets = net::listen_packet("udp", "127.0.0.1:0");
    std::error_code error;
    packets.write_to(ctx, bytes("x"), packets.local_address(), error);
    EXPECT_EQ(error, std::errc::operation_canceled);
    close(file);
  });
}

}  // namespace
