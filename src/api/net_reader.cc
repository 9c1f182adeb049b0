// SPDX-License-Identifier: MIT
#include "weft/net_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "weft/detail/io_handle.h"

namespace weft::net {
namespace {

class ReaderCategory : public std::error_category {
 public:
  const char* name() const noexcept override { return "weft stream"; }
  std::string message(int value) const override {
    switch (static_cast<stream_errc>(value)) {
      case stream_errc::unexpected_end: return "the stream ended before all of it had arrived";
      case stream_errc::too_long:       return "it is longer than the limit";
    }
    return "unknown error of a stream";
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    if (value == static_cast<int>(stream_errc::too_long)) return std::errc::message_size;
    return {value, *this};
  }
};

// Calls the form with an error_code, and throws what that reports.
template <class Call>
auto throwing(const char* what, Call call) {
  std::error_code error;
  auto result = call(error);
  detail::throw_if(error, what);
  return result;
}

// Whether what has no end yet can no longer become a line (or part) of at most `limit` bytes. A line may have a '\r'
// more, which belongs to its end if '\n' follows.
bool exceeds(std::string_view text, bool line, std::size_t limit) noexcept {
  if (text.size() <= limit) return false;
  return !line || text.size() - limit > 1 || text.back() != '\r';
}

}  // namespace

const std::error_category& stream_category() noexcept {
  static const ReaderCategory category;
  return category;
}

// The buffer has room behind its contents afterwards. What is short is moved to the front; for what fills more than
// three quarters a buffer of twice the size is better than many short reads.
void reader::make_room() {
  const std::size_t used = end_ - begin_;
  if (used == 0) {
    begin_ = end_ = 0;
    if (size_ > 4 * capacity_) buffer_.reset();
    if (buffer_ == nullptr) {
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
      size_ = capacity_;
    }
  } else if (end_ == size_ && used <= size_ - size_ / 4) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, used);
    begin_ = 0;
    end_ = used;
  } else if (end_ == size_) {
    auto larger = std::make_unique_for_overwrite<std::byte[]>(2 * size_);
    std::memcpy(larger.get(), buffer_.get() + begin_, used);
    buffer_ = std::move(larger);
    size_ *= 2;
    begin_ = 0;
    end_ = used;
  }
}

// False: the end of the stream, or an error.
bool reader::receive_more(const context* ctx, std::error_code& error) {
  make_room();
  const std::size_t size = receive_(stream_, ctx, std::span(buffer_.get() + end_, size_ - end_), error);
  if (error) return false;
  end_ += size;
  return size != 0;
}

std::size_t reader::take(std::span<std::byte> buffer) noexcept {
  const std::size_t size = std::min(buffer.size(), end_ - begin_);
  if (size != 0) std::memcpy(buffer.data(), buffer_.get() + begin_, size);
  begin_ += size;
  return size;
}

std::optional<std::string_view> reader::next_part(const context* ctx, char end, bool line, std::size_t limit,
                                                  std::error_code& error) {
  error.clear();
  const auto held = [&] {
    return std::string_view(reinterpret_cast<const char*>(buffer_.get()) + begin_, end_ - begin_);
  };
  std::size_t searched = 0, found = std::string_view::npos;
  while ((found = held().find(end, searched)) == std::string_view::npos) {
    searched = held().size();
    if (exceeds(held(), line, limit)) break;
    if (receive_more(ctx, error)) continue;
    if (error || held().empty()) return std::nullopt;
    break;
  }
  std::string_view part = held().substr(0, found);
  if (line && found != std::string_view::npos && part.ends_with('\r')) part.remove_suffix(1);
  if (part.size() > limit) {
    error = stream_errc::too_long;
    return std::nullopt;
  }
  ended_ = found != std::string_view::npos;
  begin_ += ended_ ? found + 1 : part.size();
  return part;
}

std::size_t reader::fill_whole(const context* ctx, std::span<std::byte> buffer, std::error_code& error) {
  error.clear();
  std::size_t done = take(buffer);
  while (done < buffer.size()) {
    const std::size_t size = read_some(ctx, buffer.subspan(done), error);
    if (error) break;
    done += size;
    if (size != 0) continue;
    error = stream_errc::unexpected_end;
    break;
  }
  return done;
}

std::span<const std::byte> reader::look_ahead(const context* ctx, std::size_t count, std::error_code& error) {
  error.clear();
  while (end_ - begin_ < count && receive_more(ctx, error)) {
  }
  return error ? std::span<const std::byte>() : buffered().first(std::min(count, end_ - begin_));
}

// What is as large as the buffer goes past it.
std::size_t reader::read_some(const context* ctx, std::span<std::byte> buffer, std::error_code& error) {
  error.clear();
  if (buffer.empty() || begin_ != end_) return take(buffer);
  if (buffer.size() >= capacity_) return receive_(stream_, ctx, buffer, error);
  receive_more(ctx, error);
  return take(buffer);
}

std::optional<std::string_view> reader::read_line(std::size_t limit) {
  return throwing("read_line", [&](auto& error) { return read_line(limit, error); });
}
std::optional<std::string_view> reader::read_line(const context& ctx, std::size_t limit) {
  return throwing("read_line", [&](auto& error) { return read_line(ctx, limit, error); });
}
std::optional<std::string_view> reader::read_until(char end, std::size_t limit) {
  return throwing("read_until", [&](auto& error) { return read_until(end, limit, error); });
}
std::optional<std::string_view> reader::read_until(const context& ctx, char end, std::size_t limit) {
  return throwing("read_until", [&](auto& error) { return read_until(ctx, end, limit, error); });
}
void reader::read_exact(detail::bytes_to_fill buffer) {
  throwing("read_exact", [&](auto& error) { return read_exact(buffer, error); });
}
void reader::read_exact(const context& ctx, detail::bytes_to_fill buffer) {
  throwing("read_exact", [&](auto& error) { return read_exact(ctx, buffer, error); });
}
std::span<const std::byte> reader::peek(std::size_t count) {
  return throwing("peek", [&](auto& error) { return peek(count, error); });
}
std::span<const std::byte> reader::peek(const context& ctx, std::size_t count) {
  return throwing("peek", [&](auto& error) { return peek(ctx, count, error); });
}
std::size_t reader::read(detail::bytes_to_fill buffer) {
  return throwing("read", [&](auto& error) { return read(buffer, error); });
}
std::size_t reader::read(const context& ctx, detail::bytes_to_fill buffer) {
  return throwing("read", [&](auto& error) { return read(ctx, buffer, error); });
}

}  // namespace weft::net
