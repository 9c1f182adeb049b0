// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "weft/context.h"
#include "weft/detail/bytes.h"

namespace weft::net {

// How a stream can disappoint its reader. too_long equals std::errc::message_size.
enum class stream_errc {
  unexpected_end = 1,  // the stream ended in the middle of something
  too_long,            // a line or part is longer than the limit
};
const std::error_category& stream_category() noexcept;
inline std::error_code make_error_code(stream_errc error) noexcept {
  return {static_cast<int>(error), stream_category()};
}

// What a reader reads from: net::conn, tls::conn, or a type of your own with these two calls. They return 0 at the end
// of the stream.
template <class S>
concept byte_stream = requires(S& stream, std::span<std::byte> buffer, const context& ctx, std::error_code& error) {
  { stream.read(buffer, error) } -> std::convertible_to<std::size_t>;
  { stream.read(ctx, buffer, error) } -> std::convertible_to<std::size_t>;
};

// Reads lines, parts and exact numbers of bytes from a connection, through a buffer.
//   Stream     It must outlive the reader. Its deadlines apply, and closing it wakes the reader's calls. Writing to it
//              may go on meanwhile. One goroutine at a time may use the reader.
//   Errors     A call throws std::system_error; its overload with a trailing std::error_code& sets that instead. A call
//              that fails has consumed nothing (read_exact() says how much), so that after a time limit or a line that
//              is too long the next call finds the same bytes.
//   Results    A string_view or span lies in the buffer, and is valid until the next call.
//   Memory     The buffer is made by the first call. It grows for long lines, up to about twice their limit, and for
//              peek(); what it has grown by is given back once it is empty.
class reader {
 public:
  // `capacity` is how much is read at once; at least 16 bytes.
  template <byte_stream S>
    requires(!std::same_as<S, reader>)
  explicit reader(S& stream, std::size_t capacity = 16384) noexcept
      : stream_(std::addressof(stream)), receive_(&receive_from<S>), capacity_(capacity < 16 ? 16 : capacity) {}
  reader(const reader&) = delete;

  // The next line, without its end ("\n" or "\r\n"). The last line need not have one. Nullopt: the end of the stream.
  // Fails with stream_errc::too_long if the line has more than `limit` bytes.
  std::optional<std::string_view> read_line(std::size_t limit = 65536);
  std::optional<std::string_view> read_line(std::size_t limit, std::error_code& error) {
    return next_part(nullptr, '\n', true, limit, error);
  }
  std::optional<std::string_view> read_line(const context& ctx, std::size_t limit = 65536);
  std::optional<std::string_view> read_line(const context& ctx, std::size_t limit, std::error_code& error) {
    return next_part(&ctx, '\n', true, limit, error);
  }
  // The same for parts that end with another character. The character is consumed, and not part of the result.
  std::optional<std::string_view> read_until(char end, std::size_t limit = 65536);
  std::optional<std::string_view> read_until(char end, std::size_t limit, std::error_code& error) {
    return next_part(nullptr, end, false, limit, error);
  }
  std::optional<std::string_view> read_until(const context& ctx, char end, std::size_t limit = 65536);
  std::optional<std::string_view> read_until(const context& ctx, char end, std::size_t limit, std::error_code& error) {
    return next_part(&ctx, end, false, limit, error);
  }
  // What the last read_line() or read_until() returned ended with its end character, and not with the stream.
  bool ended() const noexcept { return ended_; }

  // Fills the whole buffer. Fails with stream_errc::unexpected_end if the stream ends before. The number says how many
  // bytes have been read, also after an error: they are consumed.
  void read_exact(detail::bytes_to_fill buffer);
  std::size_t read_exact(detail::bytes_to_fill buffer, std::error_code& error) {
    return fill_whole(nullptr, buffer.span(), error);
  }
  void read_exact(const context& ctx, detail::bytes_to_fill buffer);
  std::size_t read_exact(const context& ctx, detail::bytes_to_fill buffer, std::error_code& error) {
    return fill_whole(&ctx, buffer.span(), error);
  }

  // The next `count` bytes, which stay to be read. Fewer: the stream ends after them.
  std::span<const std::byte> peek(std::size_t count);
  std::span<const std::byte> peek(std::size_t count, std::error_code& error) {
    return look_ahead(nullptr, count, error);
  }
  std::span<const std::byte> peek(const context& ctx, std::size_t count);
  std::span<const std::byte> peek(const context& ctx, std::size_t count, std::error_code& error) {
    return look_ahead(&ctx, count, error);
  }

  // Blocks until there is something to read. Returns the number of bytes; 0 at the end of the stream (or for an empty
  // buffer).
  std::size_t read(detail::bytes_to_fill buffer);
  std::size_t read(detail::bytes_to_fill buffer, std::error_code& error) {
    return read_some(nullptr, buffer.span(), error);
  }
  std::size_t read(const context& ctx, detail::bytes_to_fill buffer);
  std::size_t read(const context& ctx, detail::bytes_to_fill buffer, std::error_code& error) {
    return read_some(&ctx, buffer.span(), error);
  }

  // What has been received and not been read yet, without waiting.
  std::span<const std::byte> buffered() const noexcept { return {buffer_.get() + begin_, end_ - begin_}; }

 private:
  template <class S>
  static std::size_t receive_from(void* stream, const context* ctx, std::span<std::byte> buffer,
                                  std::error_code& error) {
    S& source = *static_cast<S*>(stream);
    return ctx != nullptr ? source.read(*ctx, buffer, error) : source.read(buffer, error);
  }
  std::optional<std::string_view> next_part(const context* ctx, char end, bool line, std::size_t limit,
                                            std::error_code& error);
  std::size_t fill_whole(const context* ctx, std::span<std::byte> buffer, std::error_code& error);
  std::span<const std::byte> look_ahead(const context* ctx, std::size_t count, std::error_code& error);
  std::size_t read_some(const context* ctx, std::span<std::byte> buffer, std::error_code& error);
  std::size_t take(std::span<std::byte> buffer) noexcept;
  bool receive_more(const context* ctx, std::error_code& error);
  void make_room();

  void* stream_;
  std::size_t (*receive_)(void*, const context*, std::span<std::byte>, std::error_code&);
  std::size_t capacity_;                 // as asked for
  std::unique_ptr<std::byte[]> buffer_;  // what has been received and not been read is [begin_, end_)
  std::size_t size_ = 0, begin_ = 0, end_ = 0;
  bool ended_ = false;
};

}  // namespace weft::net

template <>
struct std::is_error_code_enum<weft::net::stream_errc> : std::true_type {};
