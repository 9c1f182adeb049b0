// SPDX-License-Identifier: MIT
#include <cerrno>

// As weft/detail/errno.h declares it, which these sources are compiled without: they read errno anew where that counts.
extern "C" __attribute__((noinline)) int* weft_errno_location() noexcept {
  asm volatile("" ::: "memory");  // nobody who sees this body may conclude that the answer is always the same
  return &errno;
}
