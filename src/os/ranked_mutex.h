// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"
#include "base/check.h"
#include "base/lock_rank.h"
#include "os/futex.h"

namespace weft::os {

#if WEFT_DEBUG_CHECKS
// The ranks this thread holds, as a bit set. A goroutine never switches while it holds one. The functions are noinline,
// so that no caller keeps the address of the thread_local across a switch.
void note_rank_taken(base::Rank rank);
void note_rank_released(base::Rank rank);
bool holds_any_rank();
#else
inline void note_rank_taken(base::Rank) {}
inline void note_rank_released(base::Rank) {}
inline bool holds_any_rank() { return false; }
#endif

// The runtime's own lock: blocks the thread, briefly. Held for straight-line code only: never across a switch.
template <base::Rank R>
class RankedMutex {
 public:
  constexpr RankedMutex() noexcept = default;
  RankedMutex(const RankedMutex&) = delete;

  void lock() noexcept {
    note_rank_taken(R);
    std::uint32_t state = kFree;
    if (WEFT_UNLIKELY(!word_.cas_acquire(state, kHeld))) lock_slow();  // pairs: ranked_mutex
  }
  void unlock() noexcept {
    note_rank_released(R);
    if (word_.exchange_acq_rel(kFree) == kContended) futex_wake(word_);  // pairs: ranked_mutex
  }

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kContended = 2;

  __attribute__((noinline)) void lock_slow() noexcept {
    for (int round = 0; round < 3; ++round) {  // holders leave within microseconds: look again before sleeping
      base::cpu_relax(16u << round);
      std::uint32_t state = kFree;
      if (word_.load_relaxed() == kFree && word_.cas_acquire(state, kHeld)) return;  // pairs: ranked_mutex
    }
    while (word_.exchange_acquire(kContended) != kFree) futex_wait(word_, kContended);  // pairs: ranked_mutex
  }

  base::Atom<std::uint32_t> word_{kFree};
};

}  // namespace weft::os
