// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/check.h"
#include "sched/bias/lock_owner.h"

// Biased lock: a spin lock that after a streak of uses by one M becomes that M's own. The M then locks it by plain
// loads and stores, until another thread revokes the bias.
//   Why         Most channels are used by goroutines of one P for long stretches. A locked operation takes 5 to 9 ns,
//               which is most of the cost of an item through a buffered channel (20 ns with it, 10 ns without).
//   Streak      counts the most frequent operations (those that end with unlock_counted). A use by another M begins a
//               new streak, and is a meeting (sharing_meter.h).
//   Two bytes   taken_ is the byte of an ordinary spin lock. A lock stays taken while it is biased: its owner locks and
//               unlocks it by mine_, like a lock of one thread. So no thread can mistake one kind for the other.
//   Invariants  B1 habit_ is written by the thread that has taken_: the holder if the lock is unbiased, the revoker if
//                  it is biased.
//               B2 biased => taken_. mine_ => biased.
//               B3 Only the owner sets mine_. It does so inside its window, after it has seen there that revoking_ is
//                  clear, habit_ names itself and mine_ is clear.
//               B4 The thread that locks is the thread that unlocks: no goroutine moves in between (park() checks
//                  os::holds_any_rank()). So the owner's uses follow one another in that thread's own order. Its
//                  acquire of what it released itself is for TSan, which tells the goroutines of a thread apart.
//   Revocation  The revoker sets revoking_, passes a heavy fence, and waits until the owner's window is elsewhere and
//               mine_ is clear. Then taken_ belongs to the revoker.
//               The owner writes window, then reads revoking_. The revoker writes revoking_, then reads window. So at
//               least one of the two sees the other. The owner needs no fence, because the heavy fence is a barrier in
//               every thread (os/process_barrier.h).
//               When the revoker sees the window elsewhere (closed, or at another lock), there are two cases. The owner
//               has left its window here: then the revoker sees mine_ if the owner has set it, because window is only
//               written by releases (lock.window). Or the owner is still to come: then it sees revoking_ and stays off.
//               A thread that sees revoking_ cleared again also sees the new habit_ (lock.revoked).
//   One window  for each M, not for each lock. The M closes it before lock() returns, so it may hold any number of
//               locks. A window inside the lock would be wrong: a former owner that is interrupted between its look at
//               habit_ and its write of the window would later overwrite the window of the next owner.
//   Progress    A thread that waits for a window waits for a few instructions of the owner, which waits for nothing in
//               them. A thread that waits for a holder waits as for any spin lock. So the order of locks is all that
//               freedom from deadlock needs.
//   Handlers    Signal handlers take no lock of this class at all: a handler may have interrupted its thread inside its
//               window, and would close that window. The runtime's own handlers take none, and users' handlers may not
//               call the runtime.
//   Cost        A revocation costs a barrier of the process. Locks that change hands all the time are not biased, and
//               cost what spin locks cost (paced_barrier.h).
//   Rejected    one word for owner and lock, taken by CAS: the CAS has to wait for the value that was read before, 3 ns
//               for each unbiased lock.
//               bias to a P instead of an M: a thread that loses its P inside its window or while it holds the lock
//               would no longer be the owner, but it is still the same M.
//   Model       tests/model/biased_lock_test.cc explores this file; stress: biased_lock_test.cc.
namespace weft::sched {

template <class Atomics, class Owners>
class BiasedLock {
  using Owner = typename Owners::Owner;
  using Habit = typename Owner::Habit;

 public:
  __attribute__((always_inline)) bool try_lock_unranked() noexcept {
    if (!taken_.load_relaxed()) return !taken_.exchange_acquire(true);  // pairs: lock.taken
    Owner* self = Owners::self();
    return self != nullptr && habit_.load_relaxed() == self->owns() && try_own(*self);
  }
  void lock_unranked() noexcept {
    if (WEFT_UNLIKELY(!try_lock_unranked())) lock_slow();
  }
  void unlock_unranked() noexcept {
    if (mine_.load_relaxed()) {
      mine_.store_release(false);  // pairs: lock.mine
    } else {
      taken_.store_release(false);  // pairs: lock.taken
    }
  }
  // Few instructions, because other threads wait for the lock meanwhile.
  __attribute__((always_inline)) void unlock_counted_unranked() noexcept {
    if (mine_.load_relaxed()) return mine_.store_release(false);  // pairs: lock.mine
    Owner* self = Owners::self();
    if (WEFT_UNLIKELY(self == nullptr || habit_.load_relaxed() != self->uses())) return end_anothers_streak(self);
    Owners::note_use(*self);
    const auto uses = static_cast<std::uint8_t>(streak_.load_relaxed() + 1);
    streak_.store_relaxed(uses);
    if (WEFT_UNLIKELY(uses >= Owners::kStreak)) return end_own_streak(*self);
    taken_.store_release(false);  // pairs: lock.taken
  }

