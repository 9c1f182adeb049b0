// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <weft/net.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/sockets.h"

// net::reader: lines, parts and exact numbers of bytes, over sockets and net::pipe().
namespace {

using namespace weft::test;
namespace net = weft::net;
using Line = std::optional<std::string_view>;

class NetReader : public Net {};
WEFT_AT_ALL_CONFIGURATIONS(NetReader);

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The ends of a connection, of which the second gets `text` in writes of `piece` bytes and then the end of the stream.
class Sent {
 public:
  explicit Sent(std::string text, std::size_t piece = SIZE_MAX, bool in_memory = true) {
    if (in_memory) {
      std::tie(out_, in) = net::pipe();
    } else {
      Pair pair = connect_pair();
      out_ = std::move(pair.client);
      in = std::move(pair.server);
    }
    writer_ = weft::spawn([this, text = std::move(text), piece] {
      std::error_code error;  // the reader may leave before it has read all
      for (std::size_t at = 0; at < text.size() && !error; at += std::min(piece, text.size() - at))
        out_.write(std::string_view(text).substr(at, piece), error);
      if (!error) out_.close_write();
    });
  }
  ~Sent() {
    in.close();
    writer_.join();
  }
  net::conn in;

 private:
  net::conn out_;
  weft::task<void> writer_;
};

TEST_P(NetReader, lines_come_without_their_ends_however_the_bytes_arrive) {
  weft::run([] {
    const std::string text = "one\r\ntwo\n\n\r\n a\rb \n\r\r\nlast";
    for (const bool in_memory : {true, false})
      for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{3}, text.size()}) {
        Sent sent(text, piece, in_memory);
        net::reader reader(sent.in, 1);
        std::vector<std::string> lines;
        while (const Line line = reader.read_line()) {
          lines.emplace_back(*line);
          EXPECT_EQ(reader.ended(), lines.back() != "last") << lines.back();
        }
        EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "", "", " a\rb ", "\r", "last"})) << piece;
        EXPECT_EQ(reader.read_line(), std::nullopt) << "and so it stays";
      }
  });
}

TEST_P(NetReader, an_empty_stream_has_no_line_and_no_byte) {
  weft::run([] {
    Sent sent("");
    net::reader reader(sent.in);
    char buffer[4];
    EXPECT_EQ(reader.read_line(), std::nullopt);
    EXPECT_EQ(reader.read_until(' '), std::nullopt);
    EXPECT_TRUE(reader.peek(1).empty());
    EXPECT_EQ(reader.read(buffer), 0u);
    reader.read_exact(std::span<char>());
    std::error_code error;
    EXPECT_EQ(reader.read_exact(buffer, error), 0u);
    EXPECT_EQ(error, net::stream_errc::unexpected_end);
  });
}

TEST_P(NetReader, a_line_may_have_exactly_the_limit) {
  weft::run([] {
    for (const char* end : {"\n", "\r\n"})
      for (const std::size_t limit : {0u, 1u, 15u, 16u, 17u, 33u}) {
        const std::string whole(limit, 'x');
        Sent sent(whole + end + whole + "y" + end + whole, 5);
        net::reader reader(sent.in, 16);
        EXPECT_EQ(reader.read_line(limit), whole) << limit;
        std::error_code error;
        EXPECT_EQ(reader.read_line(limit, error), std::nullopt) << limit;
        EXPECT_EQ(error, std::errc::message_size);
        EXPECT_EQ(error, net::stream_errc::too_long);
        EXPECT_EQ(reader.read_line(limit + 1), whole + "y") << "nothing of it was consumed";
        EXPECT_EQ(reader.read_line(limit), limit == 0 ? Line() : whole) << "ended by the stream";
      }
    Sent sent("abc\r", 1);
    net::reader reader(sent.in);
    EXPECT_THROW(reader.read_line(3), std::system_error) << "a \\r without \\n belongs to the line";
    EXPECT_EQ(reader.read_line(4), "abc\r");
  });
}

// Who sends no end of line must not fill the memory: the limit counts before the end has come.
TEST_P(NetReader, a_line_without_end_fails_at_the_limit_and_not_later) {
  weft::run([] {
    auto [out, in] = net::pipe();
    auto writer = weft::spawn([&, &end = out] {
      std::uint64_t sent = 0;
      std::error_code error;
      for (const std::string block(100, 'x'); !error && sent < 1'000'000;) sent += end.write(block, error);
      return sent;
    });
    net::reader reader(in, 64);
    EXPECT_THROW(reader.read_line(1000), std::system_error);
    EXPECT_LE(reader.buffered().size(), 2048u);
    in.close();
    EXPECT_LE(writer.join(), 2100u);
  });
}

