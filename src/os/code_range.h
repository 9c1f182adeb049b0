// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace weft::os {

// The code of the module (program or shared library) around an address. Empty: none, or one that holds the C library's code,
// too: a statically linked program.
struct CodeRange {
  std::uintptr_t begin = 0, end = 0;
};
CodeRange code_around(const void* address) noexcept;

}  // namespace weft::os
