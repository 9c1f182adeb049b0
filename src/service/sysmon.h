// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>

// The monitor thread. It takes Ps from long calls, preempts goroutines whose time slice is over, starts threads beyond
// the throttle, gives turns to exiles, runs timers and looks at descriptors that every P neglects, trims stacks,
// follows the CPU limits, prints schedtrace lines and answers SIGQUIT.
//   Pace     A look every 20 us while a call holds up work (two looks at the same call, and its P is taken). The period
//            doubles up to 10 ms when nothing happens. While every P is idle, sysmon sleeps for up to 1 s, until the
//            first P is taken or poke_sysmon() is called.
namespace weft::service {

struct SysmonOptions {
  std::int64_t schedtrace_ns = 0;  // 0: off
  bool follow_cpu_limits = true;   // maxprocs was not set by hand
  // With more locked goroutines than that, the policy changes (sched/rule/locked_fallback.h).
  std::optional<std::uint32_t> most_locked;
  struct Fallback {
    bool (*is_in_force)();
    void (*begin)();
    void (*end)();
  } fallback{};
};

// False: the thread could not be started.
bool start_sysmon(const SysmonOptions& options);
void set_follow_cpu_limits(bool follow);
void poke_sysmon();

// Async-signal-safe. Sysmon prints all goroutines and exits with status 2.
void request_dump_and_exit();
// The same, and goes on.
void request_dump();

}  // namespace weft::service
