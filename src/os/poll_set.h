// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "os/futex.h"

// A set of descriptors that the kernel watches: epoll, edge-triggered, with a bell that ends a wait.
//   Precision   epoll_pwait2 waits in nanoseconds. Where it is refused (old kernels, seccomp), ppoll on the set itself
//               does so, at the price of a second call. epoll_wait alone would round every timer to a millisecond.
//   Bell        an eventfd, or a pipe where that is refused. It is level-triggered and emptied only by a wait that may
//               block: a look that does not block must not consume the ring meant for the sleeper.
//   Level       a descriptor may be watched level-triggered for a while, for reading only. It is reported as long as
//               there is something to read.
//   Refusal     open() says which call failed; then no other function may be used.
namespace weft::os {

struct PollEvent {
  static constexpr std::uint32_t kReadable = 1, kWritable = 2, kClosing = 4, kUrgent = 8;
  std::uint64_t token;
  std::uint32_t what;
};

class PollSet {
 public:
  static constexpr std::size_t kBatch = 128;

  // 0, or the errno of the call that is named in `failed`.
  int open(const char*& failed) noexcept;
  bool is_open() const noexcept { return set_ >= 0; }
  // Closes the descriptors without touching what the parent of this forked process watches.
  void forget_after_fork() noexcept;

  // Watches both directions, once for the life of the descriptor. 0 or an errno.
  int add(int fd, std::uint64_t token) noexcept;
  void remove(int fd) noexcept;
  // Watches by level or by edge from now on. What is ready at that moment is reported once more. 0 or an errno.
  int change(int fd, std::uint64_t token, bool level) noexcept;

  // Reports the descriptor once for these events (epoll's bits), now or later. `known`: it may have been armed before;
  // what add() watches is refused (EEXIST) if not. 0 or an errno.
  int arm(int fd, std::uint64_t token, std::uint32_t events, bool known) noexcept;

  // What has happened by now: up to kBatch events.
  std::size_t look(PollEvent (&events)[kBatch]) noexcept;
  // Sleeps until something happens, the bell rings or the time has come. May return early with nothing.
  std::size_t wait(PollEvent (&events)[kBatch], std::int64_t deadline_ns) noexcept;
  void ring() noexcept;

 private:
  int sleep(void* events, std::int64_t deadline_ns) noexcept;
  void silence() noexcept;

  int set_ = -1, bell_in_ = -1, bell_out_ = -1;
  base::Atom<bool> coarse_{false};  // epoll_pwait2 is refused
};

}  // namespace weft::os
