// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

// Parameter types for reads and writes: one type each, which accepts bytes, characters, spans, strings and vectors.
namespace weft::detail {

template <class T>
concept byte_like = std::same_as<std::remove_cv_t<T>, std::byte> || std::same_as<std::remove_cv_t<T>, char> ||
                    std::same_as<std::remove_cv_t<T>, unsigned char> || std::same_as<std::remove_cv_t<T>, char8_t>;

template <class Range>
concept byte_range = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
                     byte_like<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

// A buffer to fill: a span, a vector, an array or a string, whose memory outlives the call. Not a temporary that owns
// its memory.
class bytes_to_fill {
 public:
  constexpr bytes_to_fill() noexcept = default;
  template <class Range>
    requires(byte_range<Range> && std::ranges::borrowed_range<Range> &&
             !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>)
  bytes_to_fill(Range&& range) noexcept  // NOLINT: implicit, as std::span's
      : span_(reinterpret_cast<std::byte*>(std::ranges::data(range)), std::ranges::size(range)) {}
  template <byte_like T>
    requires(!std::is_const_v<T>)
  bytes_to_fill(T* first, std::size_t count) noexcept : span_(reinterpret_cast<std::byte*>(first), count) {}

  std::span<std::byte> span() const noexcept { return span_; }

 private:
  std::span<std::byte> span_;
};

// Bytes to write, or text. An array of char is a C string: it ends at its null byte if it has one.
class bytes_to_write {
 public:
  constexpr bytes_to_write() noexcept = default;
  template <class Range>
    requires(byte_range<Range> && !std::is_array_v<std::remove_reference_t<Range>>)
  bytes_to_write(const Range& range) noexcept  // NOLINT: implicit, as std::span's
      : span_(reinterpret_cast<const std::byte*>(std::ranges::data(range)), std::ranges::size(range)) {}
  template <byte_like T, std::size_t N>
  bytes_to_write(const T (&array)[N]) noexcept  // NOLINT: the same
      : span_(reinterpret_cast<const std::byte*>(array), std::is_same_v<T, char> ? length(array, N) : N) {}
  template <class Text>
    requires(!byte_range<Text> && std::convertible_to<const Text&, std::string_view> && !std::is_array_v<Text>)
  bytes_to_write(const Text& text) noexcept(noexcept(std::string_view(text)))  // NOLINT: a const char*
      : span_(std::as_bytes(std::span(static_cast<std::string_view>(text)))) {}
  template <byte_like T>
  bytes_to_write(const T* first, std::size_t count) noexcept
      : span_(reinterpret_cast<const std::byte*>(first), count) {}

  std::span<const std::byte> span() const noexcept { return span_; }

 private:
  static std::size_t length(const void* text, std::size_t most) noexcept {
    const void* end = std::memchr(text, 0, most);
    return end == nullptr ? most
                          : static_cast<std::size_t>(static_cast<const char*>(end) - static_cast<const char*>(text));
  }
  std::span<const std::byte> span_;
};

}  // namespace weft::detail
