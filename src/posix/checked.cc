// SPDX-License-Identifier: MIT
// The names under which the packages of distributions call these functions: compiled with _FORTIFY_SOURCE, they pass the
// size of the buffer along. A buffer that is too small ends the process, as in the C library.
#include "posix/goroutine_call.h"

extern "C" [[noreturn]] void __chk_fail();

// The runtime itself is compiled without it, so these are always calls of other code.
WEFT_POSIX ssize_t __read_chk(int fd, void* buffer, size_t size, size_t room) {
  if (size > room) __chk_fail();
  return read(fd, buffer, size);
}
WEFT_POSIX ssize_t __pread_chk(int fd, void* buffer, size_t size, off_t offset, size_t room) {
  if (size > room) __chk_fail();
  return pread(fd, buffer, size, offset);
}
WEFT_POSIX ssize_t __pread64_chk(int fd, void* buffer, size_t size, off64_t offset, size_t room) {
  if (size > room) __chk_fail();
  return pread(fd, buffer, size, offset);
}
WEFT_POSIX ssize_t __recv_chk(int fd, void* buffer, size_t size, size_t room, int flags) {
  if (size > room) __chk_fail();
  return recv(fd, buffer, size, flags);
}
WEFT_POSIX ssize_t __recvfrom_chk(int fd, void* buffer, size_t size, size_t room, int flags, sockaddr* from,
                                  socklen_t* length) {
  if (size > room) __chk_fail();
  return recvfrom(fd, buffer, size, flags, from, length);
}
WEFT_POSIX int __poll_chk(pollfd* descriptors, nfds_t count, int timeout_ms, size_t room) {
  if (room / sizeof *descriptors < count) __chk_fail();
  return poll(descriptors, count, timeout_ms);
}
WEFT_POSIX int __ppoll_chk(pollfd* descriptors, nfds_t count, const timespec* limit, const sigset_t* mask, size_t room) {
  if (room / sizeof *descriptors < count) __chk_fail();
  return ppoll(descriptors, count, limit, mask);
}
