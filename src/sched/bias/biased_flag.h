// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/check.h"

// A flag that several threads may set and one does, who is told so: by CAS, or, while the flag is one M's own, by plain loads and stores of
// that M, until another thread comes.
//   Why         a select that waits for channels of which one M has the locks to itself is decided by that M, too: the CAS was the only locked
//               operation left, 3 of 70 ns.
//   Own         from the beginning, before others can see the flag, or never.
//   Invariants  F1 owner_ goes from an M to kTaking to kNobody, and never back.
//               F2 the owner reads and writes set_ plainly, inside its window and after it has seen there that the flag is still its own.
//               F3 everybody else, and the owner later, uses CAS, after it has seen kNobody. Who wrote that had passed a heavy fence and seen the
//               owner's window elsewhere: what the owner did in F2 is done, and it will do no more.
//   Taking      as a biased lock's revocation (biased_lock.h, which has the argument for windows): the owner writes its window, then reads owner_;
//               the taker writes kTaking, passes the heavy fence, then reads the window: one sees the other.
//   Progress    a taker waits for a few instructions of the owner; others, and the owner, wait for the taker, who waits for nothing else.
//   Cost        a barrier for each flag that is taken: only what is expected to be set by its owner should be its own, and no crowd that
//               somebody else may want to set one after the other (select.cc).
//   Model       tests/model/biased_flag_test.cc explores this file; stress: biased_flag_test.cc.
namespace weft::sched {

template <class Atomics, class Owners>
class BiasedFlag {
  using Owner = typename Owners::Owner;
  using Habit = typename Owner::Habit;

 public:
  // Nobody else has seen the flag yet.
  void give_to(const Owner& owner) noexcept { owner_.store_relaxed(owner.owns()); }
  bool is_own() const noexcept { return owner_.load_relaxed() != Owner::kNobody; }

  // True: it was the caller who set it.
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
    if (is_set()) return false;  // by its owner or anybody
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
