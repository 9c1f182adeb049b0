// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/state/scheduler.h"

// Leases: a goroutine that blocks its thread without announcing it (a client library's read, a usleep) does not keep
// its P from the others.
//   Learn    The preemption signal finds a goroutine asleep in a system call (preempt.cc; plain_call_watch.h says when
//            it is sent). The habit of the goroutine grows, and that of its spawn site. From then on the goroutine has
//            kGBlocks.
//   Lease    Whenever such a goroutine goes back to user code from a wait, it leaves its P "in call" (handoff.h), as
//            weft::blocking() does. The P belongs to the thread that wins the CAS of its word: the goroutine's own at
//            its next call of the runtime, or sysmon if that thread sleeps. This needs no signal and interrupts no
//            call.
//   At once  With a strong habit the P is given away at once: sysmon's two looks would cost the P 50 us a call.
//   Verify   At its return the goroutine asks the kernel whether its thread has slept (habit +2) or not (-1), and how
//            long it has computed. After more than kMostComputingNs it does not give the P away at once next time,
//            because it would compute beyond maxprocs.
//   Sites    A goroutine whose spawn site has the habit starts with a lease, because in many servers each goroutine
//            makes one such call.
//
//   Invariants  L1 Machine::leased implies Machine::exiled: all that is said of exiles (preempt.h) holds.
//               L2 A lease begins where the runtime has nothing left to do for the goroutine but to return: after the
//                  switch in park() and yield(), at the end of a LeaseKept, and before its first instruction. What
//                  follows there (the end of a channel's receive, of a select) uses no P.
//               L3 kGBlocks changes only while the goroutine is in user code or returns from a lease, so a wait that
//                  began with it ends with it.
//   Orders      none of its own: processor.word (handoff.h). Habits of sites are hints.
//   Rejected    A lease at each return of an API function: each would need a branch (yield, ping-pong). Interposing
//               libc: it misses static programs, direct system calls and locks of the C library. Signals only, without
//               leases: 1,400 calls a second instead of 39,000.
namespace weft::sched {

inline constexpr std::uint8_t kHabitMax = 8;
inline constexpr std::uint8_t kHabitStrong = 4;  // slept in each of the last two leases

// In the handler, on g's thread, which was in user code: the signal found it asleep in a system call.
void learn_plain_call(Goroutine* g) noexcept;

// The current goroutine goes back to user code. Leaves its P to others, if it has the habit and nothing speaks against
// that. Does not switch; current_p() may be null afterwards.
void lease_processor() noexcept;
// The same before g's first instruction, if goroutines of its site have the habit.
void lease_by_site(Goroutine* g) noexcept;
inline void lease_at_start(Goroutine* g) noexcept {
  if (WEFT_UNLIKELY(scheduler.sites_block.load_relaxed())) lease_by_site(g);  // a hint
}

// May switch. The current goroutine has a lease: it gets a P again, and its habit is judged.
void end_lease(Machine& m) noexcept;

// The same without getting a P: the habit is judged, and the lease is over.
void judge_lease(Machine& m) noexcept;

// For operations that work without a P: a spawn, say, need not end a lease.
inline bool has_lease() noexcept {
  const Machine* m = os::current_m();
  return m != nullptr && m->leased.load_relaxed();
}

// Around a function that needs a P, does not wait, and returns to user code: a goroutine that had a lease before has
// one after.
class LeaseKept {
 public:
  LeaseKept() noexcept : leased_(WEFT_UNLIKELY(os::current_p() == nullptr) && has_lease()) {}
  ~LeaseKept() {
    if (WEFT_UNLIKELY(leased_) && os::current_p() != nullptr) lease_processor();
  }
  LeaseKept(const LeaseKept&) = delete;

 private:
  bool leased_;
};

}  // namespace weft::sched
