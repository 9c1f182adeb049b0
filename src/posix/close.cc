// SPDX-License-Identifier: MIT
// close, and dup2 and dup3, which close: goroutines that wait for the number leave with EBADF. Any thread.
#include "posix/goroutine_call.h"

namespace weft::posix {
namespace {

template <class Call>
int close_by(int fd, Call call) {
  if (!service::is_number_known(fd)) return call();
  const service::NumberClose closing(fd);
  return call();
}

}  // namespace
}  // namespace weft::posix

using namespace weft;
using namespace weft::posix;

WEFT_POSIX int close(int fd) {
  return close_by(fd, [=] { return real().close(fd); });
}

WEFT_POSIX int dup2(int from, int to) noexcept {
  if (from == to) return real().dup2(from, to);
  return close_by(to, [=] { return real().dup2(from, to); });
}

WEFT_POSIX int dup3(int from, int to, int flags) noexcept {
  if (from == to) return real().dup3(from, to, flags);
  return close_by(to, [=] { return real().dup3(from, to, flags); });
}
