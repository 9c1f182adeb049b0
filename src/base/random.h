// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace weft::base {

// xorshift64*: one per P or M, never shared. Good enough to pick victims, not for secrets.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed = 1) noexcept
      : state_(seed * 0x9E3779B97F4A7C15ull + 0x2545F4914F6CDD1Dull) {}

  std::uint64_t next() noexcept {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1Dull;
  }
  // Uniform in [0, bound) up to 2^-32: multiply-shift, no division.
  std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace weft::base
