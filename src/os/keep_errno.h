// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>

namespace weft::os {

// errno belongs to the goroutine, so system calls that the runtime makes on the goroutine's stack leave it alone. Use
// it only in functions that are not inlined: their caller may switch threads, and the compiler would keep the address
// of errno across the switch.
class KeepErrno {
 public:
  KeepErrno() noexcept : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }
  KeepErrno(const KeepErrno&) = delete;

 private:
  int saved_;
};

}  // namespace weft::os
