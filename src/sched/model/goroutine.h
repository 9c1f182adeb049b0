// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "arch/fiber_sanitizer.h"
#include "base/atomic.h"
#include "base/cache_line.h"
#include "base/check.h"
#include "sched/model/status.h"
#include "sched/queue/runnable.h"
#include "sched/rule/run_habits.h"
#include "trace/emit.h"
#include "weft/detail/holder_hint.h"

// G: a started goroutine. It lives at the top of its own stack, so that a parked goroutine touches one page and one
// TLB entry.
//   Ownership   sp is null while the goroutine runs. A goroutine that parks publishes itself (waiter list), drops its
//               locks at once, and then switches; the switch stores sp last. The M that takes it from a queue waits
//               for sp != null, so no hook has to run after the switch. The M never waits for that on the stack of
//               another published goroutine, because two such waits could wait for each other.
//   Memory      is never unmapped, so a stale pointer reads a dead G and does not fault.
namespace weft::detail {
struct preemptible_scope;
}

namespace weft::sched {

struct Goroutine;
struct Machine;
struct Processor;
class Locals;
struct GangMember;

// What a spawn with options (name, stack size, idle priority, inherited locals) carries in addition to its record.
struct SpawnExtra {
  std::string name;
  bool idle = false;
  std::uint64_t id = 0;  // 0: assigned when the goroutine starts
  std::uint64_t parent = 0;
  Locals* inherited = nullptr;
  trace::Mark mark;
  // With a stack of its own size: taken at the spawn, so that the spawn fails if the size is too much.
  Goroutine* g = nullptr;
  std::uint8_t controlled = 0;  // as Goroutine::habits.controlled
  GangMember* gang = nullptr;  // a member of a task force (gangs.h)
};

enum GFlags : std::uint8_t {
  kGLocked = 1,     // wired to a thread (lock_os_thread)
  kGOwnStack = 2,   // its stack is not of the default size: runs no other records afterwards
  kGIdle = 4,       // idle priority
  kGUnguarded = 8,  // no guard page under its stack: the canary is checked at each switch
  kGDetails = 16,   // has a name, locals, a parent, a batch or kGExits, to be cleared at its end
  kGExits = 32,     // this_goroutine::exit() unwinds its stack
  kGBlocks = 64,    // blocks its thread in calls that it does not announce (lease.h)
  kGMember = 128,   // in a task force: Goroutine::gang
};
inline constexpr std::uint8_t kGSlowSwitch = kGLocked | kGUnguarded | kGBlocks;
inline constexpr std::uint8_t kGSlowPark = kGSlowSwitch | kGMember;  // park() takes nothing out of the slot at once
// Added to no_preempt for each call of user code that the runtime makes with one of its locks held.
inline constexpr std::uint32_t kLockHeld = 1u << 16;

struct alignas(base::kCacheLine) Goroutine {
  base::Atom<void*> sp{nullptr};  // first: weft_switch_context writes it
  std::uintptr_t link = 0;        // run queues and free lists
  SpawnRecord* record = nullptr;
  void* caught_exceptions = nullptr;  // the thread's exception state, while the goroutine does not run
  std::uint32_t uncaught_exceptions = 0;
  std::int32_t saved_errno = 0;
  base::Atom<GStatus> status{GStatus::kDead};
  std::uint8_t flags = 0;
  WaitReason wait_reason = WaitReason::kNone;
  std::uint8_t batch_loyalty = 0;  // while it has a batch (batch_members.h)
  std::uint16_t last_p = 0;
  RunHabits habits;
  std::uint64_t id = 0;

  // Second line: waiting, identity.
  const void* wait_object = nullptr;
  std::uint64_t ready_at = 0;       // ticks when a sample began (run_sample.h); 0: no sample
  std::uint32_t wait_since_ms = 0;  // coarse clock
  std::uint32_t lock_depth = 0;     // lock_os_thread nesting
  std::uint32_t no_preempt = 0;     // depth of non-preemptible regions (m->locks in the design documents)
  // For a goroutine that sleeps now and then. While it runs: the low bits of the ticks when it ran again after its last
  // sleep; 0: it has not slept. While it sleeps: its expected next run in us, taken from its run before the sleep.
  std::uint32_t runs_between_sleeps = 0;
  Machine* locked_m = nullptr;
  std::byte* stack_bottom = nullptr;  // lowest usable address
  std::int32_t site = 0;
  trace::ChainHints chain_hints;
  trace::Mark mark;
  Locals* locals = nullptr;

  std::string* name = nullptr;
  std::uint64_t parent = 0;
  std::uint32_t stack_bytes = 0;                           // usable
  const detail::preemptible_scope* preemptible = nullptr;  // the innermost scope (preempt.h)
  detail::shared_holds reads;                              // locks it holds together with others, for reports
  GangMember* gang = nullptr;                              // with kGMember
  arch::Fiber fiber;

  std::byte* stack_top() noexcept { return reinterpret_cast<std::byte*>(this); }
};

static_assert(offsetof(Goroutine, link) == kGoroutineLinkOffset);
static_assert(offsetof(Goroutine, id) == weft::detail::goroutine_id_offset &&
                  offsetof(Goroutine, reads) == weft::detail::goroutine_reads_offset &&
                  offsetof(Goroutine, habits) + offsetof(RunHabits, controlled) ==
                      weft::detail::goroutine_controlled_offset,
              "inline code of locks knows these offsets");

// A change of state that the tracer has been told of already, or that happens while nothing is recorded. All other
// changes go through transition() in tracing/trace_points.h. A plain store, because only the owner writes.
inline void transition_untraced(Goroutine* g, GStatus from, GStatus to) noexcept {
  WEFT_DCHECK(g->status.load_relaxed() == from, "a goroutine changes state only from the state its owner put it in");
  WEFT_DCHECK(is_legal_move(from, to), "a goroutine moves only along the table in status.h");
  g->status.store_relaxed(to);  // published together with the G by the queue or switch that follows
}

}  // namespace weft::sched
