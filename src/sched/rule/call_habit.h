// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// What is known of a goroutine's blocking calls (handoff.h), as a number. 0: they were short, or nothing is known. From
// kLongCallSuspected on, its calls are timed. Above it, the next call is predicted to be long.
namespace weft::sched {

inline constexpr std::uint8_t kLongCallSuspected = 1, kLongCallsMax = 3;

constexpr bool predicts_long_call(std::uint8_t habit) noexcept { return habit > kLongCallSuspected; }

}  // namespace weft::sched
