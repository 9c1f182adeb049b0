// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// The dynamic linker's code. On aarch64 a signal handler must not walk a stack through it. The first call of a function
// in another module goes there to be bound, with 16 bytes on the stack that the call-frame information of glibc's
// _dl_runtime_resolve forgets (2.36). A walk that went on would take a word beside the return address for it, and read
// anywhere.
//   Price     a goroutine that computes in a constructor called by dlopen is not preempted by signal there.
namespace weft::os {

void find_linker_code() noexcept;  // before the first such signal

bool is_linker_code(std::uintptr_t pc) noexcept;  // always false on x86-64, where walks pass through it

}  // namespace weft::os
