// SPDX-License-Identifier: MIT
// Waiting for child processes: one child parks on its pidfd, any child is handed off.
#include <sys/syscall.h>

#include "os/futex.h"
#include "os/keep_errno.h"
#include "posix/goroutine_call.h"

namespace weft::posix {
namespace {

constexpr long kSysPidfdOpen = 434;

int descriptor_of(pid_t pid) noexcept {
  const os::KeepErrno keep;
  return static_cast<int>(syscall(kSysPidfdOpen, pid, 0));
}

// True: the child has ended. False: that cannot be waited for.
bool park_until_end(pid_t pid) noexcept {
  const int fd = descriptor_of(pid);
  if (fd < 0) return false;
  pollfd one{fd, POLLIN, 0};
  std::int64_t ended = 0;
  bool watched = true;
  while (watched && (ended = result_of([&] { return real().poll(&one, 1, 0); })) == 0)
    watched = wait_for(fd, POLLIN, os::kForever) == service::NumberOutcome::kReady;
  {
    const service::NumberClose closing(fd);
    real().close(fd);
  }
  return watched && ended > 0;
}

template <class Wait>
std::int64_t wait_for_child(pid_t pid, int options, Wait wait) noexcept {
  const auto whole = [=] { return wait(options); };
  if (pid <= 0 || options != 0) return hand_off(whole);
  const std::int64_t result = result_of([=] { return wait(WNOHANG); });
  if (result != 0) return result;
  if (!api::may_wait_here()) return result_of(whole);
  park_until_end(pid);
  return hand_off(whole);
}

}  // namespace
}  // namespace weft::posix

using namespace weft;
using namespace weft::posix;

WEFT_POSIX pid_t waitpid(pid_t pid, int* status, int options) {
  if (WEFT_POSIX_PLAIN || (options & WNOHANG) != 0) return real().waitpid(pid, status, options);
  const api::ErrnoPlace place;
  return answer<pid_t>(place, wait_for_child(pid, options, [=](int how) { return real().waitpid(pid, status, how); }));
}

WEFT_POSIX pid_t wait(int* status) {
  if (WEFT_POSIX_PLAIN) return real().wait(status);
  const api::ErrnoPlace place;
  return answer<pid_t>(place, hand_off([=] { return real().wait(status); }));
}

WEFT_POSIX pid_t wait3(int* status, int options, rusage* usage) noexcept {
  if (WEFT_POSIX_PLAIN || (options & WNOHANG) != 0) return real().wait3(status, options, usage);
  const api::ErrnoPlace place;
  return answer<pid_t>(place, hand_off([=] { return real().wait3(status, options, usage); }));
}

WEFT_POSIX pid_t wait4(pid_t pid, int* status, int options, rusage* usage) noexcept {
  if (WEFT_POSIX_PLAIN || (options & WNOHANG) != 0) return real().wait4(pid, status, options, usage);
  const api::ErrnoPlace place;
  return answer<pid_t>(place,
                       wait_for_child(pid, options, [=](int how) { return real().wait4(pid, status, how, usage); }));
}

WEFT_POSIX int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  if (WEFT_POSIX_PLAIN || (options & WNOHANG) != 0) return real().waitid(type, id, info, options);
  const api::ErrnoPlace place;
  return answer<int>(place, hand_off([=] { return real().waitid(type, id, info, options); }));
}
