// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace weft::os {

// How long the kernel lets this thread run while others wait for its CPU. A shorter time slice also lets this thread
// run sooner when it is the one that waits. A thread that comes back from a blocking call may find all CPUs computing
// for other goroutines, and its own goroutine has to get to a CPU, too. 8 goroutines that block 1 ms each beside two
// that compute make 1650 calls a second with the kernel's slices of 3 ms, 4350 with these (4700 with 0.1 ms, the least
// allowed).
inline constexpr std::int64_t kShortSliceNs = 500'000;

// Policy and niceness stay as they are. False: the kernel (before 6.12), a seccomp filter or a real-time policy does
// not allow it. Nothing is lost then.
bool ask_for_short_slices() noexcept;

}  // namespace weft::os
