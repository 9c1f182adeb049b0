// SPDX-License-Identifier: MIT
#include "os/clock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "os/keep_errno.h"

namespace weft::os {
namespace {
base::Atom<std::uint64_t> per_us{1};
}

std::int64_t kernel_now_ns() noexcept {
  timespec now{};
  const KeepErrno keep;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

std::int64_t cpu_time_ns(int thread) noexcept {
  const KeepErrno keep;
  constexpr unsigned kThreadCpuTime =
      6;  // the kernel's encoding of such a clock, which pthread_getcpuclockid uses, too
  timespec time;
  if (clock_gettime(static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kThreadCpuTime), &time) != 0)
    return -1;
  return time.tv_sec * 1'000'000'000ll + time.tv_nsec;
}

void calibrate_ticks() noexcept {
  const std::int64_t start_ns = now_ns();
  const std::uint64_t start = ticks();
  std::int64_t elapsed_ns;
  do elapsed_ns = now_ns() - start_ns;
  while (elapsed_ns < 100'000);
  const std::uint64_t elapsed = ticks() - start;
  const std::uint64_t rate = elapsed * 1000 / static_cast<std::uint64_t>(elapsed_ns);
  per_us.store_relaxed(rate == 0 ? 1 : rate);  // no order: a stale 1 only makes a heuristic impatient
}

std::uint64_t ticks_per_us() noexcept { return per_us.load_relaxed(); }

}  // namespace weft::os
