// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// The monitor thread: takes Ps from long calls, asks hogs to give way, grants threads beyond the throttle, trims
// stacks, follows the CPU limits, prints schedtrace lines, answers SIGQUIT.
//   Pace     20 us while a call holds up work (two looks make a retake), doubling to 10 ms when nothing happens. Asleep
//            while every P is idle, until the first one is taken or poke_sysmon() is called.
namespace weft::service {

struct SysmonOptions {
  std::int64_t schedtrace_ns = 0;  // 0: off
  bool follow_cpu_limits = true;   // maxprocs was not set by hand
};

// False: the thread could not be started.
bool start_sysmon(const SysmonOptions& options);
void set_follow_cpu_limits(bool follow);
void poke_sysmon();

// Async-signal-safe: print all goroutines and exit with status 2.
void request_dump_and_exit();

}  // namespace weft::service
