// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace weft::os {

// The code of the module (program or shared library) around an address. Empty: the address is in no module, or the
// program is statically linked and its module holds the C library's code, too.
struct CodeRange {
  std::uintptr_t begin = 0, end = 0;
};
CodeRange code_around(const void* address) noexcept;

// All of the module around an address, for callers that must not wait for the dynamic linker's lock. Empty: it is in none,
// or the C library is older than glibc 2.35.
CodeRange code_found_without_lock(std::uintptr_t address) noexcept;

}  // namespace weft::os
