// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"

// One direction of a descriptor: has something happened, and does an operation wait for it?
//   Word        sequence number of the descriptor's life (32 bits) and a state:
//                 kNothing   nothing new, no waiter
//                 kReady     the kernel has reported something that no operation has used yet
//                 kWaiting   the waiter (one: the owner of the direction) waits, or is about to
//   Roles       The waiter: take_ready, begin_wait, then park; or call_off. Notifiers (poller): notify. Interrupters
//               (deadline, close, cancellation): interrupt. The thread that moves the word out of kWaiting, and no
//               other, wakes the waiter.
//   No loss     The kernel's report comes after the waiter found nothing to read, or it came before. If before, it is
//               still in the word as kReady, and begin_wait() refuses. Between begin_wait() and the park the word is
//               kWaiting, so the notifier's CAS succeeds. The notifier then wakes a goroutine that may not have left
//               its stack yet, which dispatch.h allows. Each move is one CAS on one word, so no report falls between
//               two moves.
//   Interrupts  A flag outside the word. Interrupter {set flag; interrupt()}, waiter {begin_wait(); look at flags}, all
//               seq_cst: one of the two sees the other (store buffering). The model's mutants drop one half.
//   Reuse       A report carries the sequence number under which the descriptor was registered. notify() compares it in
//               the very CAS that acts. So a late report cannot touch the next user of the descriptor's memory, not
//               even between check and act. 2^32 reuses of one entry would have to pass while one report is under way.
//   Spurious    kReady is a hint: the operation that takes it tries the system call again.
//   Rejected    The waiter's address in the word (Go): it leaves 16 bits for the sequence number, and a notifier that
//               reads the waiter before its CAS may read one that has gone. Here the waiter stands beside the word and
//               is read after the CAS, when it cannot go.
namespace weft::service {

template <class Atomics = base::StdAtomics>
class PollGate {
 public:
  // No operation waits, and the kernel does not know of the new life yet.
  void open(std::uint32_t sequence) noexcept { word_.store_release(make(sequence, kNothing)); }  // pairs: gate.word

  // --- the waiter ---

  bool take_ready() noexcept {
    std::uint64_t word = word_.load_relaxed();  // the CAS validates it
    while (state_of(word) == kReady)
      if (word_.cas_seq_cst(word, with(word, kNothing))) return true;  // pairs: gate.word
    return false;
  }
  // False: something has happened already (and is used up).
  bool begin_wait() noexcept {
    std::uint64_t word = word_.load_relaxed();  // the CAS validates it
    for (;;) {
      const bool ready = state_of(word) == kReady;
      if (word_.cas_seq_cst(word, with(word, ready ? kNothing : kWaiting))) return !ready;  // pairs: gate.word
    }
  }
  // After begin_wait(), before parking. False: another thread is waking the waiter, which has to park for it.
  bool call_off() noexcept { return leave_waiting(kNothing); }

  // --- notifiers and interrupters. True: the caller wakes the waiter ---

  bool notify(std::uint32_t sequence) noexcept {
    // Not relaxed, because kReady ends the call without a CAS. Reading kReady means that the waiter's next look at the
    // descriptor comes after the report in the single order of seq_cst operations, and finds what was reported.
    std::uint64_t word = word_.load_seq_cst();  // pairs: gate.word
    for (;;) {
      if (sequence_of(word) != sequence || state_of(word) == kReady) return false;
      const bool waited = state_of(word) == kWaiting;
      if (word_.cas_seq_cst(word, with(word, kReady))) return waited;  // pairs: gate.word
    }
  }
  bool interrupt() noexcept { return leave_waiting(kNothing); }

 private:
  enum State : std::uint64_t { kNothing, kReady, kWaiting };
  static constexpr std::uint64_t make(std::uint32_t sequence, State state) noexcept {
    return std::uint64_t{sequence} << 32 | state;
  }
  static constexpr State state_of(std::uint64_t word) noexcept { return static_cast<State>(word & 3); }
  static constexpr std::uint32_t sequence_of(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }
  static constexpr std::uint64_t with(std::uint64_t word, State state) noexcept {
    return make(sequence_of(word), state);
  }

  bool leave_waiting(State next) noexcept {
    std::uint64_t word = word_.load_seq_cst();  // pairs: gate.word
    while (state_of(word) == kWaiting)
      if (word_.cas_seq_cst(word, with(word, next))) return true;  // pairs: gate.word
    return false;
  }

  typename Atomics::template atom<std::uint64_t> word_{0};
};

}  // namespace weft::service
