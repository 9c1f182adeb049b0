// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>

#include "profile/pprof.h"
#include "sched/state/label_set.h"

// The CPU profile: every thread has a timer on its own CPU clock, which signals it after each period of computing. The
// handler notes where it is. So hogs, exiles, plain threads and the scheduler itself count by what they use.
//   Thread   It gives timers to new threads and collects the samples, every 20 ms. It starts with the first profile and
//            stays. A new thread computes up to 20 ms without a timer.
//   Handler  It follows frame pointers, and the unwind tables where they lead further (code of other libraries, which has
//            no frame pointers; plain threads). It reads name and
//            labels only of a goroutine on whose stack it stands and which no other thread can have: sp is null.
namespace weft::profile {

struct CpuSetup {
  const sched::LabelSet* (*labels_of_thread)() noexcept;  // of a plain thread; may be called in a handler
  void (*thread_started)();                               // a helper thread exists from now on (deadlock check)
};

// 0, or an errno: EBUSY (there is a profile being taken), EAGAIN (no thread), ENOMEM.
int start_cpu_profile(const CpuSetup& setup, int per_second, int signal);
// Nothing: none was started.
std::optional<Profile> stop_cpu_profile();

// The signal's handler calls it when the signal came from one of the timers. `overrun`: further periods since.
void take_cpu_sample(const void* ucontext, int overrun) noexcept;
// The value that the timers' signals carry.
void* cpu_timer_mark() noexcept;


}  // namespace weft::profile
