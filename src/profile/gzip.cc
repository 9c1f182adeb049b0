// SPDX-License-Identifier: MIT
#include "profile/gzip.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace weft::profile {
namespace {

constexpr std::size_t kWindow = 32768, kShortest = 4, kLongest = 258;
constexpr unsigned kHashBits = 14;
constexpr unsigned kEndOfBlock = 256;

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320u : 0);
    table[i] = value;
  }
  return table;
}
constexpr auto kCrcTable = make_crc_table();

// Lengths and distances are written as a code for their range, and extra bits for the place in it.
struct Range {
  std::uint16_t first;
  std::uint8_t extra;
};
template <std::size_t N>
constexpr std::array<Range, N> make_ranges(unsigned first, unsigned plain, unsigned codes_per_step) {
  std::array<Range, N> ranges{};
  for (unsigned i = 0; i < N; ++i) {
    const unsigned extra = i < plain ? 0 : (i - plain) / codes_per_step + 1;
    ranges[i] = {static_cast<std::uint16_t>(first), static_cast<std::uint8_t>(extra)};
    first += 1u << extra;
  }
  return ranges;
}
constexpr auto make_lengths() {
  auto ranges = make_ranges<29>(3, 8, 4);
  ranges[28] = {kLongest, 0};  // the longest match has a code of its own
  return ranges;
}
constexpr auto kLengths = make_lengths();
constexpr auto kDistances = make_ranges<30>(1, 4, 2);

template <std::size_t N>
std::size_t code_of(const std::array<Range, N>& ranges, std::size_t value) noexcept {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), value,
                                      [](std::size_t wanted, const Range& range) { return wanted < range.first; });
  return static_cast<std::size_t>(after - ranges.begin()) - 1;
}

class BitWriter {
 public:
  explicit BitWriter(std::string& out) : out_(out) {}
  // The lowest bit first.
  void put(std::uint32_t bits, unsigned count) {
    held_ |= std::uint64_t{bits} << count_;
    for (count_ += count; count_ >= 8; count_ -= 8, held_ >>= 8) out_ += static_cast<char>(held_ & 0xff);
  }
  // The highest bit first, as Huffman codes are.
  void put_code(std::uint32_t code, unsigned count) {
    std::uint32_t reversed = 0;
    for (unsigned i = 0; i < count; ++i) reversed |= (code >> i & 1) << (count - 1 - i);
    put(reversed, count);
  }
  void flush() {
    if (count_ > 0) put(0, 8 - count_);
  }

 private:
  std::string& out_;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;
};

void put_symbol(BitWriter& bits, unsigned symbol) {
  if (symbol < 144) {
    bits.put_code(0x30 + symbol, 8);
  } else if (symbol < 256) {
    bits.put_code(0x190 + symbol - 144, 9);
  } else if (symbol < 280) {
    bits.put_code(symbol - 256, 7);
  } else {
    bits.put_code(0xc0 + symbol - 280, 8);
  }
}

void put_match(BitWriter& bits, std::size_t length, std::size_t distance) {
  const std::size_t length_code = code_of(kLengths, length), distance_code = code_of(kDistances, distance);
  put_symbol(bits, static_cast<unsigned>(257 + length_code));
  bits.put(static_cast<std::uint32_t>(length - kLengths[length_code].first), kLengths[length_code].extra);
  bits.put_code(static_cast<std::uint32_t>(distance_code), 5);
  bits.put(static_cast<std::uint32_t>(distance - kDistances[distance_code].first), kDistances[distance_code].extra);
}

std::uint32_t four_bytes(const char* at) noexcept {
  std::uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

void deflate(std::string_view bytes, std::string& out) {
  BitWriter bits(out);
  bits.put(1, 1);  // the last block
  bits.put(1, 2);  // with the fixed codes
  std::vector<std::uint32_t> last(std::size_t{1} << kHashBits);  // position + 1 of the last four bytes with that hash
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::size_t length = 0, distance = 0;
    if (at + kShortest <= bytes.size()) {
      std::uint32_t& entry = last[(four_bytes(&bytes[at]) * 0x9e3779b1u) >> (32 - kHashBits)];
      const std::size_t candidate = entry;
      entry = static_cast<std::uint32_t>(at + 1);
      distance = at + 1 - candidate;
      if (candidate != 0 && distance <= kWindow) {
        const std::size_t most = std::min(kLongest, bytes.size() - at);
        while (length < most && bytes[at + length] == bytes[at - distance + length]) ++length;
      }
    }
    if (length >= kShortest) {
      put_match(bits, length, distance);
      at += length;
    } else {
      put_symbol(bits, static_cast<unsigned char>(bytes[at++]));
    }
  }
  put_symbol(bits, kEndOfBlock);
  bits.flush();
}

void put_word(std::string& out, std::uint32_t word) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(word >> (8 * i) & 0xff);
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) noexcept {
  std::uint32_t value = ~0u;
  for (const char c : bytes) value = (value >> 8) ^ kCrcTable[(value ^ static_cast<unsigned char>(c)) & 0xff];
  return ~value;
}

std::string gzip(std::string_view bytes) {
  static constexpr char kHeader[] = "\x1f\x8b\x08\0\0\0\0\0\0\xff";  // deflate, no name, no time, unknown system
  std::string out(kHeader, 10);
  deflate(bytes, out);
  put_word(out, crc32(bytes));
  put_word(out, static_cast<std::uint32_t>(bytes.size()));
  return out;
}

}  // namespace weft::profile