  // Before the lock is shared: from now on every lock() takes the slow path, for a test that controls the goroutines
  // (state/control.h). mine_ is then the byte of an ordinary spin lock, taken_ stays set, and there is no owner.
  void always_lock_slowly() noexcept {
    habit_.store_relaxed(Owner::kSlow);
    taken_.store_relaxed(true);
  }

  bool is_biased() const noexcept { return Owner::is_biased(habit_.load_relaxed()); }
  // Asked by the holder: whether the lock is biased to it.
  bool is_own() const noexcept { return mine_.load_relaxed(); }
  // A hint. True: a thread holds the lock or revokes its bias. False: the lock is free, or its owner does not hold it.
  bool seems_in_use() const noexcept {
    const bool by_mine = is_biased() || habit_.load_relaxed() == Owner::kSlow;
    return revoking_.load_relaxed() || (by_mine ? mine_.load_relaxed() : taken_.load_relaxed());
  }

 private:
  __attribute__((always_inline)) bool try_own(Owner& self) noexcept {
    self.window.store_release(this);  // pairs: lock.window
    Owners::light_fence();
    const bool ours = !revoking_.load_acquire() &&             // pairs: lock.revoked
                      habit_.load_acquire() == self.owns() &&  // pairs: lock.habit
                      !mine_.load_acquire();                   // pairs: lock.mine
    if (WEFT_LIKELY(ours)) mine_.store_relaxed(true);
    self.window.store_release(nullptr);  // pairs: lock.window
    Owners::note_use(self);
    return ours;
  }

  __attribute__((noinline)) void lock_slow() noexcept {
    if (habit_.load_relaxed() == Owner::kSlow) return lock_as_spin_lock();
    const auto begin = Owners::begin_wait();
    typename Owners::BackOff back_off;
    do {
      if (is_biased() && revoke()) break;
      back_off.wait();
    } while (!try_lock_unranked());
    Owners::note_wait(begin);
  }

  void lock_as_spin_lock() noexcept {
    typename Owners::BackOff back_off;
    while (mine_.exchange_acquire(true)) back_off.wait();  // pairs: lock.mine
  }

  // The caller holds the lock. Biases it to the calling thread, or unlocks it.
  __attribute__((noinline)) void end_own_streak(const Owner& self) noexcept {
    if (self.uses() != Owner::kNobody && Owners::may_rely())
      return habit_.store_release(self.owns());  // pairs: lock.habit
    begin_streak(self.uses());
    taken_.store_release(false);  // pairs: lock.taken
  }
  __attribute__((noinline)) void end_anothers_streak(Owner* self) noexcept {
    if (self != nullptr) Owners::note_use(*self);
    const bool used_before = habit_.load_relaxed() != Owner::kNobody;
    begin_streak(self != nullptr ? self->uses() : Owner::kNobody);
    taken_.store_release(false);  // pairs: lock.taken
    if (used_before) Owners::note_meeting();
  }

  // True: the caller holds the lock, which is unbiased now. False: the lock is no longer biased to another thread, or
  // another thread is revoking the bias.
  bool revoke() noexcept {
    if (revoking_.exchange_acquire(true)) return false;  // pairs: lock.revoked
    const Owner* self = Owners::self();
    const Habit habit = habit_.load_acquire();  // pairs: lock.habit
    const Owner* owner = Owner::is_biased(habit) ? Owners::find(habit) : nullptr;
    const bool is_anothers = owner != nullptr && owner != self;
    if (is_anothers) {
      Owners::heavy_fence();
      typename Owners::BackOff back_off;
      while (owner->window.load_acquire() == this) back_off.wait();  // pairs: lock.window
      while (mine_.load_acquire()) back_off.wait();                  // pairs: lock.mine
      begin_streak(self != nullptr ? self->uses() : Owner::kNobody);
    }
    revoking_.store_release(false);  // pairs: lock.revoked
    return is_anothers;
  }

  void begin_streak(Habit habit) noexcept {
    habit_.store_relaxed(habit);
    streak_.store_relaxed(0);
  }

  template <class T>
  using Atom = typename Atomics::template atom<T>;

  Atom<Habit> habit_{Owner::kNobody};  // the M that used it last (unlock_counted), or its owner
  Atom<std::uint8_t> streak_{0};       // its uses in a row
  Atom<bool> taken_{false};
  Atom<bool> mine_{false};
  Atom<bool> revoking_{false};
};

}  // namespace weft::sched
