// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"

namespace weft::os {

// Sets the CPU's timer for a sleep before a thread asks for it.
//   Why       on a virtual machine each setting of that timer is a way to the hypervisor and back: 7 to 50 us of the
//             thread's CPU time. A time that is later than one already set only joins the kernel's list. The interrupt
//             of the earlier time sets the timer anyway, and sets it for the next time. So a thread that knows when it
//             will sleep next asks for that time while the sleep before it is still to come. A nap of 300 us then costs
//             14 us instead of 31 us (a bare program on one Intel Xeon VM; other hypervisors were not measured).
//   How       two POSIX timers with a blocked signal, in turns. The sleep itself is any call with a time limit, which
//             finds the CPU's timer set. The kernel keeps a list for each CPU, so after a move to another CPU both
//             timers are set again.
//   Wrong     a wrong time costs an interrupt that wakes no thread. Where the kernel refuses the timers nothing is set,
//             and every sleep costs what it costs without this class.
//   Threads   any. Of two that set it at once one goes without.
//   Rejected  timerfds: programs count their descriptors, and close those they do not know.
class EarlyTimer {
 public:
  // Whether it is worth a system call for each sleep: on x86 under a hypervisor. (ARM's virtual timers are set without
  // the hypervisor.)
  static bool pays() noexcept;

  // Called once. The timers signal (SIGURG) the calling thread, which blocks that signal for good and must live as long
  // as this object.
  void open() noexcept;

  // A hint: no thread is setting it now, and it can be set.
  bool is_free() const noexcept { return !busy_.load_relaxed(); }
  // The caller is about to sleep until at_ns, and some time after that until then_ns. Returns the time to ask for:
  // at_ns, or the time close to it that is set already.
  std::int64_t set(std::int64_t at_ns, std::int64_t then_ns) noexcept;

 private:
  struct Kept {
    int id = 0;
    std::int64_t at_ns = 0;
  };
  bool arm(Kept& timer, std::int64_t at_ns) noexcept;

  base::Atom<bool> busy_{true};  // until open() has succeeded; for good, once the system refuses
  Kept timers_[2];
  int cpu_ = -1;  // whose list has the timers
};

}  // namespace weft::os
