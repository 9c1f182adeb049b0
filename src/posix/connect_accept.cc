// SPDX-License-Identifier: MIT
// connect and accept.
//   connect  There is no connect that tries. So the socket is non-blocking for the length of one system call, and its
//            mode is put back before the goroutine waits.
//   accept   When poll says that there is a connection, accept is handed off: another acceptor may be faster.
#include <fcntl.h>

#include "posix/goroutine_call.h"

namespace weft::posix {
namespace {

using service::NumberOutcome;

std::int64_t option_of(int fd, int option) noexcept {
  int value = 0;
  socklen_t size = sizeof value;
  const std::int64_t result = result_of([&] { return getsockopt(fd, SOL_SOCKET, option, &value, &size); });
  return result < 0 ? result : value;
}

std::int64_t result_of_connecting(int fd) noexcept {
  const std::int64_t deadline_ns = deadline_of(fd, SO_SNDTIMEO);
  for (;;) {
    pollfd one{fd, POLLOUT, 0};
    if (result_of([&] { return real().poll(&one, 1, 0); }) != 0) {
      const std::int64_t error = option_of(fd, SO_ERROR);
      return error > 0 ? -error : error;
    }
    switch (wait_for(fd, POLLOUT, deadline_ns)) {
      case NumberOutcome::kReady: break;
      case NumberOutcome::kTimeout: return -EINPROGRESS;
      case NumberOutcome::kClosed: return -EBADF;
      case NumberOutcome::kRefused: hand_off([&] { return real().poll(&one, 1, -1); });
    }
  }
}

std::int64_t connect_socket(int fd, const sockaddr* to, socklen_t length) noexcept {
  const auto whole = [=] { return real().connect(fd, to, length); };
  const std::int64_t mode = result_of([=] { return fcntl(fd, F_GETFL); });
  if (mode < 0 || (mode & O_NONBLOCK) != 0 || !api::may_wait_here()) return result_of(whole);
  const int flags = static_cast<int>(mode);
  fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  const std::int64_t result = result_of(whole);
  fcntl(fd, F_SETFL, flags);
  if (result == -EINPROGRESS) return result_of_connecting(fd);
  if (result == -EAGAIN) return hand_off(whole);  // a Unix listener whose queue is full
  return result;
}

// `accept`: the call as it was made.
template <class Accept>
std::int64_t accept_one(int fd, Accept accept) noexcept {
  std::int64_t deadline_ns = 0;
  for (bool first = true;; first = false) {
    pollfd one{fd, POLLIN, 0};
    if (result_of([&] { return real().poll(&one, 1, 0); }) != 0) return hand_off(accept);
    if (first) {
      if (is_nonblocking(fd) || option_of(fd, SO_ACCEPTCONN) != 1 || !api::may_wait_here()) return result_of(accept);
      deadline_ns = deadline_of(fd, SO_RCVTIMEO);
    }
    switch (wait_for(fd, POLLIN, deadline_ns)) {
      case NumberOutcome::kReady: break;
      case NumberOutcome::kTimeout: return -EAGAIN;
      case NumberOutcome::kClosed: return -EBADF;
      case NumberOutcome::kRefused: return hand_off(accept);
    }
  }
}

}  // namespace
}  // namespace weft::posix

using namespace weft;
using namespace weft::posix;

WEFT_POSIX int connect(int fd, const sockaddr* to, socklen_t length) {
  if (WEFT_POSIX_PLAIN) return real().connect(fd, to, length);
  const api::ErrnoPlace place;
  return answer<int>(place, connect_socket(fd, to, length));
}

WEFT_POSIX int accept(int fd, sockaddr* from, socklen_t* room) {
  if (WEFT_POSIX_PLAIN) return real().accept(fd, from, room);
  const api::ErrnoPlace place;
  return answer<int>(place, accept_one(fd, [=] { return real().accept(fd, from, room); }));
}

WEFT_POSIX int accept4(int fd, sockaddr* from, socklen_t* room, int flags) {
  if (WEFT_POSIX_PLAIN) return real().accept4(fd, from, room, flags);
  const api::ErrnoPlace place;
  return answer<int>(place, accept_one(fd, [=] { return real().accept4(fd, from, room, flags); }));
}
