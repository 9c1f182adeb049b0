// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <sys/mman.h>
#include <weft/io.h>
#include <weft/net.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "support/sockets.h"

// What reads fill and writes take: bytes and characters, in spans, arrays, vectors and strings, with and without a context.
namespace {

using namespace weft::test;
using namespace std::string_view_literals;
namespace net = weft::net;

class NetBuffer : public Net {};
WEFT_AT_ALL_CONFIGURATIONS(NetBuffer);

TEST_P(NetBuffer, writes_take_every_kind_of_bytes_and_text) {
  weft::run([] {
    Pair pair = connect_pair();
    net::conn& out = pair.client;
    const weft::context ctx = weft::context::background();
    const std::vector<char> characters{'a', 'b'};
    const std::vector<std::byte> raw{std::byte{'c'}};
    std::vector<unsigned char> octets{'d', 'e'};
    std::array<char, 2> array{'f', 'g'};
    std::string text = "hi";
    const char* pointer = "jk";
    char printed[16];
    std::snprintf(printed, sizeof printed, "l%d", 1);
    std::error_code error;
    out.write_all(characters);
    out.write_all(raw, error);
    out.write_all(ctx, octets);
    EXPECT_EQ(out.write_all(ctx, array, error), 2u);
    EXPECT_EQ(out.write(text), 2u);
    EXPECT_EQ(out.write(pointer, error), 2u);
    EXPECT_EQ(out.write(ctx, printed), 2u) << "an array of characters ends at its null byte";
    EXPECT_EQ(out.write(ctx, "mn", error), 2u);
    out.write_all("op");
    out.write_all(std::span<const char>(text));
    out.write_all(std::span<char>(array));
    out.write_all(std::string("q"));
    EXPECT_EQ(out.write("\0r"sv), 2u) << "a string_view has its own length";
    out.write_all({pointer, 1});
    out.close();
    std::string got(64, ' ');
    got.resize(pair.server.read_full(got));
    EXPECT_EQ(got, "abcdefghijkl1mnophifgq\0rj"sv);
  });
}

TEST_P(NetBuffer, reads_fill_every_kind_of_bytes) {
  weft::run([] {
    Pair pair = connect_pair();
    const weft::context ctx = weft::context::background();
    std::error_code error;
    pair.client.write("abcdefghijklmnop");
    char plain[1];
    unsigned char octets[1];
    std::array<std::byte, 1> array;
    std::vector<char> characters(1);
    std::string text(1, ' ');
    EXPECT_EQ(pair.server.read(plain), 1u);
    EXPECT_EQ(pair.server.read(octets, error), 1u);
    EXPECT_EQ(pair.server.read(ctx, array), 1u);
    EXPECT_EQ(pair.server.read(ctx, std::span<char>(characters), error), 1u);
    EXPECT_EQ(pair.server.read_full(text), 1u);
    EXPECT_EQ(
        std::string({plain[0], static_cast<char>(octets[0]), static_cast<char>(array[0]), characters[0], text[0]}),
        "abcde");
    EXPECT_EQ(pair.server.read_full(std::span<char>(plain), error), 1u);
    EXPECT_EQ(pair.server.read_full(ctx, std::span<char>(text)), 1u);
    EXPECT_EQ(pair.server.read_full(ctx, characters, error), 1u);
    EXPECT_EQ(std::string({plain[0], text[0], characters[0]}), "fgh");
    EXPECT_EQ(pair.server.read({plain, 1}), 1u);
    EXPECT_EQ(pair.server.read(std::as_writable_bytes(std::span(text))), 1u);
  });
}

TEST_P(NetBuffer, datagrams_and_files_take_them_too) {
  weft::run([] {
    net::packet_conn in = net::listen_packet("udp", "127.0.0.1:0"), out = net::listen_packet("udp", "127.0.0.1:0");
    const weft::context ctx = weft::context::background();
    net::address from;
    std::error_code error;
    std::string got(8, ' ');
    out.write_to("text", in.local_address());
    EXPECT_EQ(in.read_from(got, from), 4u);
    out.write_to(ctx, std::vector<char>{'x'}, in.local_address());
    EXPECT_EQ(in.read_from(ctx, std::span<char>(got), from), 1u);
    out.write_to(ctx, "yz", in.local_address(), error);
    EXPECT_EQ(in.read_from(ctx, got, from, error), 2u);
    EXPECT_EQ(got, "yzxt    ");
    EXPECT_EQ(from, out.local_address());
    weft::io::file file(memfd_create("weft", MFD_CLOEXEC));
    EXPECT_EQ(file.write(std::vector<char>{'a', 'b'}), 2u);
    EXPECT_EQ(file.write("cd", error), 2u);
    EXPECT_EQ(file.write_at(1, "B"), 1u);
    EXPECT_EQ(file.read_at(0, got), 4u);
    EXPECT_EQ(got, "aBcd    ");
    char one[1];
    EXPECT_EQ(file.read_at(3, one, error), 1u);
    EXPECT_EQ(one[0], 'd');
  });
}

TEST_P(NetBuffer, a_context_interrupts_reads_and_writes_of_characters) {
  weft::run([] {
    Pair pair = connect_pair();
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    auto reader = weft::spawn([&, &given = ctx] {
      std::error_code error;
      char buffer[4];
      pair.server.read_full(given, buffer, error);
      return error;
    });
    EXPECT_FALSE(reader.wait_for(3ms));
    cancel();
    EXPECT_EQ(reader.join(), std::errc::operation_canceled);
    EXPECT_THROW(pair.client.write(ctx, "x"), std::system_error);
    std::array<std::byte, 1> one{};
    const std::span<std::byte> room[] = {one};
    const std::span<const std::byte> data[] = {one};
    EXPECT_THROW(pair.server.readv(ctx, room), std::system_error);
    EXPECT_THROW(pair.client.writev(ctx, data), std::system_error);
    EXPECT_THROW(pair.client.send_file(ctx, 0, 0, 1), std::system_error);
    const weft::context living = weft::context::background();
    pair.client.writev(living, data);
    EXPECT_EQ(pair.server.readv(living, room), 1u);
  });
}

// What only looks like a buffer does not compile.
template <class Buffer>
concept readable = requires(net::conn& connection, Buffer buffer) { connection.read(static_cast<Buffer>(buffer)); };
template <class Buffer>
concept writable =
    requires(net::conn& connection, Buffer buffer) { connection.write_all(static_cast<Buffer>(buffer)); };
static_assert(readable<std::span<std::byte>> && readable<std::span<char>> && readable<std::vector<char>&>);
static_assert(!readable<const std::vector<char>&> && !readable<std::string_view> && !readable<std::vector<int>&>);
static_assert(!readable<std::vector<char>&&>, "the bytes would be lost");
static_assert(writable<std::string_view> && writable<const std::vector<char>&> && writable<std::span<const std::byte>>);
static_assert(!writable<const std::vector<int>&> && !writable<int>);

}  // namespace
