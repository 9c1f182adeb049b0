// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

// Reads of memory that may have guards inside, which /proc/self/maps does not show (MADV_GUARD_INSTALL).
namespace weft::os {

// Copies what can be read from `address` on. Returns how many bytes that are, 0 at a guard. Where the kernel refuses
// the call that can tell (process_vm_readv), it reads as any code does, and a guard ends the process.
std::size_t peek(void* to, std::uintptr_t address, std::size_t bytes) noexcept;

// Finds the parts of a private mapping that have pages: the others were never written, and read as zero. Calls
// visit(context, begin, end) for each; for the whole range where the kernel does not say.
void visit_populated(std::uintptr_t begin, std::uintptr_t end,
                     void (*visit)(void* context, std::uintptr_t begin, std::uintptr_t end), void* context) noexcept;

}  // namespace weft::os
