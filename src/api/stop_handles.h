// SPDX-License-Identifier: MIT
#pragma once
#include <cstring>
#include <new>
#include <stop_token>

namespace weft::detail {

// Whether a source is the only owner of its stop state: there is no token and no callback. The standard library counts
// the owners, but does not tell. In libstdc++ a source is a pointer to the state, and the count is the first word of
// the state, in code compiled with any of its versions. If a source on trial does not count as expected, the answer is
// always no.
class StopHandles {
 public:
  static bool has_one(const std::stop_source& source) noexcept { return known_ && count(source) == 1; }

 private:
  using Count [[gnu::may_alias]] = unsigned;
  static unsigned count(const std::stop_source& source) noexcept {
    const Count* state = nullptr;
    std::memcpy(static_cast<void*>(&state), static_cast<const void*>(&source), sizeof state);
    return __atomic_load_n(state, __ATOMIC_ACQUIRE);  // raw atomic: a word of the standard library
  }
  static bool counts_as_expected() noexcept {
    if (sizeof(std::stop_source) != sizeof(void*)) return false;
    try {
      const std::stop_source source;
      const bool alone = count(source) == 1;
      const std::stop_token first = source.get_token(), second = first;
      return alone && count(source) == 3;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  static inline const bool known_ = counts_as_expected();  // before its initialization: no
};

}  // namespace weft::detail
