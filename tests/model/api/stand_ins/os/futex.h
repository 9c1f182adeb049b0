// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"

// Stands in for src/os/futex.h. The kernel compares and falls asleep in one step, orders everything before it, and may wake a
// sleeper for no reason; a time limit may pass at any moment. It knows addresses, not objects: waking where nobody sleeps any more,
// in a frame that is gone, is allowed and wakes nobody (os/note.h relies on that).
namespace weft::os {

inline constexpr std::int64_t kForever = INT64_MAX;

struct FutexTable {
  static constexpr unsigned kThreads = 4;
  base::Atom<std::uint32_t> beds[kThreads];
  const void* sleeps_on[kThreads] = {};
};
inline FutexTable* futexes;  // of this execution

inline void futex_wait(base::Atom<std::uint32_t>& word, std::uint32_t expected, std::int64_t deadline_ns = kForever) {
  rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO);
  if (word.debug_value() != expected) return;
  const unsigned self = rl::thread_index();
  futexes->sleeps_on[self] = &word;
  futexes->beds[self].raw().wait(rl::ctx(), deadline_ns != kForever, true, RL_INFO);
  futexes->sleeps_on[self] = nullptr;
}
inline void futex_wake(base::Atom<std::uint32_t>& word, int count = 1) {
  rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO);
  for (unsigned i = 0; i < FutexTable::kThreads && count > 0; ++i)
    if (futexes->sleeps_on[i] == &word) {
      futexes->sleeps_on[i] = nullptr;
      futexes->beds[i].raw().wake(rl::ctx(), 1, RL_INFO);
      --count;
    }
}

}  // namespace weft::os
