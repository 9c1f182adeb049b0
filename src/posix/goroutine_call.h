// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>
#include <cerrno>
#include <cstdint>

#include "api/foreign_call.h"
#include "posix/real.h"
#include "service/netpoll_number.h"

// What the definitions of this directory share. Each of them has the name and the meaning of a function of the C
// library, and is found in its place by the program and its shared libraries.
//   Who      WEFT_POSIX_PLAIN: everybody but a goroutine, and the runtime itself, gets the C library's function, at
//            once. The rest of a definition is for goroutines.
//   How      try without waiting; if that would block, park until the netpoller reports the descriptor, and try again.
//            What cannot be tried, or is not watched, blocks with the P given up ("hands off").
//   Results  within this directory a failure is -errno. errno itself is written last, by api::ErrnoPlace, because the
//            goroutine may have changed its thread.
//   Text     This code does not count as the runtime's: a goroutine may be preempted in it, as in other people's. So it
//            holds no lock, and waits only in functions of the layers below.
namespace weft::posix {

#define WEFT_POSIX extern "C" __attribute__((visibility("default")))
#define WEFT_POSIX_PLAIN (!::weft::api::is_goroutine_call(__builtin_return_address(0)))

// Not inlined, because the caller may have switched threads, and the compiler keeps the address of errno for the length
// of a function.
template <class Call>
__attribute__((noinline)) std::int64_t result_of(Call call) noexcept {
  const std::int64_t result = call();
  return result >= 0 ? result : -static_cast<std::int64_t>(errno);
}

// As the C library returns it.
template <class Result = ssize_t>
Result answer(const api::ErrnoPlace& place, std::int64_t result) noexcept {
  if (result >= 0) return static_cast<Result>(result);
  place.fail(static_cast<int>(-result));
  return -1;
}

// The call may block the thread; the P serves others meanwhile. The result, or -errno.
template <class Call>
std::int64_t hand_off(Call call) noexcept {
  if (!api::may_wait_here()) return result_of(call);
  api::enter_foreign_call();
  const std::int64_t result = result_of(call);
  api::leave_foreign_call();
  return result;
}

// Parks until the descriptor is ready for the events (those of poll), or the deadline has come.
inline service::NumberOutcome wait_for(int fd, std::uint32_t events, std::int64_t deadline_ns) noexcept {
  const service::NumberWait one{fd, events};
  return service::wait_for_numbers(&one, 1, deadline_ns);
}

// Has the library itself asked for a descriptor that does not wait? Asked anew each time, because the mode belongs to
// the open file, which other descriptors and other processes may share.
bool is_nonblocking(int fd) noexcept;
// When a call that begins now is over by SO_RCVTIMEO or SO_SNDTIMEO. os::kForever: never.
std::int64_t deadline_of(int fd, int option) noexcept;

// What a descriptor is, as far as it matters here.
enum class Kind : std::uint8_t {
  kUnknown,
  kSocket,  // read and write are recv and send
  kDisk,    // no readiness to wait for
  kOther,   // pipes, terminals, timers, ...: readiness, but no call that tries
};
Kind kind_of(int fd) noexcept;

// Repeats `attempt`, which does not wait, until it need not. `whole` is the call as the library made it.
template <class Attempt, class Whole>
std::int64_t repeat(int fd, std::uint32_t events, int timeout_option, Attempt attempt, Whole whole) noexcept {
  std::int64_t result = result_of(attempt);
  if (result != -EAGAIN || is_nonblocking(fd)) return result;
  if (!api::may_wait_here()) return result_of(whole);
  const std::int64_t deadline_ns = deadline_of(fd, timeout_option);
  while (result == -EAGAIN) {
    switch (wait_for(fd, events, deadline_ns)) {
      case service::NumberOutcome::kReady: result = result_of(attempt); break;
      case service::NumberOutcome::kTimeout: return -EAGAIN;
      case service::NumberOutcome::kClosed: return -EBADF;
      case service::NumberOutcome::kRefused: return hand_off(whole);
    }
  }
  return result;
}

}  // namespace weft::posix
