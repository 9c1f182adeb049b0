// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"

namespace weft::os {

inline constexpr std::int64_t kForever = INT64_MAX;

// Sleeps while word == expected, until woken or until the CLOCK_MONOTONIC deadline. May return early.
void futex_wait(base::Atom<std::uint32_t>& word, std::uint32_t expected,
                std::int64_t deadline_ns = kForever) noexcept;
void futex_wake(base::Atom<std::uint32_t>& word, int count = 1) noexcept;

}  // namespace weft::os
