// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// The unwinder's own functions, which a signal handler must not walk through. On its way into a handler of an exception the
// unwinder overwrites what its frame has saved of the callers' registers by what they are to be, and only then leaves the
// frame: whoever walks on from there takes the registers of one function for those of another, and reads where nothing is.
//   How       by module, which is that of whoever calls back during a walk. If that is the program itself (statically linked, or
//             with -static-libgcc), by the functions that can leave so.
//   Price     who throws is not preempted by signal in those microseconds, but at the next one.
namespace weft::os {

void find_unwinder_code() noexcept;  // before there are such signals

// For a frame of a walk: its address, and where its function begins.
bool is_unwinder_code(std::uintptr_t pc, std::uintptr_t function) noexcept;

// The unwinder finds frames by the C library's _dl_find_object, which takes no lock (glibc 2.35).
bool finds_frames_without_lock() noexcept;

}  // namespace weft::os
