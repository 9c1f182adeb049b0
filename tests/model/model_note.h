// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"
#include "os/clock.h"
#include "os/futex.h"

#include "model/relacy_atomics.h"

// os/note.h under relacy. The class is not a template (it needs none), so its text is compiled a second time in a namespace
// where Atom, the clock and the futex are the model's.
namespace weft::os_model {

// What a mutant of Note does wrong. Set before a simulation, never during one.
struct Defects {
  bool sleeps_without_looking = false;  // the futex does not compare
  bool consumes_with_a_store = false;   // instead of an exchange
};
inline Defects defects;

class NoteAtom : public model::RelacyAtom<std::uint32_t> {
 public:
  using RelacyAtom::RelacyAtom;
  std::uint32_t exchange_acquire(std::uint32_t value) {
    if (!defects.consumes_with_a_store) return RelacyAtom::exchange_acquire(value);
    store_relaxed(value);
    return 0;
  }
};

namespace base {
template <class T>
using Atom = NoteAtom;
}

inline constexpr std::int64_t kForever = os::kForever;

// The kernel compares and falls asleep in one step, orders everything before it, and may wake a sleeper for no reason.
inline void futex_wait(NoteAtom& word, std::uint32_t expected, std::int64_t deadline_ns = kForever) {
  rl::context& context = rl::ctx();
  rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO);
  if (!defects.sleeps_without_looking && word.debug_value() != expected) return;
  word.raw().wait(context, deadline_ns != kForever, true, RL_INFO);
}
inline void futex_wake(NoteAtom& word) {
  rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO);
  word.raw().wake(rl::ctx(), 1, RL_INFO);
}
// Deadlines in the model are 1: whether that is past is for the search to decide.
inline std::int64_t now_ns() { return rl::rand(2); }

}  // namespace weft::os_model

#define os os_model
#include "os/note.h"
#undef os
