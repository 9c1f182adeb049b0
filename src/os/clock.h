// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <ctime>

namespace weft::os {

// Later times are those of a virtual clock (sched/state/control.h).
inline constexpr std::int64_t kVirtualFromNs = std::int64_t{1} << 60;
// CLOCK_MONOTONIC, asked by system call: a program that uses <weft/testing.h> has a clock_gettime() of its own.
std::int64_t kernel_now_ns() noexcept;

// CLOCK_MONOTONIC: what timers, deadlines and std::chrono::steady_clock use. Real time, whatever clock the calling
// goroutine reads.
inline std::int64_t now_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t ns = now.tv_sec * 1'000'000'000ll + now.tv_nsec;
  return __builtin_expect(ns < kVirtualFromNs, 1) ? ns : kernel_now_ns();
}

// CPU time of a thread of this process; -1: there is no such thread.
std::int64_t cpu_time_ns(int thread) noexcept;

// A cheap counter for measuring short spans (11 ns against 28 ns for the clock): time-stamp counter or generic timer.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return static_cast<std::uint64_t>(now_ns());
#endif
}

// Ticks per microsecond, measured once by calibrate_ticks() (100 us), 1 before that.
void calibrate_ticks() noexcept;
std::uint64_t ticks_per_us() noexcept;
inline std::uint64_t us_to_ticks(std::uint64_t us) noexcept { return us * ticks_per_us(); }

}  // namespace weft::os
