// SPDX-License-Identifier: MIT
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace weft::os {

using Bytes = std::span<const unsigned char>;

static_assert(std::endian::native == std::endian::little,
              "weft reads the ELF files of little-endian machines only");

// Reads untrusted bytes from front to back. The first read beyond the end makes the cursor fail for good:
// ok() is false, nothing remains, and every read gives zero or an empty view, so loops over remaining() end.
// Allocates nothing.
class ByteCursor {
 public:
  explicit ByteCursor(Bytes bytes) noexcept : bytes_(bytes) {}

  bool ok() const noexcept { return ok_; }
  std::size_t offset() const noexcept { return offset_; }
  std::size_t remaining() const noexcept { return bytes_.size() - offset_; }

  void fail() noexcept {
    ok_ = false;
    offset_ = bytes_.size();
  }

  void seek(std::size_t offset) noexcept {
    if (!ok_ || offset > bytes_.size()) return fail();
    offset_ = offset;
  }

  Bytes take(std::uint64_t count) noexcept {
    if (count > remaining()) {
      fail();
      return {};
    }
    const Bytes taken = bytes_.subspan(offset_, static_cast<std::size_t>(count));
    offset_ += static_cast<std::size_t>(count);
    return taken;
  }

  void skip(std::uint64_t count) noexcept { take(count); }

  template <class T>
  T read() noexcept {
    T value{};
    const Bytes taken = take(sizeof value);
    if (!taken.empty()) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }

  std::uint8_t u8() noexcept {
    if (offset_ == bytes_.size()) {
      fail();
      return 0;
    }
    return bytes_[offset_++];
  }
  std::uint16_t u16() noexcept { return read<std::uint16_t>(); }
  std::uint32_t u32() noexcept { return read<std::uint32_t>(); }
  std::uint64_t u64() noexcept { return read<std::uint64_t>(); }

  // LEB128; bits beyond the 64th are dropped.
  std::uint64_t uleb() noexcept {
    unsigned shift = 0;
    unsigned char last = 0;
    return leb(shift, last);
  }
  std::int64_t sleb() noexcept {
    unsigned shift = 0;
    unsigned char last = 0;
    std::uint64_t value = leb(shift, last);
    if ((last & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }

  // Up to the next NUL, which is consumed; fails if there is none.
  std::string_view text() noexcept {
    const Bytes rest = bytes_.subspan(offset_);
    const void* const end = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
    if (end == nullptr) {
      fail();
      return {};
    }
    const auto length = static_cast<std::size_t>(static_cast<const unsigned char*>(end) - rest.data());
    offset_ += length + 1;
    return {reinterpret_cast<const char*>(rest.data()), length};
  }

 private:
  std::uint64_t leb(unsigned& shift, unsigned char& last) noexcept {
    std::uint64_t value = 0;
    do {
      last = u8();
      if (shift < 64) value |= static_cast<std::uint64_t>(last & 0x7f) << shift;
      shift += 7;
    } while ((last & 0x80) != 0);
    return value;
  }

  Bytes bytes_;
  std::size_t offset_ = 0;
  bool ok_ = true;
};

}  // namespace weft::os
