// SPDX-License-Identifier: MIT
#include "posix/goroutine_call.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "os/clock.h"
#include "os/futex.h"
#include "os/keep_errno.h"

namespace weft::posix {

bool is_nonblocking(int fd) noexcept {
  const os::KeepErrno keep;
  const int flags = fcntl(fd, F_GETFL);
  return flags < 0 || (flags & O_NONBLOCK) != 0;
}

std::int64_t deadline_of(int fd, int option) noexcept {
  const os::KeepErrno keep;
  timeval limit{};
  socklen_t size = sizeof limit;
  if (getsockopt(fd, SOL_SOCKET, option, &limit, &size) != 0) return os::kForever;
  if (limit.tv_sec == 0 && limit.tv_usec == 0) return os::kForever;
  return os::now_ns() + limit.tv_sec * 1'000'000'000ll + limit.tv_usec * 1'000ll;
}

namespace {
Kind look_at_kind(int fd) noexcept {
  const os::KeepErrno keep;
  struct stat about{};
  if (fstat(fd, &about) != 0) return Kind::kUnknown;
  if (S_ISREG(about.st_mode) || S_ISBLK(about.st_mode) || S_ISDIR(about.st_mode)) return Kind::kDisk;
  if (!S_ISSOCK(about.st_mode)) return Kind::kOther;
  int type = 0;
  socklen_t size = sizeof type;
  // A write to a socket of records ends a record, a send does not.
  const bool is_known = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
  return is_known && (type == SOCK_STREAM || type == SOCK_DGRAM) ? Kind::kSocket : Kind::kOther;
}
}  // namespace

// What is remembered may be out of date, if the number was closed unseen. It decides only which call is tried first.
Kind kind_of(int fd) noexcept {
  Kind kind = static_cast<Kind>(service::number_hint(fd));
  if (kind != Kind::kUnknown) return kind;
  kind = look_at_kind(fd);
  if (kind != Kind::kUnknown) service::set_number_hint(fd, static_cast<std::uint8_t>(kind));
  return kind;
}

}  // namespace weft::posix
