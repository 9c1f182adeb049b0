// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Code that may hold a lock which every thread needs now and then: that of malloc, of stdio, of the dynamic linker,
// of exit(). A thread that is stopped by a signal in the middle of it keeps everybody else waiting, so whoever stops
// threads (sched/hold.h) lets it out first.
//   By module    the C library, the dynamic linker, and the module that malloc comes from. Cautious: most of the C
//                library's functions take no lock. Knows nothing in statically linked programs, where all code is in
//                one module.
//   By function  those that are known to lock, by where they begin. For a thread that sleeps in a system call or
//                cannot be had outside those modules, and for statically linked programs. Functions that lock and are
//                not named here are the gap.
namespace weft::os {

void find_common_lock_code() noexcept;  // before there are such signals

// For a frame of a stack: its address, and where its function begins.
bool is_common_lock_code(std::uintptr_t pc) noexcept;
bool takes_common_lock(std::uintptr_t pc, std::uintptr_t function) noexcept;
bool knows_common_lock_code() noexcept;  // false: statically linked

}  // namespace weft::os