TEST_P(NetReader, lines_may_be_longer_than_the_buffer) {
  weft::run([] {
    std::string text;
    std::vector<std::string> wanted;
    for (std::size_t size : {100u, 5u, 70'000u, 16u, 0u, 300'000u, 3u}) {
      wanted.emplace_back(size, static_cast<char>('a' + wanted.size()));
      text += wanted.back() + "\n";
    }
    Sent sent(text, 4099, false);
    net::reader reader(sent.in, 32);
    for (const std::string& line : wanted) EXPECT_EQ(reader.read_line(1 << 20), line);
    EXPECT_EQ(reader.read_line(), std::nullopt);
    Sent endless(text);
    net::reader unlimited(endless.in);
    for (const std::string& line : wanted)
      EXPECT_EQ(unlimited.read_line(std::numeric_limits<std::size_t>::max()), line);
  });
}

TEST_P(NetReader, parts_end_with_any_character) {
  weft::run([] {
    Sent sent(std::string("key=value;;a\0b\xff;end\r", 20), 4);
    net::reader reader(sent.in);
    EXPECT_EQ(reader.read_until('='), "key");
    EXPECT_EQ(reader.read_until(';'), "value");
    EXPECT_EQ(reader.read_until(';'), "");
    EXPECT_EQ(reader.read_until('\0'), "a");
    EXPECT_EQ(reader.read_until('\xff'), "b");
    EXPECT_EQ(reader.read_until(';'), "");
    std::error_code error;
    EXPECT_EQ(reader.read_until(';', 3, error), std::nullopt);
    EXPECT_EQ(error, net::stream_errc::too_long);
    EXPECT_EQ(reader.read_until(';', 4, error), "end\r") << "only lines lose a \\r";
    EXPECT_FALSE(reader.ended());
    EXPECT_FALSE(error);
  });
}

TEST_P(NetReader, peek_consumes_nothing_and_may_ask_for_more_than_the_buffer) {
  weft::run([] {
    std::string body(1000, ' ');
    for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 26);
    Sent sent("GET\n" + body, 7);
    net::reader reader(sent.in, 16);
    EXPECT_EQ(text_of(reader.peek(2)), "GE");
    EXPECT_TRUE(reader.peek(0).empty());
    EXPECT_EQ(reader.read_line(), "GET");
    EXPECT_EQ(text_of(reader.peek(900)), body.substr(0, 900));
    char some[10];
    EXPECT_EQ(reader.read(some), 10u);
    EXPECT_EQ(std::string(some, 10), body.substr(0, 10));
    EXPECT_EQ(text_of(reader.peek(2000)), body.substr(10)) << "less, because the stream ends";
    EXPECT_EQ(text_of(reader.buffered()), body.substr(10));
    EXPECT_EQ(reader.read_until('\n', 1000), body.substr(10));
    EXPECT_TRUE(reader.peek(1).empty());
  });
}

