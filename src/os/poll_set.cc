// SPDX-License-Identifier: MIT
#include "os/poll_set.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <ctime>

#include "arch/fiber_sanitizer.h"
#include "base/check.h"
#include "os/clock.h"
#include "os/keep_errno.h"

namespace weft::os {
namespace {

constexpr long kSysEpollPwait2 = 441;  // newer than the oldest headers we build with; the same everywhere
constexpr std::uint64_t kBellToken = UINT64_MAX;

// Descriptors 0 to 2 may be closed at the start. If the poller got one of them, the program would print into the
// poller.
int keep_off_standard_streams(int fd) noexcept {
  if (fd < 0 || fd > 2) return fd;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  const int error = errno;
  close(fd);
  errno = error;
  return moved;
}

void close_if_open(int& fd) noexcept {
  if (fd >= 0) close(fd);
  fd = -1;
}

constexpr std::uint32_t kReading = EPOLLIN | EPOLLRDHUP | EPOLLPRI, kEdge = kReading | EPOLLOUT | EPOLLET;

inline std::uint32_t translate(std::uint32_t events) noexcept {
  static_assert(EPOLLIN == 1 && EPOLLOUT == 4 && PollEvent::kReadable == 1 && PollEvent::kWritable == 2);
  if (WEFT_LIKELY((events & ~std::uint32_t{EPOLLIN | EPOLLOUT}) == 0)) return (events & 1) | (events >> 1 & 2);
  std::uint32_t what = 0;
  if (events & (EPOLLIN | EPOLLRDHUP | EPOLLPRI)) what |= PollEvent::kReadable;
  if (events & EPOLLOUT) what |= PollEvent::kWritable;
  if (events & (EPOLLHUP | EPOLLERR)) what |= PollEvent::kReadable | PollEvent::kWritable | PollEvent::kClosing;
  if (events & EPOLLRDHUP) what |= PollEvent::kClosing;
  if (events & EPOLLPRI) what |= PollEvent::kUrgent;
  return what;
}

}  // namespace

int PollSet::open(const char*& failed) noexcept {
  const KeepErrno keep;
  int error = 0;
  set_ = keep_off_standard_streams(epoll_create1(EPOLL_CLOEXEC));
  if (set_ < 0) {
    error = errno;
    failed = "epoll_create1";
    return error;
  }
  bell_in_ = bell_out_ = keep_off_standard_streams(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (bell_in_ < 0) {
    int ends[2];
    failed = "eventfd and pipe2";
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
      error = errno;
    } else {
      bell_out_ = keep_off_standard_streams(ends[0]);
      bell_in_ = keep_off_standard_streams(ends[1]);
      if (bell_out_ < 0 || bell_in_ < 0) error = errno;
    }
  }
  if (error == 0) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kBellToken;
    if (epoll_ctl(set_, EPOLL_CTL_ADD, bell_out_, &event) != 0) {
      error = errno;
      failed = "epoll_ctl";
    }
  }
  if (error != 0) forget_after_fork();
  return error;
}

void PollSet::forget_after_fork() noexcept {
  const KeepErrno keep;
  if (bell_in_ == bell_out_) bell_in_ = -1;
  close_if_open(bell_in_);
  close_if_open(bell_out_);
  close_if_open(set_);
}

int PollSet::add(int fd, std::uint64_t token) noexcept {
  const KeepErrno keep;
  epoll_event event{};
  event.events = kEdge;
  event.data.u64 = token;
  return epoll_ctl(set_, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

int PollSet::change(int fd, std::uint64_t token, bool level) noexcept {
  const KeepErrno keep;
  epoll_event event{};
  event.events = level ? kReading : kEdge;
  event.data.u64 = token;
  return epoll_ctl(set_, EPOLL_CTL_MOD, fd, &event) == 0 ? 0 : errno;
}

int PollSet::arm(int fd, std::uint64_t token, std::uint32_t events, bool known) noexcept {
  const KeepErrno keep;
  epoll_event event{};
  event.events = events | EPOLLONESHOT;
  event.data.u64 = token;
  if (known) {
    if (epoll_ctl(set_, EPOLL_CTL_MOD, fd, &event) == 0) return 0;
    if (errno != ENOENT) return errno;
  }
  return epoll_ctl(set_, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

void PollSet::remove(int fd) noexcept {
  const KeepErrno keep;
  epoll_event ignored{};
  epoll_ctl(set_, EPOLL_CTL_DEL, fd, &ignored);
}

std::size_t PollSet::look(PollEvent (&events)[kBatch]) noexcept {
  const KeepErrno keep;
  epoll_event raw[kBatch];
  const int count = epoll_wait(set_, raw, kBatch, 0);
  std::size_t kept = 0;
  for (int i = 0; i < count; ++i)
    if (raw[i].data.u64 != kBellToken) events[kept++] = {raw[i].data.u64, translate(raw[i].events)};
  return kept;
}

std::size_t PollSet::wait(PollEvent (&events)[kBatch], std::int64_t deadline_ns) noexcept {
  const KeepErrno keep;
  epoll_event raw[kBatch];
  const int count = sleep(raw, deadline_ns);
  std::size_t kept = 0;
  for (int i = 0; i < count; ++i) {
    if (raw[i].data.u64 == kBellToken) {
      silence();
    } else {
      events[kept++] = {raw[i].data.u64, translate(raw[i].events)};
    }
  }
  return kept;
}

// A failure here (a signal, a refusal) counts as no event: the caller looks around and comes back.
int PollSet::sleep(void* events, std::int64_t deadline_ns) noexcept {
  auto* raw = static_cast<epoll_event*>(events);
  deadline_ns = arch::fiber_longest_wait(deadline_ns);
  timespec left{};
  timespec* limit = nullptr;
  if (deadline_ns != kForever) {
    const std::int64_t ns = deadline_ns - now_ns();
    if (ns > 0) {
      left.tv_sec = ns / 1'000'000'000;
      left.tv_nsec = ns % 1'000'000'000;
    }
    limit = &left;
  }
  if (!coarse_.load_relaxed()) {
    const long count = syscall(kSysEpollPwait2, set_, raw, kBatch, limit, nullptr, std::size_t{0});
    arch::fiber_take_signals();
    if (count >= 0 || errno == EINTR) return static_cast<int>(count);
    coarse_.store_relaxed(true);
  }
  pollfd both{set_, POLLIN, 0};
  if (ppoll(&both, 1, limit, nullptr) <= 0) return 0;
  return epoll_wait(set_, raw, kBatch, 0);
}

void PollSet::ring() noexcept {
  const KeepErrno keep;
  const std::uint64_t one = 1;
  // A bell that is full is ringing already.
  while (write(bell_in_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void PollSet::silence() noexcept {
  std::uint64_t drop[16];
  const ssize_t ignored = read(bell_out_, drop, sizeof drop);
  static_cast<void>(ignored);
}

}  // namespace weft::os
