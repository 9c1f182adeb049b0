// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <poll.h>

#include "api/socket.h"
#include "api/start.h"
#include "os/clock.h"
#include "sched/state/control.h"
#include "weft/io.h"

// Waiting for descriptors of the caller.
//   How       A duplicate is registered for the time of the wait. So several goroutines may wait for one descriptor,
//             also for one of the library's own, and a number that is closed and used again meanwhile does no harm.
//   Verdict   poll(2) before and after: what it says is what the caller gets.
namespace weft::io {
namespace {

using namespace net;  // the helpers of api/socket.h

bool is_ready(int fd, short events, const char* what) {
  pollfd one{fd, events, 0};
  const ssize_t count = system_call([&] { return ::poll(&one, 1, 0); });
  if (count < 0 && count != -EINTR) detail::throw_io_error(error_from(static_cast<int>(-count)), what);
  if ((one.revents & POLLNVAL) != 0) throw std::system_error(error_from(EBADF), std::string("weft: ") + what);
  return one.revents != 0;
}

bool wait_for(int fd, Side side, time_point deadline, const char* what) {
  const short events = side == Side::kRead ? POLLIN : POLLOUT;
  if (is_ready(fd, events, what)) return true;
  const std::int64_t deadline_ns = detail::deadline_at(deadline);
  if (deadline_ns != os::kForever && deadline_ns <= sched::caller_now_ns()) return false;
  const ssize_t duplicate = system_call([&] { return fcntl(fd, F_DUPFD_CLOEXEC, 3); });
  if (duplicate < 0) detail::throw_io_error(error_from(static_cast<int>(-duplicate)), what);
  std::error_code error;
  Descriptor* descriptor = adopt_or_close(static_cast<int>(duplicate), error);
  detail::throw_if(error, what);
  const detail::io_handle owner(descriptor);
  if (deadline_ns != os::kForever) descriptor->set_deadline(side, deadline_ns);
  Operation operation(*descriptor, side);
  int stop = operation.error();
  while (stop == 0 && !is_ready(operation.fd(), events, what)) stop = operation.wait();
  return stop == 0 || is_ready(operation.fd(), events, what);
}

}  // namespace

bool wait_readable(int fd, time_point deadline) { return wait_for(fd, Side::kRead, deadline, "wait_readable"); }
bool wait_writable(int fd, time_point deadline) { return wait_for(fd, Side::kWrite, deadline, "wait_writable"); }

}  // namespace weft::io
