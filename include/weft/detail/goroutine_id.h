// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>

namespace weft {

// Unique for the life of the process; 0 is a plain thread.
class goroutine_id {
 public:
  constexpr goroutine_id() noexcept = default;
  constexpr explicit goroutine_id(std::uint64_t value) noexcept : value_(value) {}
  constexpr std::uint64_t value() const noexcept { return value_; }
  friend constexpr auto operator<=>(goroutine_id, goroutine_id) noexcept = default;
  template <class Char, class Traits>
  friend std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, goroutine_id id) {
    return out << id.value_;
  }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace weft

template <>
struct std::hash<weft::goroutine_id> {
  std::size_t operator()(weft::goroutine_id id) const noexcept { return std::hash<std::uint64_t>{}(id.value()); }
};
