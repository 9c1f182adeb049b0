// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// The unwinder's own functions, which a signal handler must not walk through. On its way to the handler of an exception
// the unwinder overwrites the callers' registers that its frame has saved with the values they are to have, and only
// then leaves the frame. A walk that went on from there would take the registers of one function for those of another,
// and read where nothing is.
//   How       by module: that of the code which calls back during a walk. If that is the program itself (statically
//             linked, or with -static-libgcc), by the functions that can leave in this way.
//   Price     a goroutine that throws is not preempted by a signal in those microseconds, but by the next signal.
namespace weft::os {

void find_unwinder_code() noexcept;  // before the first such signal

// For a frame of a walk: its address, and where its function begins.
bool is_unwinder_code(std::uintptr_t pc, std::uintptr_t function) noexcept;

// The unwinder finds frames by the C library's _dl_find_object, which takes no lock (glibc 2.35).
bool finds_frames_without_lock() noexcept;

}  // namespace weft::os
