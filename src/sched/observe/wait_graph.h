// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/model/goroutine.h"

// Who waits for what, and who has it: for dumps and deadlock reports. The world is stopped, or every P is idle.
//   Holders   a lock knows its holder by the low half of the goroutine's id (detail/holder_hint.h). Ids are never used
//             twice, so a holder that is not among the living has ended without unlocking. After 2^32 goroutines a dead
//             holder may be mistaken for a living one: one chance in 2^32 for each that lives.
//   Readers   each goroutine notes the shared_mutexes it reads. The report says how many readers are not known: plain
//             threads, and goroutines that read several. Where more are noted than there are, because another goroutine
//             unlocked for one of them, it names them all and blames none.
//   Cycles    a writer waits for every reader, a reader for the writer that waits in front of it, all others for one
//             holder. All of them must go on before the waiter does, so every circle in the graph is a deadlock.
//   Rejected  the stack pointer of who locked (one instruction instead of six): it cannot tell a goroutine from the
//             next one on the same stack, and half a word cannot tell apart the stacks of 16,000 goroutines. A table of
//             readers in the shared_mutex: a store before the exchange that unlocks makes that wait (5.1 -> 6.0 ns).
namespace weft::sched {

// What the layer that knows the primitives says of one wait.
struct WaitFacts {
  std::string object;           // mutex "accounts", chan "jobs" (3 of 10 elements): empty: nothing to say
  bool has_holder = false;      // a lock that is held by one
  std::uint32_t holder = 0;     // the low half of its id; 0: a plain thread
  std::uint64_t holder_id = 0;  // or all of it, when that is known
  std::uint64_t readers = 0;    // so many hold it together
  bool is_behind_writer = false;      // a reader that waits because a writer does
  const Goroutine* writer = nullptr;  // that one; null: a plain thread
  std::string more;                   // in words
};

class WaitGraph {
 public:
  // Of all that live; `dead` ones may have ended while they read.
  WaitGraph(const std::vector<Goroutine*>& live, const std::vector<Goroutine*>& dead);

  // "waits for mutex "b" (0x...), held by goroutine 3"; empty: nothing is known beyond the wait reason.
  std::string line_for(const Goroutine* g) const;
  // One line for each circle of goroutines that wait for each other.
  std::string cycles() const;

 private:
  struct Edge {
    const Goroutine* to;
    const char* link;  // between what is waited for and who has it
  };
  struct Step {  // of a walk along the edges
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
