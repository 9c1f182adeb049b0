// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "base/random.h"
#include "sched/bias/paced_barrier.h"
#include "sched/model/counters.h"
#include "sched/model/goroutine.h"
#include "sched/model/status.h"
#include "sched/queue/inbox.h"
#include "sched/queue/next_slot.h"
#include "sched/queue/runnable.h"
#include "sched/rule/sharing_meter.h"
#include "sched/timer/timer_heap.h"

// P: the right to run goroutine code, together with all hot state.
//   Owner     the M it is wired to (m->p == this). Only the owner touches the fields of the first part.
//   Shared    slot, inbox, timers, attention and word, each with its rule beside it.
namespace weft::sched {

inline constexpr std::uint32_t kLookahead = 8;   // so many takes ahead a free record is prefetched (record_pool.h)
inline constexpr std::uint32_t kTurnLimit = 61;  // most dispatches between two turns of the global queue (next_run.h)

// Requests from other threads. The owner sees them at its next scheduling point.
enum Attention : std::uint32_t {
  kAttentionStop = 1,     // stop the world
  kAttentionPreempt = 2,  // the time slice is over: give way to others
  kAttentionRetreat = 4,  // sharing costs too much: give the work to another P (retreat.h)
};

// Rule R5 (long runners; rule/run_habits.h), on the P's side: what the next ready() here should do about its waker.
enum Watch : std::uint32_t {
  kWatchSample = 1,      // time-stamp it
  kWatchCaughtAged = 2,  // a thief found work waiting in this P's slot while the P's goroutine computed
};

struct SlotFences : PacedBarrier {
  static constexpr int kPatience = 8;  // waits of a thief: some 10 us, more if another thread needs this CPU
#if WEFT_DEBUG_CHECKS  // close the slot as often as possible
  static constexpr std::uint8_t kCalm = 2;
#else
  static constexpr std::uint8_t kCalm = 240;
#endif
};

struct alignas(base::kCacheLine) Processor {
  // --- owner ---
  std::uint32_t id = 0;
  Machine* m = nullptr;
  Machine* last_m = nullptr;  // A54 (same M again): the M it last ran with
  base::Random random;
  void* policy_state = nullptr;  // the policy's, for the owner of this P
  std::uint32_t slot_runs = 0;   // what the policy grants (policy.h)
  std::uint32_t turn_tick = 0;  // `tick` at the last turn of the global queue
  std::uint32_t turn_interval = kTurnLimit;  // dispatches from there to its next turn
  static constexpr std::uint32_t kUnknownAverage = 1'000'000;  // counts as long, until the first sample
  // Average time between dispatches, sampled at each turn of the global queue. Thieves read it, too.
  base::Atom<std::uint32_t> average_ns{kUnknownAverage};
  std::uint64_t sampled_at = 0;
  std::uint32_t until_timers = 1;
  SharingMeter sharing;
  Retreat retreat;

  SpawnRecord* records = nullptr;  // magazine in use
  std::uint32_t record_count = 0;
  SpawnRecord* spare_records = nullptr;  // a full magazine, or none

  std::uintptr_t free_gs = 0;  // chain of dead Gs with default stacks, LIFO
  std::uint32_t free_g_count = 0;

  std::uint64_t next_id = 0, id_limit = 0;       // goroutine ids are handed out to Ps in ranges
  SpawnRecord* recent_records[kLookahead] = {};  // the last ones given back (record_pool.h)

  CounterSet counters;

  // --- shared ---
  // The owner increments it at each dispatch; thieves see by it whether the P moves.
  alignas(base::kCacheLine) base::Atom<std::uint32_t> tick{0};
  // Incremented when the policy is asked. So all runs of a grant out of the slot share one time slice.
  base::Atom<std::uint32_t> slice_tick{0};
  base::Atom<std::uint32_t> watch{0};
  base::Atom<std::uint32_t> attention{0};
  NextSlot<base::StdAtomics, Runnable, SlotFences> slot;

  // Status in the low byte, the M's id in the next 24 bits, the number of the M's call above. So a P that was taken
  // from an M in a call, and is now in the call of another M, is never mistaken for the first M's.
  alignas(base::kCacheLine) base::Atom<std::uint64_t> word{0};

  alignas(base::kCacheLine) Inbox<Runnable, RunnableLinks> inbox;  // work that other Ps have given to this one
  TimerHeap timers;
  trace::Mark mark;

  PStatus status() const noexcept { return status_of(word.load_relaxed()); }  // for observers; the owner knows
  static PStatus status_of(std::uint64_t word_bits) noexcept { return static_cast<PStatus>(word_bits & 0xff); }
  static std::uint64_t make_word(PStatus status, std::uint32_t machine_id, std::uint32_t call) noexcept {
    return static_cast<std::uint64_t>(status) | (std::uint64_t{machine_id & 0xffffff} << 8) |
           (std::uint64_t{call} << 32);
  }
};

}  // namespace weft::sched
