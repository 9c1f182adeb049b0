// SPDX-License-Identifier: MIT
// poll, select and epoll_wait: looked at without waiting, then parked on all of their descriptors. A library's own epoll
// set is a descriptor, too, which becomes readable when it has something to report.
//   Handed off  more than service::kMostNumbers descriptors; a mask of signals, which is there to be interrupted by them.
#include <algorithm>
#include <cstring>

#include "os/clock.h"
#include "os/futex.h"
#include "posix/goroutine_call.h"
#include "sched/wait/sleep.h"

namespace weft::posix {
namespace {

using service::kMostNumbers;
using service::NumberOutcome;
using service::NumberWait;

constexpr std::uint32_t kPollEvents = POLLIN | POLLPRI | POLLOUT | POLLRDNORM | POLLRDBAND | POLLWRNORM | POLLWRBAND | POLLRDHUP;

std::int64_t deadline_in_ms(int ms) noexcept { return ms < 0 ? os::kForever : os::now_ns() + ms * 1'000'000ll; }

// What is left, rounded up: a wait must not end before its time.
int ms_until(std::int64_t deadline_ns) noexcept {
  if (deadline_ns == os::kForever) return -1;
  const std::int64_t left = std::max<std::int64_t>(deadline_ns - os::now_ns(), 0);
  return static_cast<int>(std::min<std::int64_t>((left + 999'999) / 1'000'000, INT32_MAX));
}

struct Numbers {
  NumberWait waits[kMostNumbers];
  std::size_t count = 0;
  // False: there are too many.
  bool add(int fd, std::uint32_t events) noexcept {
    if (count == kMostNumbers) return false;
    waits[count++] = {fd, events};
    return true;
  }
};

// Repeats look(), which does not wait, until it returns something other than 0 or the deadline has come. `whole`: waits
// as the C library does, with that deadline. -EBADF: `closed` was closed meanwhile.
template <class Look, class Whole>
std::int64_t look_until(const Numbers& numbers, std::int64_t deadline_ns, std::size_t& closed, Look look,
                        Whole whole) noexcept {
  for (;;) {
    if (numbers.count == 0) {
      sched::sleep_until(deadline_ns);
      return result_of(look);
    }
    const NumberOutcome outcome = service::wait_for_numbers(numbers.waits, numbers.count, deadline_ns, &closed);
    if (outcome == NumberOutcome::kClosed) return -EBADF;
    if (outcome == NumberOutcome::kRefused) return hand_off(whole);
    const std::int64_t found = result_of(look);
    if (found != 0 || outcome == NumberOutcome::kTimeout) return found;
  }
}

std::int64_t poll_until(pollfd* descriptors, nfds_t count, std::int64_t deadline_ns) noexcept {
  const auto look = [=] { return real().poll(descriptors, count, 0); };
  const auto whole = [=] { return real().poll(descriptors, count, ms_until(deadline_ns)); };
  const std::int64_t found = result_of(look);
  if (found != 0 || deadline_ns <= os::now_ns()) return found;
  if (!api::may_wait_here()) return result_of(whole);
  Numbers numbers;
  nfds_t places[kMostNumbers];
  for (nfds_t i = 0; i < count; ++i) {
    if (descriptors[i].fd < 0) continue;
    places[std::min(numbers.count, kMostNumbers - 1)] = i;
    const auto events = static_cast<std::uint32_t>(static_cast<std::uint16_t>(descriptors[i].events)) & kPollEvents;
    if (!numbers.add(descriptors[i].fd, events)) return hand_off(whole);
  }
  std::size_t closed = 0;
  const std::int64_t result = look_until(numbers, deadline_ns, closed, look, whole);
  if (result != -EBADF) return result;
  descriptors[places[closed]].revents = POLLNVAL;
  return 1;
}

// --- select ---

// The three sets as they were passed, of which the kernel overwrites copies.
struct Sets {
  Sets(int size, fd_set* in, fd_set* out, fd_set* except) noexcept
      : count(size), bytes(static_cast<std::size_t>(size + 63) / 64 * 8), passed{in, out, except} {
    for (int i = 0; i < 3; ++i)
      if (passed[i] != nullptr) std::memcpy(&wanted[i], passed[i], bytes);
  }
  fd_set* restored(int which) noexcept {
    if (passed[which] != nullptr) std::memcpy(passed[which], &wanted[which], bytes);
    return passed[which];
  }
  int select(timeval* limit) noexcept { return real().select(count, restored(0), restored(1), restored(2), limit); }
  int look() noexcept {
    timeval now{};
    return select(&now);
  }
  bool collect(Numbers& numbers) const noexcept {
    constexpr std::uint32_t kEvents[] = {POLLIN, POLLOUT, POLLPRI};
    for (int fd = 0; fd < count; ++fd) {
      std::uint32_t events = 0;
      for (int i = 0; i < 3; ++i)
        if (passed[i] != nullptr && FD_ISSET(fd, &wanted[i])) events |= kEvents[i];
      if (events != 0 && !numbers.add(fd, events)) return false;
    }
    return true;
  }

  int count;
  std::size_t bytes;
  fd_set* passed[3];
  fd_set wanted[3];
};

timeval time_left(std::int64_t deadline_ns) noexcept {
  const std::int64_t left = std::max<std::int64_t>(deadline_ns - os::now_ns(), 0);
  return {left / 1'000'000'000, left % 1'000'000'000 / 1000};
}

std::int64_t select_until(int count, fd_set* in, fd_set* out, fd_set* except, std::int64_t deadline_ns) noexcept {
  Sets sets(count, in, out, except);
  const auto look = [&] { return sets.look(); };
  const auto whole = [&] {
    timeval left = time_left(deadline_ns);
    return sets.select(deadline_ns == os::kForever ? nullptr : &left);
  };
  const std::int64_t found = result_of(look);
  if (found != 0 || deadline_ns <= os::now_ns()) return found;
  if (!api::may_wait_here()) return result_of(whole);
  Numbers numbers;
  if (!sets.collect(numbers)) return hand_off(whole);
  std::size_t closed = 0;
  return look_until(numbers, deadline_ns, closed, look, whole);
}

// More descriptors than a set of the usual size has, and limits that are wrong, are the C library's to judge.
bool is_usual(int count, long seconds, long fraction, long most) noexcept {
  return count >= 0 && count <= FD_SETSIZE && seconds >= 0 && fraction >= 0 && fraction < most;
}

std::int64_t epoll_until(int fd, epoll_event* events, int most, std::int64_t deadline_ns) noexcept {
  const auto look = [=] { return real().epoll_wait(fd, events, most, 0); };
  const auto whole = [=] { return real().epoll_wait(fd, events, most, ms_until(deadline_ns)); };
  const std::int64_t found = result_of(look);
  if (found != 0 || deadline_ns <= os::now_ns()) return found;
  if (!api::may_wait_here()) return result_of(whole);
  Numbers numbers;
  numbers.add(fd, POLLIN);
  std::size_t closed = 0;
  return look_until(numbers, deadline_ns, closed, look, whole);
}

std::int64_t deadline_after(std::int64_t seconds, std::int64_t ns) noexcept {
  constexpr std::int64_t kMostSeconds = 1'000'000'000;  // 30 years
  return os::now_ns() + std::min(seconds, kMostSeconds) * 1'000'000'000 + ns;
}

}  // namespace
}  // namespace weft::posix

using namespace weft;
using namespace weft::posix;

WEFT_POSIX int poll(pollfd* descriptors, nfds_t count, int timeout_ms) {
  if (WEFT_POSIX_PLAIN || timeout_ms == 0) return real().poll(descriptors, count, timeout_ms);
  const api::ErrnoPlace place;
  return answer<int>(place, poll_until(descriptors, count, deadline_in_ms(timeout_ms)));
}

WEFT_POSIX int ppoll(pollfd* descriptors, nfds_t count, const timespec* limit, const sigset_t* mask) {
  const bool usual = limit == nullptr || is_usual(0, limit->tv_sec, limit->tv_nsec, 1'000'000'000);
  if (WEFT_POSIX_PLAIN || !usual) return real().ppoll(descriptors, count, limit, mask);
  const api::ErrnoPlace place;
  if (mask != nullptr)
    return answer<int>(place, hand_off([=] { return real().ppoll(descriptors, count, limit, mask); }));
  const std::int64_t deadline_ns = limit != nullptr ? deadline_after(limit->tv_sec, limit->tv_nsec) : os::kForever;
  return answer<int>(place, poll_until(descriptors, count, deadline_ns));
}

WEFT_POSIX int select(int count, fd_set* in, fd_set* out, fd_set* except, timeval* limit) {
  const bool usual = is_usual(count, limit != nullptr ? limit->tv_sec : 0, 0, 1) && (limit == nullptr || limit->tv_usec >= 0);
  if (WEFT_POSIX_PLAIN || !usual) return real().select(count, in, out, except, limit);
  const api::ErrnoPlace place;
  const std::int64_t deadline_ns = limit != nullptr ? deadline_after(limit->tv_sec, limit->tv_usec * 1000l) : os::kForever;
  const std::int64_t result = select_until(count, in, out, except, deadline_ns);
  if (limit != nullptr) *limit = time_left(deadline_ns);  // as the kernel does
  return answer<int>(place, result);
}

WEFT_POSIX int pselect(int count, fd_set* in, fd_set* out, fd_set* except, const timespec* limit, const sigset_t* mask) {
  const bool usual = limit == nullptr ? is_usual(count, 0, 0, 1) : is_usual(count, limit->tv_sec, limit->tv_nsec, 1'000'000'000);
  if (WEFT_POSIX_PLAIN || !usual) return real().pselect(count, in, out, except, limit, mask);
  const api::ErrnoPlace place;
  if (mask != nullptr)
    return answer<int>(place, hand_off([=] { return real().pselect(count, in, out, except, limit, mask); }));
  const std::int64_t deadline_ns = limit != nullptr ? deadline_after(limit->tv_sec, limit->tv_nsec) : os::kForever;
  return answer<int>(place, select_until(count, in, out, except, deadline_ns));
}

WEFT_POSIX int epoll_wait(int fd, epoll_event* events, int most, int timeout_ms) {
  if (WEFT_POSIX_PLAIN || timeout_ms == 0) return real().epoll_wait(fd, events, most, timeout_ms);
  const api::ErrnoPlace place;
  return answer<int>(place, epoll_until(fd, events, most, deadline_in_ms(timeout_ms)));
}

WEFT_POSIX int epoll_pwait(int fd, epoll_event* events, int most, int timeout_ms, const sigset_t* mask) {
  if (WEFT_POSIX_PLAIN || timeout_ms == 0) return real().epoll_pwait(fd, events, most, timeout_ms, mask);
  const api::ErrnoPlace place;
  if (mask != nullptr)
    return answer<int>(place, hand_off([=] { return real().epoll_pwait(fd, events, most, timeout_ms, mask); }));
  return answer<int>(place, epoll_until(fd, events, most, deadline_in_ms(timeout_ms)));
}
