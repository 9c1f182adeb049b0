// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sched/state/control.h"
#include "weft/testing.h"

// clock_gettime() of a program that includes <weft/testing.h>.
//   Zero      The virtual clock is counted from kVirtualFromNs by CLOCK_MONOTONIC, and from 2000-01-01 by
//             CLOCK_REALTIME. CPU clocks stay real.
//   Real      The C library's function is looked up before main, because a signal handler may ask for the time.
namespace weft::testing::detail {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kYear2000 = 946'684'800;

using Function = int (*)(clockid_t, timespec*);
constinit base::Atom<Function> real{nullptr};

__attribute__((constructor)) void find_real() {
  real.store_relaxed(reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clock_gettime")));
}

bool is_virtual(clockid_t clock) noexcept {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
    case CLOCK_TAI:              return true;
    default:                     return false;
  }
}
bool counts_from_1970(clockid_t clock) noexcept {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

}  // namespace

int read_clock(clockid_t clock, timespec* time) noexcept {
  const sched::Control* own = sched::own_control();
  if (own != nullptr && is_virtual(clock)) {
    const std::int64_t now = own->now_ns();
    const std::int64_t ns = counts_from_1970(clock) ? now - sched::kVirtualFromNs : now;
    time->tv_sec = ns / kSecond + (counts_from_1970(clock) ? kYear2000 : 0);
    time->tv_nsec = ns % kSecond;
    return 0;
  }
  if (const Function found = real.load_relaxed()) return found(clock, time);
  return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
}

}  // namespace weft::testing::detail
