// SPDX-License-Identifier: MIT
// Calls that wait for a disk or for another process's lock: handed off.
#include "posix/goroutine_call.h"

using namespace weft;
using namespace weft::posix;

WEFT_POSIX int fsync(int fd) {
  if (WEFT_POSIX_PLAIN) return real().fsync(fd);
  const api::ErrnoPlace place;
  return answer<int>(place, hand_off([=] { return real().fsync(fd); }));
}

WEFT_POSIX int fdatasync(int fd) {
  if (WEFT_POSIX_PLAIN) return real().fdatasync(fd);
  const api::ErrnoPlace place;
  return answer<int>(place, hand_off([=] { return real().fdatasync(fd); }));
}

WEFT_POSIX int flock(int fd, int operation) noexcept {
  if (WEFT_POSIX_PLAIN || (operation & LOCK_NB) != 0) return real().flock(fd, operation);
  const api::ErrnoPlace place;
  return answer<int>(place, hand_off([=] { return real().flock(fd, operation); }));
}
