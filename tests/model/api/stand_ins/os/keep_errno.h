// SPDX-License-Identifier: MIT
#pragma once
// Stands in for src/os/keep_errno.h: no system call is made in a simulation, and relacy takes errno away.
namespace weft::os {
struct KeepErrno {
  KeepErrno() {}
  ~KeepErrno() {}
};
}  // namespace weft::os
