// SPDX-License-Identifier: MIT
#include "weft/shared_mutex.h"

#include "api/lock_name.h"
#include "base/check.h"
#include "sched/wait/wait_queue.h"

// Shared mutex.
//   State       kWriter, kWaiting, and the number of readers.
//   Invariant   While kWaiting is set, no newcomer gets in by itself. What makes the mutex free (the writer's unlock,
//               the last reader's) happens under the lock, and admits the next from the queue: one writer, or all
//               readers up to the next writer. Readers other than the last leave without the lock even then.
namespace weft {
namespace {

// A waiter's `index` is what it adds to the state: kWriter or kReader.
bool is_taken(sched::Waiter& waiter) noexcept { return waiter.choice == nullptr || waiter.choice->fire(&waiter); }

// Under the lock: takes the waiters whose turn it is off the queue; returns what they add to the state.
std::uint64_t admit(sched::WaitList& list, std::uint64_t holders, std::uint64_t writer,
                    sched::WaitList& admitted) noexcept {
  std::uint64_t added = 0;
  while (sched::Waiter* next = list.front()) {
    const bool is_writer = next->index == writer;
    if (((holders + added) & writer) != 0 || (is_writer && holders + added != 0)) break;
    list.remove(*next);
    if (!is_taken(*next)) continue;  // its time limit came first
    admitted.push(*next);
    added += next->index;
  }
  return added;
}

}  // namespace

// Notes the admitted waiters as holders while they still sleep.
void shared_mutex::note(const sched::WaitList& admitted) noexcept {
  for (const sched::Waiter* one = admitted.front(); one != nullptr; one = one->next) {
    sched::Goroutine* g = one->who.goroutine();
    if (one->index == kWriter)
      holder_.note(sched::hint_of(*one));
    else if (g != nullptr)
      g->reads.note(this, sched::hint_of(*one));
  }
}

bool shared_mutex::lock_slow(std::int64_t deadline_ns) noexcept {
  return wait_for_turn(kWriter, ~std::uint64_t{0}, deadline_ns);
}

bool shared_mutex::lock_shared_slow(std::int64_t deadline_ns) noexcept {
  return wait_for_turn(kReader, kWriter | kWaiting, deadline_ns);
}

bool shared_mutex::wait_for_turn(std::uint64_t mine, std::uint64_t in_the_way, std::int64_t deadline_ns) noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  sched::Waiter waiter;
  waiter.index = static_cast<std::uint32_t>(mine);
  sched::WaitList admitted;
  bool at_once = false;
  const bool got_it = sched::wait_unless(
      queue, waiter, mine == kWriter ? sched::WaitReason::kSharedMutexWrite : sched::WaitReason::kSharedMutexRead, this,
      deadline_ns,
      [&] {
        std::uint64_t state = state_.load(std::memory_order_relaxed);
        for (;;) {
          const bool take = (state & in_the_way) == 0;
          if (state_.compare_exchange_weak(state, take ? state + mine : state | kWaiting, std::memory_order_acq_rel))
            return at_once = take;  // pairs: shared_mutex.state
        }
      },
      [&](bool) {  // readers behind a writer that gave up need not wait any more
        std::uint64_t state = state_.load(std::memory_order_relaxed);
        const std::uint64_t added = admit(queue.list, state & ~kWaiting, kWriter, admitted);
        note(admitted);
        while (!state_.compare_exchange_weak(state, (state + added) & ~(queue.list.empty() ? kWaiting : 0),
                                             std::memory_order_acq_rel)) {  // pairs: shared_mutex.state
        }
      });
  sched::wake_all(admitted);
  if (got_it) detail::order_acquire(&state_);
  if (got_it && mine == kWriter) follow_all();
  if (at_once && mine == kWriter) holder_.note(detail::self_hint());  // else noted by the thread that admitted us
  if (at_once && mine == kReader) detail::note_read(this);
  return got_it;
}

void shared_mutex::unlock_slow() {
  const std::uint64_t state = state_.load(std::memory_order_relaxed);
  if ((state & kWriter) == 0)
    base::fatal("weft: unlock of an unlocked shared_mutex%s%s", api::LockName(queue_.name, this).text(),
                state >= kReader ? ": it is locked shared, which unlock_shared ends" : "");
  leave_waiting(kWriter);
}

void shared_mutex::unlock_shared_slow() {
  const std::uint64_t state = state_.load(std::memory_order_relaxed);
  if (state < kReader)
    base::fatal("weft: unlock_shared of an unlocked shared_mutex%s%s", api::LockName(queue_.name, this).text(),
                (state & kWriter) != 0 ? ": it is locked by a writer, which unlock ends" : "");
  leave_waiting(kReader);
  detail::forget_read(this);
}

// The last holder leaves while there are waiters.
void shared_mutex::leave_waiting(std::uint64_t mine) {
  sched::WaitQueue& queue = sched::open(queue_);
  sched::WaitList admitted;
  queue.lock.lock();
  // The waiters admitted here must see what other readers did before they left.
  const std::uint64_t state = state_.load(std::memory_order_acquire);  // pairs: shared_mutex.state
  if (state != (mine | kWaiting)) {  // changed meanwhile: the waiters gave up, or other readers came in
    queue.lock.unlock();
    if (mine == kWriter) {
      unlock();
    } else {
      unlock_shared();
    }
    return;
  }
  const std::uint64_t added = admit(queue.list, 0, kWriter, admitted);
  note(admitted);
  const std::uint64_t waiting = queue.list.empty() ? 0 : kWaiting;
  state_.store(added | waiting, std::memory_order_release);  // pairs: shared_mutex.state
  queue.lock.unlock();
  sched::wake_all(admitted);
}

}  // namespace weft
