// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

// Captures stacks as arrays of code addresses, innermost frame first.
// All addresses are for lookup: that of the call instruction's last byte for a caller (its return address
// minus one), the exact one for an instruction that a signal has interrupted. os/symbolizer.h takes them as
// they are.
namespace weft::os {

// The stack of the caller: `skip` 0 begins with the function that calls this. Returns how many were stored,
// at most `max`. Follows the unwind tables, also through signal frames. Once warm_up_unwinder() has run, it
// neither allocates nor loads anything, so it may be called in a signal handler.
std::size_t capture_backtrace(void** out, std::size_t max, std::size_t skip) noexcept;

// To be called once before the first capture in a signal handler: the first use resolves symbols and fills
// tables.
void warm_up_unwinder() noexcept;

// The stack of a goroutine that does not run: one that is parked, or stopped in a signal handler. `pc` comes first
// (exact; left out when null), then the callers along the chain of frame pointers. Reads only within
// [stack_low, stack_high) and stops at the first link that does not lead further up that range. Code compiled without
// frame pointers ends the chain.
std::size_t capture_from_frame_pointer(const void* frame_pointer, const void* pc, const void* stack_low,
                                       const void* stack_high, void** out, std::size_t max) noexcept;

}  // namespace weft::os
