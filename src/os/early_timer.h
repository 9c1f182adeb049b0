// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"

namespace weft::os {

// Has the CPU's timer set for a sleep before a thread asks for it.
//   Why      on a virtual machine each setting of that timer is a way to the hypervisor and back, 7 to 50 us of the thread's CPU time. A time
//            that is later than one already set only joins the kernel's list, and the interrupt of the earlier one, which sets the timer
//            anyway, sets it for the next. So who knows when it will sleep next asks for that while the sleep before it is still to come:
//            a nap of 300 us costs 14 us instead of 31 (a bare program on one Intel Xeon VM; other hypervisors were not measured).
//   How      two timers whose signals nobody hears of, in turns; the sleep itself is any call with a time limit, which finds the CPU's timer
//            set. The kernel keeps a list for each CPU, so a thread that has moved begins anew.
//   Wrong    times cost an interrupt that wakes nobody. Where there are no such timers nothing is set, and all is as slow as without.
//   Threads  any; of two at once one goes without.
//   Rejected timerfds: programs count their descriptors, and close those they do not know.
class EarlyTimer {
 public:
  // Whether it is worth a system call for each sleep: on x86 under a hypervisor. (Virtual timers of ARM are set without one.)
  static bool pays() noexcept;

  // Called once. The signals (SIGURG) are the calling thread's, which never hears of them, and must live as long as this.
  void open() noexcept;

  // A hint: nobody is setting it, and it can be set.
  bool is_free() const noexcept { return !busy_.load_relaxed(); }
  // The caller is about to sleep until at_ns, and some time after that until then_ns. When to ask for: at_ns, or the time close to it
  // that is set already.
  std::int64_t set(std::int64_t at_ns, std::int64_t then_ns) noexcept;

 private:
  struct Kept {
    int id = 0;
    std::int64_t at_ns = 0;
  };
  bool arm(Kept& timer, std::int64_t at_ns) noexcept;

  base::Atom<bool> busy_{true};  // until open() has succeeded; for good, when the system refuses
  Kept timers_[2];
  int cpu_ = -1;  // that has them
};

}  // namespace weft::os
