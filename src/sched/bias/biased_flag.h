// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/check.h"

// A flag that several threads may try to set. Exactly one succeeds, and its set() returns true. A shared flag is set by
// CAS. A flag that is one M's own (biased) is set by plain loads and stores of that M, until another thread takes it.
//   Why         A select that waits for channels whose locks are all biased to one M is also decided by that M. The CAS
//               was the only locked operation left, 3 of 70 ns.
//   Own         A flag gets its owner before other threads can see it, or never.
//   Invariants  F1 owner_ goes from an M to kTaking to kNobody, and never back.
//               F2 The owner reads and writes set_ plainly, but only inside its window, and after it has seen there
//                  that the flag is still its own.
//               F3 All other threads use CAS, after they have seen kNobody. So does the former owner. The thread that
//                  wrote kNobody had passed a heavy fence before, and had seen the owner's window elsewhere. So
//                  everything the owner did under F2 is done, and it will do no more.
//   Taking      works like the revocation of a biased lock (biased_lock.h has the argument for windows). The owner
//               writes its window, then reads owner_. The taker writes kTaking, passes the heavy fence, then reads the
//               window. So at least one of the two sees the other.
//   Progress    A taker waits for a few instructions of the owner. The owner and the other threads wait for the taker,
//               which waits for nothing else.
//   Cost        Each flag that is taken from its owner costs a barrier. So a flag should have an owner only if that
//               owner is expected to set it, and not if another thread may set many such flags in a row (select.cc).
//   Model       tests/model/biased_flag_test.cc explores this file; stress: biased_flag_test.cc.
namespace weft::sched {

template <class Atomics, class Owners>
class BiasedFlag {
  using Owner = typename Owners::Owner;
  using Habit = typename Owner::Habit;

 public:
  // No other thread has seen the flag yet.
  void give_to(const Owner& owner) noexcept { owner_.store_relaxed(owner.owns()); }
  bool is_own() const noexcept { return owner_.load_relaxed() != Owner::kNobody; }

  // True: this call has set it. False: another call had.
  __attribute__((always_inline)) bool set() noexcept {
    if (WEFT_LIKELY(owner_.load_acquire() == Owner::kNobody)) return set_shared();  // pairs: flag.owner
    return set_own();
  }
  bool is_set() const noexcept { return set_.load_acquire() != 0; }  // pairs: flag.set

 private:
  static constexpr Habit kTaking = static_cast<Habit>(~Owner::kBiased);
  static_assert(!Owner::is_biased(kTaking) && kTaking != Owner::kNobody);

  bool set_shared() noexcept {
    std::uint32_t clear = 0;
    return set_.cas_acq_rel(clear, 1);  // pairs: flag.set
  }

  __attribute__((always_inline)) bool set_own() noexcept {
    Owner* self = Owners::self();
    if (WEFT_UNLIKELY(self == nullptr || owner_.load_relaxed() != self->owns())) return set_anothers();
    self->window.store_release(this);  // pairs: lock.window
    Owners::light_fence();
    const bool ours = owner_.load_acquire() == self->owns();  // pairs: flag.owner
    bool first = false;
    if (WEFT_LIKELY(ours)) {
      first = set_.load_relaxed() == 0;
      set_.store_release(1);  // pairs: flag.set
    }
    self->window.store_release(nullptr);  // pairs: lock.window
    return WEFT_LIKELY(ours) ? first : set_anothers();
  }

  __attribute__((noinline)) bool set_anothers() noexcept {
    if (is_set()) return false;  // by its owner or by another thread
    typename Owners::BackOff back_off;
    Habit habit = owner_.load_relaxed();
    if (Owner::is_biased(habit) && owner_.cas_acquire(habit, kTaking)) {  // pairs: flag.owner
      Owners::heavy_fence();
      const Owner* owner = Owners::find(habit);
      while (owner->window.load_acquire() == this) back_off.wait();  // pairs: lock.window
      owner_.store_release(Owner::kNobody);                          // pairs: flag.owner
    }
    while (owner_.load_acquire() != Owner::kNobody) back_off.wait();  // pairs: flag.owner
    return set_shared();
  }

  template <class T>
  using Atom = typename Atomics::template atom<T>;

  Atom<std::uint32_t> set_{0};
  Atom<Habit> owner_{Owner::kNobody};
};

}  // namespace weft::sched
