// SPDX-License-Identifier: MIT
#pragma once
#include <fcntl.h>
#include <unistd.h>
#include <cerrno>

namespace weft::os {

// Descriptors 0 to 2 may be closed at the start: whoever prints would print into one of the runtime's. -1 stays, and errno with it.
inline int keep_off_standard_streams(int fd) noexcept {
  if (fd < 0 || fd > 2) return fd;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  const int error = errno;
  close(fd);
  errno = error;
  return moved;
}

}  // namespace weft::os
