// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sched/queue/runnable.h"

// The seam between mechanism and policy.
//   Split     A policy decides where runnable work waits, what a P runs next, and what a thief takes. The mechanism
//             switches, wakes, steals at the right moment, and sees to timers, the global queue, blocking calls,
//             preemption and stops of the world.
//   State     A policy owns what it keeps for each P. attach() makes it and sets Processor::policy_state for the owner;
//             others find it by Processor::id. It is never freed, because observers may still look at it.
//   Slot      Every P has a slot for what should run next. A policy that uses it sets Processor::slot_runs in next() to
//             kSlotFillsOnly + n: the mechanism may put woken goroutines into the empty slot, and run the next n out of
//             it, without asking the policy. The mechanism also lets thieves empty a slot whose P has not moved for a
//             while. A policy that leaves slot_runs at 0 never sees the slot used.
//   Mechanism counts dispatches and time slices, samples how long goroutines run, gives the global queue its turn
//             (`due`), and applies the wake rule to what was offered. A policy never blocks and never wakes.
//   Callers   owner: the thread that holds p. any thread: at any time; the answer may be stale. stopped: the world is
//             stopped, or p is not in use yet.
//   Add one   tests/support/round_robin.cc is a whole policy on one page.
namespace weft::sched {

struct Processor;
inline constexpr std::uint32_t kSlotFillsOnly = 1;

// Why something becomes runnable.
enum class Why : std::uint32_t {
  kSpawn,      // a new record
  kWake,       // woken by the goroutine os::current_g(), if any; wait_object and wait_reason say through what
  kUnlock,     // the same, because it gets a lock
  kTimer,      // its time has come, or it takes its turn with sleepers
  kNetwork,    // its descriptor is ready
  kYield,      // it yielded: others go first
  kPreempted,  // its time slice is over
  kInjected,   // it comes from the global queue
  kReturned,   // it was picked but could not run, or another P gave it away
};

// What else is known of the runnable.
enum class Known : std::uint32_t {
  kNothing,
  kWakerGoesOn,  // the goroutine that woke or started it probably computes on: thieves should see it at once
  kRunsBriefly,  // with kTimer: a single sleeper that runs briefly, such as a ticker
};

enum class Place : std::uint8_t {
  kNext,     // in the slot: it runs next here, and another core is rarely worth waking
  kHidden,   // no thief can take it now
  kOffered,  // thieves can take it: the mechanism applies the wake rule
};

struct Pick {
  Runnable what;              // nothing: the P is out of work
  std::uint32_t offered = 0;  // how much hidden work next() has moved to where thieves can take it
  bool exchanged = false;     // see exchange()
};
struct Load {  // what waits on one P, without its slot
  std::uint32_t offered = 0, hidden = 0;
  std::uint32_t all() const noexcept { return hidden + offered; }
  bool any() const noexcept { return (hidden | offered) != 0; }
};
enum class Effort : std::uint8_t { kUsual, kDesperate };
struct Theft {
  Runnable what;
  Processor* ask = nullptr;  // hidden work has waited long on this P: the mechanism asks it to give way
};

struct Visitor {  // of runnable work, in no particular order
  void (*call)(void* context, Runnable);
  void* context;
  void operator()(Runnable runnable) const { call(context, runnable); }
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const noexcept = 0;

  // Stopped. p will be used from now on, perhaps not for the first time. False: no memory.
  virtual bool attach(Processor& p) noexcept = 0;
  // Owner. Takes all work that the policy keeps on p, because p disappears, the policy changes, or p gets no thread.
  virtual void drain(Processor& p, RunnableList& out) noexcept = 0;

  // Owner. Accepts something that became runnable, and says where it waits.
  virtual Place ready(Processor& p, Runnable runnable, Why why, Known known = Known::kNothing) noexcept = 0;
  // Owner. The same for several, in their order. Returns kOffered if any of them is.
  virtual Place ready_all(Processor& p, const Runnable* several, std::size_t count, Why why) noexcept;
  // Owner. What p runs now. `due`: the oldest entry of the global queue, if its turn has come: return it or keep it.
  virtual Pick next(Processor& p, Runnable due) noexcept = 0;
  // Owner. As next(), for a goroutine that yields. A policy may put it behind the others in the same step, with a full
  // fence behind both, and say `exchanged`. Otherwise the mechanism calls ready().
  virtual Pick exchange(Processor& p, Runnable yielding) noexcept;
  // Owner of thief. Takes work that others offer. kDesperate: it has found nothing for a while. seen_ticks holds each
  // P's tick from before that: a P whose tick is still the same has not moved since.
  virtual Theft steal(Processor& thief, Effort effort, const std::uint32_t* seen_ticks) noexcept = 0;

  // Any thread. Does any P but `except` offer work? An M asks again after a full fence, before it sleeps.
  virtual bool offers(const Processor* except) const noexcept = 0;
  virtual Load load(const Processor& p) const noexcept = 0;  // any thread
  // Owner. How many more can wait on p before some have to go to the global queue.
  virtual std::uint32_t room(const Processor& p) const noexcept = 0;
  virtual void visit(const Processor& p, Visitor visitor) const noexcept = 0;  // for dumps, while p stands still

  // Any thread (sysmon asks). How long p's goroutine may run while others wait.
  virtual std::int64_t slice_ns(const Processor& p) const noexcept;
  // Sysmon, at each of its looks. Returns a P that should give way now, and is asked again; or none.
  virtual Processor* tick(std::int64_t now_ns) noexcept;
  // Sysmon. Looks no later than that, if work waits.
  virtual std::int64_t next_tick_ns() const noexcept { return INT64_MAX; }
  // A member of a task force is about to park. True: it waits a little for its waker first, with its P.
  virtual bool pauses_before_parking() const noexcept { return false; }

  // Does the waker choose what the woken M runs (the hand-off of Go's scheduler before 1.1)?
  virtual bool hands_off() const noexcept { return false; }
  // False: all work waits in the global queue, so that a P has nothing to give to another.
  virtual bool keeps_work_on_processors() const noexcept { return true; }
  // Does it keep account of which goroutines talk with each other (sched/state/batch_members.h)?
  virtual bool forms_batches() const noexcept { return false; }
};

}  // namespace weft::sched
