// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <numeric>

namespace weft::sched {

// Visits each of 0..n-1 once, from a random start, in steps of a random number coprime to n. So there is no list to
// shuffle.
class VictimOrder {
 public:
  VictimOrder(std::uint32_t n, std::uint64_t random) noexcept : n_(n), left_(n) {
    position_ = static_cast<std::uint32_t>(random >> 32) % n;
    step_ = n <= 2 ? 1 : static_cast<std::uint32_t>(random) % n;
    if (step_ == 0) step_ = 1;
    while (std::gcd(step_, n) != 1) step_ = step_ % (n - 1) + 1;
  }
  bool next(std::uint32_t& victim) noexcept {
    if (left_ == 0) return false;
    --left_;
    victim = position_;
    position_ += step_;
    if (position_ >= n_) position_ -= n_;
    return true;
  }

 private:
  std::uint32_t n_, left_, position_, step_;
};

}  // namespace weft::sched
