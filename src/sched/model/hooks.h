// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "os/thread.h"

namespace weft::sched {

struct Goroutine;
struct WaitFacts;
struct WakeSource;

// Functions that the layers above provide to the scheduler, and that tests replace to inject faults. Set before the
// scheduler starts.
struct Hooks {
  void (*thread_started)() = [] {};
  void (*thread_ending)() = [] {};
  int (*start_thread)(void (*entry)(void*), void* argument, std::size_t stack_bytes,
                      const char* name) noexcept = os::start_thread;
  void (*warn_thread_refused)(int error) = [](int) {};
  void (*warn_signal_refused)(int signal, int error) = [](int, int) {};
  void (*poke_sysmon)() = [] {};  // sysmon should look sooner than it planned to
  void (*watch_locks)(std::int64_t now_ns) = [](std::int64_t) {};  // sysmon: looks for cycles of waits
  void (*all_idle)() = [] {};     // the last P has become idle: deadlock check
  void (*report_overflow)(const Goroutine* g, const void* address) = [](const Goroutine*, const void*) {};
  void (*tell_wait)(const Goroutine* g, WaitFacts& facts) = [](const Goroutine*, WaitFacts&) {};  // for dumps
  // The channel through which g, which waits no longer, was woken, and its name. Null: not by a goroutine.
  const void* (*tell_meeting)(const Goroutine* g, char* name,
                              std::size_t size) noexcept = [](const Goroutine*, char*, std::size_t) noexcept {
    return static_cast<const void*>(nullptr);
  };
  // For searches: calls visit for each of what could end g's wait (observe/wake_source.h). False: nothing is known.
  bool (*tell_wakers)(const Goroutine* g, void (*visit)(void* context, const WakeSource& waker), void* context) =
      [](const Goroutine*, void (*)(void*, const WakeSource&), void*) { return false; };
};

extern __attribute__((visibility("hidden"))) Hooks hooks;

}  // namespace weft::sched
