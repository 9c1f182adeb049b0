// SPDX-License-Identifier: MIT
#pragma once
#include "base/check.h"
#include "os/futex.h"
#include "sched/model/status.h"
#include "sched/queue/runnable.h"
#include "sched/timer/timer_heap.h"

// Stands in for src/sched/core/dispatch.h and what it brings: a thread of the simulation is a goroutine with an M and a P of its own, or
// a plain thread. Who parks sleeps until somebody makes it ready; ready() insists on being the one and only waker of a wait, and
// carries over what its caller has seen, as the run queues do (tests/model/park_ready_test.cc and run_queue_test.cc).
namespace weft::sched {

struct Goroutine {
  base::Atom<std::uint32_t> woken{0};
  base::Atom<void*> sp{nullptr};
  std::uint64_t id = 0;
  bool is_waiting = false, is_ready = false;  // the simulation's own knowledge
};

struct Choosing {  // instead of a random number: everything is tried
  std::uint32_t below(std::uint32_t bound) { return rl::rand(bound); }
};

struct Processor {
  TimerHeap timers;
  Choosing random;
};

struct World {
  static constexpr unsigned kMost = 4;
  Processor processor;
  Goroutine goroutines[kMost];
  bool is_thread[kMost] = {};
  base::Atom<std::uint32_t> running{0};  // those whose end the clock waits for
  unsigned wakes = 0;                    // the simulation's own knowledge
};
inline World* world;  // of this execution

// The fields that the sources under test look at.
struct Flag {
  bool load_relaxed() const { return false; }
  bool load_acquire() const { return false; }
};
struct Tally {
  std::uint64_t fetch_add_relaxed(std::int64_t) { return 1; }
};
struct Processors {
  Processor* operator[](unsigned) const { return &world->processor; }
};
struct Scheduler {
  Flag forked, exiting;
  Processors processors;
  Tally threads_waiting, main_exited, next_id_range;
  struct {
    Tally waiting;
  } network;
};
inline Scheduler scheduler;

inline unsigned maxprocs() { return 2; }
inline std::uint64_t new_goroutine_id(Processor&) { return 1; }

void begin_wait(Goroutine* g, WaitReason reason, const void* object);
inline void begin_wait_untraced(Goroutine* g, WaitReason reason, const void* object) { begin_wait(g, reason, object); }
void call_off_wait(Goroutine* g);
void park();
void yield();
void ready(Goroutine* g);
void collect(Goroutine* g, RunnableList& out);  // who collects places them at once

}  // namespace weft::sched

namespace weft::os {

inline sched::Goroutine* current_g() { return &sched::world->goroutines[rl::thread_index()]; }
inline sched::Processor* current_p() {
  return sched::world->is_thread[rl::thread_index()] ? nullptr : &sched::world->processor;
}

}  // namespace weft::os
