// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/model/goroutine.h"

// The wait-for graph, for dumps and deadlock reports: what each goroutine waits for, and which goroutine holds it. The
// world is stopped, or every P is idle.
//   Holders   A lock knows its holder by the low half of the goroutine's id (detail/holder_hint.h). Ids are never used
//             twice, so a holder that is not among the living goroutines has ended without unlocking. After 2^32
//             goroutines a dead holder may be mistaken for a living one: one chance in 2^32 for each living goroutine.
//   Readers   Each goroutine notes the shared_mutexes it reads. The report says how many readers are not known: plain
//             threads, and goroutines that read several. More readers may be noted than there are, if another goroutine
//             unlocked for one of them. Then the report names all of them, and the graph has no edges to them.
//   Cycles    A writer waits for every reader, a reader for the writer that waits in front of it, all other waiters for
//             one holder. All that a goroutine waits for must go on before it does, so every cycle in the graph is a
//             deadlock.
//   Rejected  The stack pointer of the locking goroutine (one instruction instead of six): it cannot tell a goroutine
//             from the next one on the same stack, and half a word cannot tell apart the stacks of 16,000 goroutines. A
//             table of readers in the shared_mutex: a store before the exchange that unlocks makes that exchange wait
//             (5.1 -> 6.0 ns).
namespace weft::sched {

// What the api layer, which knows the primitives, says of one wait (hooks.tell_wait).
struct WaitFacts {
  std::string object;           // such as: mutex "accounts", chan "jobs" (3 of 10 elements). Empty: nothing to say
  bool has_holder = false;      // the object has one holder
  std::uint32_t holder = 0;     // the low half of the holder's id; 0: a plain thread
  std::uint64_t holder_id = 0;  // the whole id, where it is known; else 0
  std::uint64_t readers = 0;    // how many readers hold it together
  bool is_behind_writer = false;      // a reader that waits because a writer waits in front of it
  const Goroutine* writer = nullptr;  // that writer; null: a plain thread
  std::string more;                   // further facts, as text
};

class WaitGraph {
 public:
  // `live`: all goroutines that have not ended. `dead`: Gs without a goroutine, whose last one may have ended while it
  // held a lock for reading.
  WaitGraph(const std::vector<Goroutine*>& live, const std::vector<Goroutine*>& dead);

  // "waits for mutex "b" (0x...), held by goroutine 3"; empty: nothing is known beyond the wait reason.
  std::string line_for(const Goroutine* g) const;
  // One line for each cycle of goroutines that wait for each other.
  std::string cycles() const;

 private:
  struct Edge {
    const Goroutine* to;
    const char* link;  // words between the object and its holder, such as ", held by "
  };
  struct Step {  // one goroutine on a walk along the edges
    const Goroutine* g;
    std::string object;
    std::vector<Edge> edges;
    std::size_t next = 0;
  };
  const Goroutine* find(std::uint32_t low_half) const;
  const Goroutine* holder_in(const WaitFacts& facts) const;
  std::vector<std::uint32_t> readers_of(const Goroutine* waiter, const WaitFacts& facts) const;
  std::string name_of_dead(std::uint32_t low_half) const;
  std::string holder_text(const Goroutine* g, const WaitFacts& facts) const;
  std::string readers_text(const Goroutine* g, const WaitFacts& facts) const;
  Step step_to(const Goroutine* g) const;

  std::unordered_map<std::uint64_t, const Goroutine*> by_id_;
  std::unordered_map<std::uint32_t, const Goroutine*> by_low_half_;
  std::unordered_multimap<std::uint32_t, std::uint32_t> readers_;  // by the low half of the lock's address
  std::uint64_t newest_id_ = 0;
};

}  // namespace weft::sched
