// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/check.h"
#include "sched/bias/lock_owner.h"

// A spin lock that gets used to a thread: after a streak of uses by one M it is that M's own, which then takes it by plain loads and stores,
// until another thread wants it.
//   Why         most channels are used by goroutines of one P for long stretches, and a locked operation takes 5 to 9 ns, most of what an item
//               through a buffered channel costs (20 -> 10 ns).
//   Streak      counts what channels do most (unlock_counted). A use by another M begins a new one, and is a meeting (sharing_meter.h).
//   Two bytes   taken_ is an ordinary spin lock's. A lock that becomes an M's own stays taken: whoever holds it holds mine_, too, which the
//               owner takes and gives back like a lock of one thread. So nobody can mistake the one kind for the other.
//   Invariants  B1 habit_ is written by who holds taken_: the holder if the lock is unbiased, the revoker if it is biased.
//               B2 biased => taken_. mine_ => biased.
//               B3 mine_ is set by the owner only, inside its window, where it has seen revoking_ clear, habit_ its own and mine_ clear.
//               B4 who unlocks is the thread that has locked: no goroutine moves in between (os::holds_any_rank() in park()). The owner's uses
//               follow one another in that thread's own order; what it acquires of itself is for TSan, which tells its goroutines apart.
//   Revocation  another thread sets revoking_, passes a heavy fence, waits until the owner's window is elsewhere and mine_ is clear; then
//               taken_ is its own. The owner writes window, then reads revoking_; the revoker writes revoking_, then reads window: one sees the
//               other. The owner's side needs no fence, for the heavy one is a barrier in every thread (os/process_barrier.h).
//               A revoker that sees the window elsewhere, closed or at another lock, sees mine_ set by then (lock.window: both are releases), or
//               the owner will see revoking_ and keep off; who sees revoking_ taken back sees habit_ changed (lock.revoked).
//   One window  per M, not per lock: it is closed before the lock is held, so any number of locks may be held. (In the lock it would be wrong:
//               a former owner that was interrupted between its look and its mark would wipe out the mark of the next owner.)
//   Progress    whoever waits for a window waits for a few instructions of a thread that waits for nothing in it; whoever waits for a holder
//               waits as for any spin lock. So the order of locks is all that deadlock freedom needs.
//   Handlers    of signals take no such lock, none at all: they could have interrupted their thread inside its window, which they would close.
//               The runtime's own do not, and users' may not call the runtime.
//   Cost        a revocation takes a barrier of the process. Locks that change hands all the time become nobody's own, and cost what spin locks do
//               (paced_barrier.h).
//   Rejected    one word for owner and lock, taken by CAS: what was read before feeds the CAS, 3 ns for each lock that is nobody's own. Bias to a P
//               instead of an M: who loses its P in the middle is still the thread it was.
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
  // Few instructions, for others wait for them.
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

  bool is_biased() const noexcept { return Owner::is_biased(habit_.load_relaxed()); }
  // To the holder: whether it is its own.
  bool is_own() const noexcept { return mine_.load_relaxed(); }
  // Of one moment: somebody holds it, or is taking it away, rather than only owns it.
  bool seems_in_use() const noexcept {
    return revoking_.load_relaxed() || (is_biased() ? mine_.load_relaxed() : taken_.load_relaxed());
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
    const auto begin = Owners::begin_wait();
    typename Owners::BackOff back_off;
    do {
      if (is_biased() && revoke()) break;
      back_off.wait();
    } while (!try_lock_unranked());
    Owners::note_wait(begin);
  }

  // Keeps the lock for this thread, or gives it back.
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

  // False: it is not another thread's own any more, or somebody is at it.
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

  Atom<Habit> habit_{Owner::kNobody};  // the M that used it last (unlock_counted), or whose own it is
  Atom<std::uint8_t> streak_{0};       // its uses in a row
  Atom<bool> taken_{false};
  Atom<bool> mine_{false};
  Atom<bool> revoking_{false};
};

}  // namespace weft::sched
