// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>
#include <cstddef>
#include <cstdint>

#include "arch/fiber_sanitizer.h"
#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/current.h"
#include "os/note.h"
#include "os/thread_usage.h"
#include "sched/bias/lock_owner.h"
#include "sched/model/hold_word.h"
#include "sched/queue/runnable.h"

// M: an operating-system thread that runs goroutines when it holds a P, and looks for them on its own stack (g0) when not.
//   Life      started when a P has work and no idle M is there; sleeps on its note; exits when idle for long, or when a
//             goroutine ends while locked to it. The structure outlives the thread and is reused: observers never fault.
namespace weft::sched {

struct Goroutine;
struct Processor;

// The part of libstdc++'s exception state that belongs to a goroutine (layout fixed by the C++ ABI).
struct ExceptionGlobals {
  void* caught;
  unsigned int uncaught;
};

// A waker may restrict a sleeping M's CPUs for the moment of waking up. The M is back on all of them before it runs anything:
// what it starts (threads, processes) would inherit the restriction for good. Only if the waker is kept from running in the middle
// (a debugger) does the M go on without it, after a while: kPlacing -> kAwake.
//   Undone   each restriction is, after it was made: by the M, which sees kPlaced, written behind it; or by its waker, whose CAS from kPlacing
//            fails. A waker that comes so late that another one is placing meanwhile ends that one's kPlacing instead: then the M undoes its
//            restriction, and the other's CAS fails.
//   Left     what such an M starts between a late restriction and its end inherits it; a thread that has ended meanwhile has given its number away.
enum class Placement : std::uint8_t {
  kAwake,    // hands off
  kAsleep,   // a waker may begin
  kPlacing,  // a waker is at it: the M waits for the end of that, a while
  kPlaced,   // the M has to undo it
};

// Code addresses, innermost first.
struct WalkedStack {
  static constexpr std::size_t kMax = 32;
  void* pcs[kMax];
  std::size_t count = 0;
  bool asleep = false;  // in a system call
};

// An exile's turns, as sysmon has seen them.
struct ExileTurn {
  std::int64_t since_ns = 0;    // of its turn, or of its wait for one
  std::int64_t sampled_ns = 0;  // 0: not yet
  std::int64_t cpu_ns = 0;      // its thread's CPU time then
  bool waits = false;
  bool computes = false;  // it had the CPU since the sample before, and does not sleep in a system call
};

struct alignas(base::kCacheLine) Machine {
  // --- this thread ---
  LockOwner lock_owner;  // first: current_owner.h relies on it
  void* g0_sp = nullptr;
  Processor* p = nullptr;
  int* errno_address = nullptr;
  ExceptionGlobals* exceptions = nullptr;
  Runnable handed;            // what to run next, decided before switching to g0
  Goroutine* dead = nullptr;  // ended; freed on g0 because we stood on its stack
  Goroutine* locked_g = nullptr;
  bool spinning = false;
  bool must_exit = false;
  bool brief = false;              // what it found last was a few sleepers that run briefly
  std::uint32_t fruitless = 0;     // rule R.4: steals in a row that were not worth it
  std::uint32_t suppressions = 0;  // for that, in a row
  std::int64_t suppressed_until_ns = 0;
  std::uint64_t stole_at = 0;      // ticks, without those in barriers; 0: the last work was not stolen
  std::uint32_t call_count = 0;
  std::uint32_t nested_calls = 0;
  std::uint64_t call_word = 0;  // the P's word while in a call
  std::uint64_t call_began = 0;  // ticks, of a call that is timed (handoff.h)
  Processor* call_p = nullptr;
  const void* call_frame = nullptr;  // of the function that entered the call, for dumps
  const void* call_pc = nullptr;
  os::ThreadUsage lease_usage;       // when the lease began
  std::uint64_t walk_again_at = 0;   // ticks: its stack was deep, and not to be left; only its signal handler
  const WalkedStack* interrupted = nullptr;  // where the preemption signal came, while that is recorded
  arch::Fiber fiber;

  // --- shared ---
  os::Note note;  // a doorbell: what to do is in next_p (or in the idle word, for the passive spinner)
  base::Atom<Processor*> next_p{nullptr};  // with the two below, written before it
  Runnable next_runnable;
  bool next_spinning = false;
  base::Atom<Placement> placement{Placement::kAwake};
  base::Atom<int> slept_on_cpu{-1};  // a hint: where the kernel would rather wake it
  os::Current* current = nullptr;                  // this thread's weft_current, for observers
  base::Atom<bool> exiled{false};  // its goroutine computes on without the P it had (preempt.h)
  base::Atom<bool> leased{false};  // the same, and sysmon takes that P only if the thread sleeps (lease.h)
  base::Atom<bool> probed{false};  // the signal on its way asks whether the thread sleeps (plain_call_watch.h)
  Hold hold;                       // whether that must stand still
  base::Atom<bool> alive{false};
  std::uint32_t id = 0;
  pid_t tid = 0;

  // --- Rank::kMachines ---
  Machine* idle_next = nullptr;
  Machine* idle_previous = nullptr;
  bool idle = false;
  Machine* all_next = nullptr;
  Machine* free_next = nullptr;
  volatile std::uintptr_t* guard_slot = nullptr;   // this thread's stack guard; null: the thread is not there (yet, any more)
  volatile std::uint32_t* preempt_flag = nullptr;  // this thread's weft::detail::preempt_requested

  // --- sysmon's (sched/exile/exile_shares.h), of an exile ---
  ExileTurn turn;
};

}  // namespace weft::sched
