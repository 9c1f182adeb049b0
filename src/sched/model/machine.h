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
#include "os/thread.h"
#include "os/thread_usage.h"
#include "sched/bias/lock_owner.h"
#include "sched/model/hold_word.h"
#include "sched/queue/runnable.h"
#include "sched/rule/thief_record.h"

// M: an operating-system thread. It runs goroutines while it holds a P and has work; it searches for work on its own
// stack (g0).
//   Life      started when a P has work and no M is idle; sleeps on its note; exits when it was idle for long, or when
//             a goroutine ends that is locked to it. The structure outlives the thread and is reused, so observers
//             never fault.
namespace weft::sched {

struct Goroutine;
struct Processor;

// The part of libstdc++'s exception state that belongs to a goroutine (layout fixed by the C++ ABI).
struct ExceptionGlobals {
  void* caught;
  unsigned int uncaught;
};

// A waker may restrict the CPU mask of a sleeping M while that M wakes up, to choose the CPU it wakes on. The M gets
// its full mask back before it runs anything, because threads and processes that it starts inherit its mask for good.
// The M waits for a waker that is still placing it. If that waker is kept from running (by a debugger), the M goes on
// without it after 50 ms (machine_sleep.cc): kPlacing -> kAwake.
//   Undone     Every restriction is undone after it was made. Either the M undoes it: it sees kPlaced, which the waker
//              writes after the restriction. Or the waker undoes it, because its CAS from kPlacing fails.
//              A waker may be so late that a second waker is placing the M again. Then the CAS of the first waker ends
//              the kPlacing of the second one: the M undoes the restriction, and the CAS of the second waker fails.
//   Known gaps A thread or process that the M starts between a late restriction and its undoing inherits the narrow
//              mask. If the M's thread has ended meanwhile, its thread id may belong to another thread by then.
enum class Placement : std::uint8_t {
  kAwake,    // wakers must not place it
  kAsleep,   // a waker may begin to place it
  kPlacing,  // a waker is placing it: the M waits until that is done, for a while
  kPlaced,   // the M has to undo the restriction
};

// Code addresses, innermost first.
struct WalkedStack {
  static constexpr std::size_t kMax = 32;
  void* pcs[kMax];
  std::size_t count = 0;
  bool asleep = false;  // in a system call
};

// An exile's turns, as sysmon sees them.
struct ExileTurn {
  std::int64_t since_ns = 0;    // when its turn began or, if it waits, its wait for a turn
  std::int64_t sampled_ns = 0;  // 0: not yet
  std::int64_t cpu_ns = 0;      // CPU time of its thread at sampled_ns
  bool waits = false;
  bool computes = false;  // it used the CPU since the sample before, and does not sleep in a system call
};

struct alignas(base::kCacheLine) Machine {
  // --- this thread ---
  LockOwner lock_owner;  // first: current_owner.h relies on it
  void* g0_sp = nullptr;
  Processor* p = nullptr;
  int* errno_address = nullptr;
  ExceptionGlobals* exceptions = nullptr;
  Runnable handed;            // what to run next, decided before the switch to g0
  Goroutine* dead = nullptr;  // has ended; freed on g0, because the M stood on its stack
  Goroutine* locked_g = nullptr;
  bool spinning = false;
  bool must_exit = false;
  bool brief = false;              // the work it found last was a few sleepers that run briefly
  ThiefRecord thief;               // rule R4: was stealing worth it?
  std::uint32_t call_count = 0;
  std::uint32_t nested_calls = 0;
  std::uint64_t call_word = 0;  // the P's word while in a call
  std::uint64_t call_began = 0;  // ticks; only for calls that are timed (handoff.h)
  Processor* call_p = nullptr;
  const void* call_frame = nullptr;  // frame of the function that entered the call, for dumps
  const void* call_pc = nullptr;
  os::ThreadUsage lease_usage;       // of this thread, when the lease began
  // Ticks before which its stack is not walked again: the last walk was in vain. Used only by its signal handler.
  std::uint64_t walk_again_at = 0;
  const WalkedStack* interrupted = nullptr;  // the stack that the preemption signal found, while the tracer records it
  arch::Fiber fiber;

  // --- shared ---
  os::Note note;  // a doorbell: what to do stands in next_p (for the passive spinner: in the idle word)
  base::Atom<Processor*> next_p{nullptr};  // the P it is handed; written after the two fields below
  Runnable next_runnable;
  bool next_spinning = false;
  base::Atom<Placement> placement{Placement::kAwake};
  base::Atom<int> slept_on_cpu{-1};  // a hint: the kernel tends to wake it there
  // The runtime's frames lie below `base` on the thread's own stack; thread-local variables lie above.
  const void* base = nullptr;
  os::StackBounds signal_stack{};
  os::Current* current = nullptr;                  // this thread's weft_current, for observers
  base::Atom<bool> exiled{false};  // its goroutine computes on without the P it had (preempt.h)
  base::Atom<bool> leased{false};  // exiled by a lease: sysmon takes the P only if the thread sleeps (lease.h)
  base::Atom<bool> probed{false};  // the signal on its way asks whether the thread sleeps (plain_call_watch.h)
  Hold hold;                       // whether the exile must stand still
  base::Atom<bool> alive{false};
  std::uint32_t id = 0;
  pid_t tid = 0;

  // --- Rank::kMachines ---
  Machine* idle_next = nullptr;
  Machine* idle_previous = nullptr;
  bool idle = false;
  Machine* all_next = nullptr;
  Machine* free_next = nullptr;
  volatile std::uintptr_t* guard_slot = nullptr;   // this thread's stack guard; null: not started yet, or ended
  volatile std::uint32_t* preempt_flag = nullptr;  // this thread's weft::detail::preempt_requested

  // --- only sysmon (sched/world/exile_shares.h), for an exile ---
  ExileTurn turn;
};

}  // namespace weft::sched
