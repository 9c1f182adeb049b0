// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"
#include "os/clock.h"
#include "os/futex.h"

namespace weft::os {

// A one-shot signal that blocks the calling thread (never a goroutine). One sleeper, any number of signallers.
//   Invariant  after signal() the next wait() returns true and consumes it: a signal is never lost.
//   Elsewhere  the sleeper may block in another call than the futex, between begin_elsewhere() and end_elsewhere().
//              signal() then tells the signaller so, and the signaller ends that call.
class Note {
 public:
  void clear() noexcept { word_.store_relaxed(kEmpty); }  // only while no thread may signal

  // True: the sleeper blocks elsewhere, and this caller alone has to end that call.
  bool signal() noexcept {
    const std::uint32_t before = word_.exchange_acq_rel(kSignalled);  // pairs: note
    if (before == kSleeping) futex_wake(word_);
    return before == kElsewhere;
  }

  // True: signalled (and consumed). False: the deadline passed.
  bool wait(std::int64_t deadline_ns = kForever) noexcept {
    for (;;) {
      std::uint32_t state = kEmpty;
      word_.cas_acq_rel(state, kSleeping);  // pairs: note
      if (state == kSignalled) break;
      futex_wait(word_, kSleeping, deadline_ns);
      if (word_.load_acquire() == kSignalled) break;  // pairs: note
      if (deadline_ns != kForever && now_ns() >= deadline_ns) {
        std::uint32_t sleeping = kSleeping;
        if (word_.cas_acq_rel(sleeping, kEmpty)) return false;  // pairs: note
        break;
      }
    }
    // An exchange, not a store, because a second signal may have come meanwhile: what its sender wrote must be seen
    // from here on.
    word_.exchange_acquire(kEmpty);  // pairs: note
    return true;
  }

  // False: a signal was there, and has been consumed.
  bool begin_elsewhere() noexcept {
    std::uint32_t state = kEmpty;
    if (word_.cas_acq_rel(state, kElsewhere)) return true;  // pairs: note
    word_.exchange_acquire(kEmpty);                         // pairs: note
    return false;
  }
  // True: signalled meanwhile (and consumed).
  bool end_elsewhere() noexcept { return word_.exchange_acq_rel(kEmpty) == kSignalled; }  // pairs: note

 private:
  static constexpr std::uint32_t kEmpty = 0, kSleeping = 1, kSignalled = 2, kElsewhere = 3;
  base::Atom<std::uint32_t> word_{kEmpty};
};

}  // namespace weft::os
