// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// The dynamic linker's code, which the walk of a stack by a signal handler must not go through on aarch64. A call of another module
// comes there when it is made for the first time, to be bound, with 16 bytes on the stack that the call-frame information of
// glibc's _dl_runtime_resolve forgets (2.36): whoever walks on takes what is beside a return address for it, and reads anywhere.
//   Price     who computes in a constructor called by dlopen is not preempted by signal there.
namespace weft::os {

void find_linker_code() noexcept;  // before there are such signals

bool is_linker_code(std::uintptr_t pc) noexcept;  // nothing is, where walks go through

}  // namespace weft::os
