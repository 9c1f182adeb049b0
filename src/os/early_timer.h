// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"

namespace weft::os {

// Has the CPU's timer set for a sleep before a thread asks for it.
//   Why      on a virtual machine each setting of that timer is a way to the hypervisor and back, 7 to 50 us of the thread's CPU time. A time
//            that is later than one already set only joins the kernel's list, and the interrupt of the earlier one, which sets the timer
//            anyway, sets it for the next. So who knows when it will sleep next asks for that while the sleep before it is still to come:
//            a nap of 300 us costs 14 us instead of 31.
//   How      two timerfds that nobody reads, in turns; the sleep itself is any call with a time limit, which finds the timer set. The
//            kernel keeps a list for each CPU, so a thread that has moved begins anew.
//   Wrong    times cost an interrupt that wakes nobody. Where there are no timerfds, or the program has closed them, nothing is set, and all is
//            as slow as without. (One that has opened a timerfd of its own under that number since finds it set.)
//   Threads  any; of two at once one goes without.
class EarlyTimer {
 public:
  // Whether that way is worth two system calls less: on x86 under a hypervisor. (Virtual timers of ARM are set without it.)
  static bool pays() noexcept;

  // The caller is about to sleep until at_ns, and some time after that until then_ns. When to ask for: at_ns, or the time close to it
  // that is set already.
  std::int64_t set(std::int64_t at_ns, std::int64_t then_ns) noexcept;

 private:
  struct Kept {
    int fd = -1;
    std::int64_t at_ns = 0;
  };
  bool open() noexcept;
  bool arm(Kept& timer, std::int64_t at_ns) noexcept;

  base::Atom<bool> busy_{false};  // for good, when the system has refused
  Kept timers_[2];
  int cpu_ = -1;  // that has them
};

}  // namespace weft::os