TEST_P(NetReader, read_exact_fills_everything_that_can_be_filled) {
  weft::run([] {
    std::string text(100'000, ' ');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 % 256);
    Sent sent("line\n" + text + "rest", 3001, false);
    net::reader reader(sent.in, 100);
    EXPECT_EQ(reader.read_line(), "line");
    std::string got;
    for (const std::size_t size : {1u, 99u, 100u, 101u, 3000u, 90'000u}) {
      std::string part(size, ' ');
      reader.read_exact(part);
      got += part;
    }
    EXPECT_EQ(got, text.substr(0, got.size()));
    std::vector<std::byte> left(text.size() - got.size());
    reader.read_exact(std::span<std::byte>(left));
    EXPECT_EQ(got + text_of(left), text);
    std::array<char, 10> more;
    std::error_code error;
    EXPECT_EQ(reader.read_exact(more, error), 4u) << "how much there was";
    EXPECT_EQ(error, net::stream_errc::unexpected_end);
    EXPECT_EQ(std::string(more.data(), 4), "rest");
    EXPECT_THROW(reader.read_exact(more), std::system_error);
  });
}

TEST_P(NetReader, read_gives_what_is_there_before_it_waits) {
  weft::run([] {
    auto [out, in] = net::pipe();
    auto writer = weft::spawn([&, &end = out] { end.write("line\nrest"); });
    net::reader reader(in);
    EXPECT_EQ(reader.read_line(), "line");
    char buffer[64];
    EXPECT_EQ(reader.read(std::span<char>()), 0u);
    EXPECT_EQ(reader.read({buffer, 1}), 1u);
    EXPECT_EQ(reader.read(std::span<char>(buffer)), 3u) << "not waiting for more";
    EXPECT_EQ(std::string(buffer, 3), "est");
    writer.join();
  });
}

TEST_P(NetReader, a_deadline_loses_nothing) {
  weft::run([] {
    for (const bool in_memory : {true, false}) {
      Pair pair;
      if (in_memory) {
        std::tie(pair.client, pair.server) = net::pipe();
      } else {
        pair = connect_pair();
      }
      net::reader reader(pair.server, 16);
      auto writer = weft::spawn([&] { pair.client.write("half a line, and"); });
      EXPECT_EQ(text_of(reader.peek(16)), "half a line, and");
      writer.join();
      pair.server.set_read_deadline(Clock::now() + 2ms);
      std::error_code error;
      EXPECT_EQ(reader.read_line(100, error), std::nullopt);
      EXPECT_EQ(error, std::errc::timed_out);
      EXPECT_TRUE(reader.peek(17, error).empty());
      EXPECT_EQ(error, std::errc::timed_out);
      EXPECT_THROW(reader.read_until('!'), std::system_error);
      pair.server.set_read_deadline(weft::time_point::max());
      auto second = weft::spawn([&] { pair.client.write(" the rest\n"); });
      EXPECT_EQ(reader.read_line(), "half a line, and the rest");
      second.join();
    }
  });
}

TEST_P(NetReader, contexts_and_close_end_its_calls) {
  weft::run([] {
    for (const bool in_memory : {true, false}) {
      Pair pair;
      if (in_memory) {
        std::tie(pair.client, pair.server) = net::pipe();
      } else {
        pair = connect_pair();
      }
      net::reader reader(pair.server);
      auto [ctx, cancel] = weft::with_timeout(weft::context::background(), 2ms);
      std::error_code error;
      char buffer[4];
      EXPECT_EQ(reader.read_line(ctx, 10, error), std::nullopt);
      EXPECT_EQ(error, std::errc::timed_out);
      EXPECT_EQ(reader.read_until(ctx, ';', 10, error), std::nullopt);
      EXPECT_EQ(reader.read_exact(ctx, buffer, error), 0u);
      EXPECT_TRUE(reader.peek(ctx, 1, error).empty());
      EXPECT_EQ(reader.read(ctx, buffer, error), 0u);
      EXPECT_EQ(error, std::errc::timed_out);
      EXPECT_THROW(reader.read_line(ctx), std::system_error);
      EXPECT_THROW(reader.read_until(ctx, ';'), std::system_error);
      EXPECT_THROW(reader.read_exact(ctx, buffer), std::system_error);
      EXPECT_THROW(reader.peek(ctx, 1), std::system_error);
      EXPECT_THROW(reader.read(ctx, buffer), std::system_error);
      auto waiting = weft::spawn([&] {
        std::error_code failure;
        reader.read_line(100, failure);
        return failure;
      });
      EXPECT_FALSE(waiting.wait_for(2ms));
      pair.server.close();
      EXPECT_EQ(waiting.join(), std::errc::bad_file_descriptor);
    }
  });
}

// What the buffer holds can be read with a context that is cancelled or after the deadline: only waiting ends.
TEST_P(NetReader, what_has_arrived_is_read_without_waiting) {
  weft::run([] {
    Sent sent("a\nb\nc");
    net::reader reader(sent.in);
    EXPECT_EQ(reader.read_line(), "a");
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    cancel();
    sent.in.set_read_deadline(Clock::now() - 1s);
    EXPECT_EQ(reader.read_line(ctx), "b");
    EXPECT_EQ(text_of(reader.peek(ctx, 1)), "c");
    EXPECT_THROW(reader.read_line(ctx), std::system_error);
    EXPECT_EQ(text_of(reader.buffered()), "c");
  });
}

// A stream of the user's, here one that gives a byte at a time and fails in between.
struct Stuttering {
  std::string text;
  std::size_t at = 0;
  bool fail = false;
  std::size_t read(std::span<std::byte> buffer, std::error_code& error) {
    error.clear();
    if ((fail = !fail)) {
      error = std::make_error_code(std::errc::interrupted);
      return 0;
    }
    if (at == text.size()) return 0;
    buffer[0] = static_cast<std::byte>(text[at++]);
    return 1;
  }
  std::size_t read(const weft::context&, std::span<std::byte> buffer, std::error_code& error) {
    return read(buffer, error);
  }
};

TEST(NetReaderOfAnyStream, continues_after_each_error) {
  Stuttering stream{"ab\r\ncd"};
  net::reader reader(stream);
  std::error_code error;
  int failures = 0;
  Line line;
  while (!(line = reader.read_line(10, error)) && error) ++failures;
  EXPECT_EQ(line, "ab");
  EXPECT_EQ(failures, 4);
  while (!(line = reader.read_line(10, error)) && error) ++failures;
  EXPECT_EQ(line, "cd");
  EXPECT_EQ(failures, 7);
}

static_assert(net::byte_stream<net::conn> && !net::byte_stream<net::listener>);
static_assert(!std::is_copy_constructible_v<net::reader> && !std::is_constructible_v<net::reader, net::reader&>);

}  // namespace
