// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>

namespace weft::os {

// errno belongs to the goroutine: system calls that the runtime makes on its stack leave it alone. Only in functions that
// are not inlined: their caller may switch threads, and the compiler keeps the address of errno across that.
class KeepErrno {
 public:
  KeepErrno() noexcept : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }
  KeepErrno(const KeepErrno&) = delete;

 private:
  int saved_;
};

}  // namespace weft::os
