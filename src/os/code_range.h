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

}  // namespace weft::os
