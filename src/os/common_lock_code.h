// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Code that may hold a lock which every thread needs now and then: that of malloc, of stdio, of the dynamic linker,
// of exit(). A thread that a signal stops in the middle of it keeps all other threads waiting. So the code that stops
// threads (sched/core/hold.h) lets it out first.
//   By module    the C library, the dynamic linker, and the module that malloc comes from. Cautious, because most of
//                the C library's functions take no lock. Knows nothing in statically linked programs, where all code is
//                in one module.
//   By function  the functions that are known to lock, by their first address. For a thread that sleeps in a system
//                call or is never met outside those modules, and for statically linked programs. Known gap: functions
//                that lock and are not listed here.
namespace weft::os {

void find_common_lock_code() noexcept;  // before the first such signal

// For a frame of a stack: its address, and where its function begins.
bool is_common_lock_code(std::uintptr_t pc) noexcept;
bool takes_common_lock(std::uintptr_t pc, std::uintptr_t function) noexcept;
bool knows_common_lock_code() noexcept;  // false: statically linked

}  // namespace weft::os
