// SPDX-License-Identifier: MIT
#include <cerrno>

// Declared in weft/detail/errno.h. These sources are compiled without that header: they read errno anew where it
// counts.
extern "C" __attribute__((noinline)) int* weft_errno_location() noexcept {
  // A compiler that sees this body must not conclude that the answer is always the same.
  asm volatile("" ::: "memory");
  return &errno;
}
