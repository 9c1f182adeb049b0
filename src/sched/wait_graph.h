// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/goroutine.h"

// Who waits for what, and who has it: for dumps and deadlock reports. The world is stopped, or every P is idle.
//   Holders   a lock knows only where the stack of who took it was (detail/wait_queue.h): that costs one store. So the holder is
//             the goroutine whose stack that is. If others have run on that stack before it, one of them may have taken the lock
//             and ended: then the report says so. If its stack is shorter now, or it is gone, somebody forgot to unlock.
//   Cycles    each goroutine waits for one holder at most, so following them finds every cycle in one walk.
namespace weft::sched {

// What the layer that knows the primitives says of one wait.
struct WaitFacts {
  std::string object;              // mutex "accounts", chan "jobs" (3 of 10 elements): empty: nothing to say
  bool has_holder = false;         // a lock that is held by one
  std::uint32_t holder_stack = 0;  // the low half of an address on the holder's stack
  std::uint64_t holder_id = 0;     // or its id, when that is known
  std::string holders;             // in words, when they are many
};

class WaitGraph {
 public:
  // Of all that live; `dead` ones own stacks on which locks may have been taken.
  WaitGraph(const std::vector<Goroutine*>& live, const std::vector<Goroutine*>& dead);

  // "waits for mutex "b" (0x...), held by goroutine 3"; empty: nothing is known beyond the wait reason.
  std::string line_for(const Goroutine* g) const;
  // One line for each cycle of goroutines that wait for each other.
  std::string cycles() const;

 private:
  struct Holder {
    const Goroutine* g = nullptr;  // null: see text
    bool is_certain = true;
    std::string text;
  };
  static bool waits_for_holder(const Goroutine* g) noexcept;
  Holder holder_in(const WaitFacts& facts) const;
  const Goroutine* next_of(const Goroutine* g) const;

  struct Stack {
    std::uint32_t bottom;  // the low half of its address
    Goroutine* g;
  };
  std::vector<Stack> by_stack_;  // in order
  std::unordered_map<std::uint64_t, const Goroutine*> by_id_;
};

}  // namespace weft::sched
