// SPDX-License-Identifier: MIT
#include "os/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <ctime>

#include "arch/fiber_sanitizer.h"
#include "os/keep_errno.h"

namespace weft::os {

void futex_wait(base::Atom<std::uint32_t>& word, std::uint32_t expected, std::int64_t deadline_ns) noexcept {
  const KeepErrno keep;
  deadline_ns = arch::fiber_longest_wait(deadline_ns);
  timespec when{};
  timespec* limit = nullptr;
  if (deadline_ns != kForever) {
    if (deadline_ns < 0) deadline_ns = 0;
    when.tv_sec = deadline_ns / 1'000'000'000;
    when.tv_nsec = deadline_ns % 1'000'000'000;
    limit = &when;
  }
  // WAIT_BITSET takes an absolute time; plain WAIT a relative one, which drifts when a signal restarts it.
  syscall(SYS_futex, &word.raw(), FUTEX_WAIT_BITSET_PRIVATE, expected, limit, nullptr, FUTEX_BITSET_MATCH_ANY);
  arch::fiber_take_signals();
}

void futex_wake(base::Atom<std::uint32_t>& word, int count) noexcept {
  const KeepErrno keep;
  syscall(SYS_futex, &word.raw(), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace weft::os
