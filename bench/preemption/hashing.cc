// SPDX-License-Identifier: MIT
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "kernel.h"

namespace {

std::vector<unsigned char> bytes(std::size_t count) {
  std::vector<unsigned char> data(count);
  Random random;
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random.next());
  return data;
}

// First 32 bits of the fractional parts of the cube roots of the first 64 primes.
std::array<std::uint32_t, 64> round_constants() {
  std::array<std::uint32_t, 64> constants{};
  std::size_t found = 0;
  for (int n = 2; found < constants.size(); ++n) {
    bool prime = true;
    for (int d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
    if (prime)
      constants[found++] =
          static_cast<std::uint32_t>(std::fmod(std::cbrt(static_cast<long double>(n)), 1.0L) * 4294967296.0L);
  }
  return constants;
}

void sha256_block(std::array<std::uint32_t, 8>& state, const unsigned char* block,
                  const std::array<std::uint32_t, 64>& constants) {
  std::uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    w[i] = static_cast<std::uint32_t>(block[i * 4] << 24 | block[i * 4 + 1] << 16 | block[i * 4 + 2] << 8 |
                                      block[i * 4 + 3]);
  }
  for (int i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + constants[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::uint32_t after[] = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += after[i];
}

}  // namespace

WEFT_KERNEL(sha256) {
  static const std::array<std::uint32_t, 64> constants = round_constants();
  const std::vector<unsigned char> data = bytes(1 << 20);
  std::array<std::uint32_t, 8> state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (std::size_t at = 0; at + 64 <= data.size(); at += 64) sha256_block(state, data.data() + at, constants);
  std::uint64_t hash = 0;
  for (std::uint32_t word : state) hash = mix(hash, std::uint64_t{word});
  return hash;
}

WEFT_KERNEL(crc32) {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0xedb88320u : value >> 1;
    table[i] = value;
  }
  std::uint32_t crc = ~0u;
  for (unsigned char byte : bytes(2 << 20)) crc = table[(crc ^ byte) & 255] ^ crc >> 8;
  return mix(0, std::uint64_t{crc});
}

WEFT_KERNEL(fnv_hash) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char byte : bytes(2 << 20)) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}
