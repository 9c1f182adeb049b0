// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "api/case_locks.h"
#include "api/chan_core.h"
#include "api/joiner.h"
#include "api/start.h"
#include "base/random.h"
#include "os/clock.h"
#include "sched/state/control.h"
#include "sched/state/process_end.h"
#include "weft/detail/countdown.h"
#include "weft/detail/task_core.h"
#include "weft/error.h"
#include "weft/go.h"

// Select.
//   1 Look     Without locks: of the cases that seem ready, one is chosen uniformly at random, and tried under its
//              channel's lock.
//   2 Decide   If nothing seems ready, all channels are locked together (case_locks.h) and looked at again. Something
//              is ready: back to 1. We may not wait: "nothing was ready" is true of one moment, not of several.
//   3 Enqueue  Under the same locks: a waiter per case, all with one Choice.
//   4 Wake     We take the waiters that lost off their lists. A thread that meets one before that skips it
//              (WaitList::pop).
//   One wins   All waiters of a select and its time limit have the same Choice. fire() succeeds once, so one channel
//              moves one element, and one waker wakes. A loser's element was never touched, because it is moved only
//              after pop().
//   No loss    When the waiters are queued, no channel is ready, under all locks. A thread that makes one ready later
//              finds the waiter there.
//   Meeting    Two selects that face each other meet: the second to lock the channel they share sees the waiter of the
//              first. A select does not meet itself, because it looks before it queues. Waiters whose select has been
//              decided are no partners (has_fired).
//   Bias       If all locks are biased to this M and there are no other waiters, it will be this M that decides. Then
//              the Choice is biased to this M, too (biased_flag.h). Another thread that comes has revoked the bias of a
//              lock before, and revokes the bias of one Choice for it, not of a crowd.
//   Frames     The waiters are on our stack. We leave every list, under its lock, before we return. The winner was
//              taken off by pop().
//   Timers     A goroutine that has queued on a timer's channel sees to it that the channel is in a timer heap
//              (arm_timers). The heap wakes the first goroutine that waits there (timer_chan.h). We may have been woken
//              before we arm the channel, even as its winner; it still exists, because our caller has a handle. A plain
//              thread wakes up at the timer's time by itself, or is woken by the thread that changes the time.
//   Events     Are the end of a task, and a future that becomes ready. An event that has happened stays, because only
//              the caller can take it. So a look at the events while all channels are locked is true of the moment at
//              which the last lock was taken.
//              After 3, without the locks, each task's word gets a Joiner and each future's list a waiter, all with the
//              same Choice. If an event has happened meanwhile, we fire the Choice ourselves, so that no thread wakes
//              us, leave the others, and are back at 1. If a waker has fired it before, we park, and the waker's case
//              wins.
//              From the losers' tasks and futures we withdraw, which waits for their last access to our frame.
//   Lifetime   Cases borrow handles (case_channel.h): our caller has them. From 3 on other goroutines may have heard
//              from us (a value of one case) and dropped the other handles. So all channels are queued on at once, and
//              a channel stays until the waiters that queued on it have left it (chan_core.h). The winner's channel is
//              not touched any more.
//   Rejected   Queueing channel by channel: no two locks at once. But a goroutine that has heard from us through the
//              first channel may destroy the second before we have reached it, so each case must count a handle: 4 ns
//              of 50. And each list must be searched for our own waiters.
//              Events under the channels' locks: two kinds of locks at once, and nothing is gained, because events
//              stay.
//              One Select for both: that of channels would ask each case what it is.
//   Model      tests/model/api/select_test.cc and select_event_test.cc explore this file.
namespace weft::detail {
namespace {

using sched::Choice;
using sched::Goroutine;
using sched::Sleeper;
using sched::Wait;
using sched::Waiter;
using sched::WaitReason;

constexpr std::size_t kOnStack = CaseLocks::kOnStack;

base::Random& random_of_thread() {
  static thread_local base::Random random(static_cast<std::uint64_t>(os::now_ns()));
  return random;
}

__attribute__((noinline)) std::uint32_t random_below(std::uint32_t bound) {
  if (const sched::Control* own = sched::own_control()) return own->choose(bound);
  if (sched::Processor* p = os::current_p()) return p->random.below(bound);
  return random_of_thread().below(bound);
}

// --- tasks and futures ---

task_core& task_of(const select_case& one) noexcept { return *static_cast<task_core*>(one.element); }
countdown& future_of(const select_case& one) noexcept { return *static_cast<countdown*>(one.element); }

bool has_happened(const select_case& one) noexcept {
  return one.source == case_source::task ? task_of(one).done() : future_of(one).is_zero();
}
// For TSan: a caller that sees the event comes after it.
void follow([[maybe_unused]] const select_case& one) noexcept {
#if WEFT_TELLS_TSAN
  static_cast<void>(has_happened(one));
#endif
}
bool enlist(const select_case& one, Joiner& joiner) noexcept {
  return one.source == case_source::task ? task_of(one).enlist(joiner) : future_of(one).enlist(joiner);
}
void withdraw(const select_case& one, Joiner& joiner) noexcept {
  if (one.source == case_source::task) {
    static_cast<void>(task_of(one).withdraw(joiner));
  } else {
    future_of(one).withdraw(joiner);
  }
}

struct SelectTable {
  SelectTable(select_case* cases, std::size_t count) : cases_(cases), count_(count) {}

  select_case* cases_;
  std::size_t count_;
  const Waiter* waiters_;  // of a select that waits: one for each case; null: the cases are not only channels
};

// HasEvents: some cases may be tasks and futures.
template <bool HasEvents>
class Select : public SelectTable {
  using Room = std::conditional_t<HasEvents, Joiner, Waiter>;  // what a case waits with

 public:
  Select(select_case* cases, std::size_t count, std::int64_t deadline_ns)
      : SelectTable(cases, count), deadline_ns_(deadline_ns) {}

  __attribute__((always_inline)) std::size_t run() {
    sched::point();
    for (;;) {
      const std::size_t ready = run_a_ready_case();
      if (ready != no_case) return ready;
      const std::size_t chosen = deadline_ns_ == 0 ? decide_at_one_moment() : wait_for_one();
      if (chosen != kAgain) return chosen;
    }
  }

 private:
  static constexpr std::size_t kAgain = no_case - 1;

  static bool is_event(const select_case& one) noexcept { return HasEvents && one.source != case_source::channel; }
  static bool looks_ready(const select_case& one) noexcept {
    if (is_event(one)) return has_happened(one);
    return one.channel != nullptr && one.channel->looks_ready(one.is_send);
  }

  // False: it would block after all.
  bool try_case(select_case& one) {
    if (is_event(one)) return true;
    const chan_outcome outcome =
        one.is_send ? one.channel->try_send(one.element, one.copy) : one.channel->try_receive(one.element);
    if (outcome == chan_outcome::would_block) return false;
    if (outcome == chan_outcome::closed && one.is_send) throw_send_on_closed();
    one.received = outcome == chan_outcome::done;
    return true;
  }

  std::size_t run_a_ready_case() {
    for (;;) {
      std::uint32_t ready = 0;
      select_case* chosen = nullptr;
      select_case* const end = cases_ + count_;
      for (select_case* one = cases_; one != end; ++one)  // each of the ready ones is kept with the same probability
        if (looks_ready(*one) && (++ready == 1 || random_below(ready) == 0)) chosen = one;
      if (chosen == nullptr) return no_case;
      if (try_case(*chosen)) return static_cast<std::size_t>(chosen - cases_);
    }
  }

  // Under all locks.
  bool is_any_ready() const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (is_event(cases_[i]) && has_happened(cases_[i])) return true;
      if (cases_[i].channel != nullptr && cases_[i].channel->is_ready(cases_[i].is_send)) return true;
    }
    return false;
  }

  __attribute__((noinline)) std::size_t decide_at_one_moment() {
    if (count_ <= 1) return no_case;  // a look at one channel is one moment already
    CaseLocks locks(cases_, count_);
    locks.lock();
    const bool ready = is_any_ready();
    locks.unlock();
    return ready ? kAgain : no_case;
  }

  // Inlined, as everything between select_among() and park(). The processor mispredicts the returns after a switch,
  // because the last calls it has seen are the other goroutine's.
  __attribute__((always_inline)) std::size_t wait_for_one() {
    // Raw memory: a waiter is made when its case is queued, and most selects have fewer cases than kOnStack.
    alignas(Room) std::byte few[kOnStack * sizeof(Room)];
    if (WEFT_UNLIKELY(count_ > kOnStack)) return wait_for_one_of_many();
    return wait_with(reinterpret_cast<Room*>(few));
  }
  __attribute__((noinline)) std::size_t wait_for_one_of_many() {
    sched::calling_goroutine();  // before the locks, as in wait_with()
    const auto many = std::make_unique_for_overwrite<std::byte[]>(count_ * sizeof(Room));
    return wait_slowly(reinterpret_cast<Room*>(many.get()));
  }

  __attribute__((always_inline)) std::size_t wait_with(Room* waiters) {
    // Before the locks: a goroutine that has lost its P gets one here, and may have to wait for it.
    Goroutine* g = sched::calling_goroutine();
    if (HasEvents) return wait_slowly(waiters);
    if (WEFT_UNLIKELY(g == nullptr || deadline_ns_ != os::kForever || !try_lock_idle())) return wait_slowly(waiters);
    std::exception_ptr error;
    Choice choice;
    if (WEFT_LIKELY(locks_are_own_)) choice.fired.give_to(*sched::MachineOwners::self());
    waiters_ = waiters;
    sched::begin_wait(g, reason(), static_cast<SelectTable*>(this));
    Room* waiter = waiters;
    const select_case* const end = cases_ + count_;
    for (const select_case* one = cases_; one != end; ++one, ++waiter) {
      chan_core* channel = one->channel;
      if (channel == nullptr) continue;
      queue(*waiter, *one, Sleeper(g), choice, error);
      channel->lock().unlock_counted_unranked();  // the channels that follow are still locked: no thread reaches them
    }
    sched::park();
    return conclude<false>(waiters, choice.winner, error);
  }

  // Locks all channels. False: one is locked, a timer's, or seems ready, and none stays locked.
  __attribute__((always_inline)) bool try_lock_idle() noexcept {
    locks_are_own_ = true;
    const select_case* const end = cases_ + count_;
    for (const select_case* one = cases_; one != end; ++one) {
      chan_core* channel = one->channel;
      if (channel == nullptr) continue;
      const bool locked = channel->lock().try_lock_unranked();
      if (WEFT_LIKELY(locked && !channel->is_timer() && !channel->looks_ready(one->is_send))) {
        locks_are_own_ = locks_are_own_ && channel->lock().is_own() && channel->waiters(one->is_send).empty();
        continue;
      }
      if (locked) channel->lock().unlock_unranked();
      while (one != cases_)
        if ((--one)->channel != nullptr) one->channel->lock().unlock_unranked();
      return false;
    }
    return true;
  }

  // With a time limit, on a plain thread, on channels that others use, with many cases, or with events.
  __attribute__((noinline)) std::size_t wait_slowly(Room* waiters) {
    if (HasEvents && is_hopeless()) return give_up_at_exit();
    CaseLocks locks(cases_, count_);
    locks.lock();
    if (is_any_ready()) {
      locks.unlock();
      return kAgain;
    }
    const std::int64_t wake_at = when_to_wake();
    std::exception_ptr error;
    Wait wait(reason(), static_cast<SelectTable*>(this), wake_at);
    waiters_ = HasEvents ? nullptr : waiters;
    wait.begin();
    for (std::size_t i = 0; i < count_; ++i)
      if (HasEvents || cases_[i].channel != nullptr) queue(waiters[i], cases_[i], wait.sleeper(), wait.choice(), error);
    locks.unlock();
    const Leaving leaving{waiters, count_};
    arm_timers();
    if (HasEvents && !enlist_all(waiters) && wait.choice().fire(nullptr)) {  // one is there, and nobody wakes us now
      wait.call_off();
      static_cast<void>(conclude<true>(waiters, nullptr, error));
      return kAgain;
    }
    const std::size_t chosen = conclude<true>(waiters, wait.wait() ? wait.choice().winner : nullptr, error);
    return chosen == no_case && wake_at < deadline_ns_ ? kAgain : chosen;  // a timer's time has come
  }

  // The time limit. For a plain thread also the time of a timer among the channels, read under its lock, because a
  // thread that changes it wakes the threads that wait.
  std::int64_t when_to_wake() const noexcept {
    std::int64_t wake_at = deadline_ns_;
    for (std::size_t i = 0; i < count_; ++i)
      if (cases_[i].channel != nullptr) wake_at = std::min(wake_at, cases_[i].channel->due_for_thread());
    return wake_at;
  }

  void arm_timers() noexcept {
    for (std::size_t i = 0; i < count_; ++i)
      if (cases_[i].channel != nullptr && cases_[i].channel->is_timer()) cases_[i].channel->arm();
  }

  // Ends the waiters' lives, after which no thread may use them; a model reports one that does.
  struct Leaving {
    Room* waiters;
    std::size_t count;
    ~Leaving() {
      if constexpr (HasEvents) std::destroy_n(waiters, count);
    }
  };

  // False: one event has happened, and the rest have not been asked.
  bool enlist_all(Room* waiters) noexcept {
    if constexpr (HasEvents)
      for (std::size_t i = 0; i < count_; ++i)
        if (is_event(cases_[i]) && !enlist(cases_[i], waiters[i])) return false;
    return true;
  }
  void withdraw_from_events(Room* waiters, const Waiter* winner) noexcept {
    if constexpr (HasEvents)
      for (std::size_t i = 0; i < count_; ++i)
        if (is_event(cases_[i]) && &waiters[i] != winner) withdraw(cases_[i], waiters[i]);
  }

  // A static destructor waits for goroutines, of which none runs any more, and for nothing else. It gives up, as
  // task::join() does there.
  bool is_hopeless() const noexcept {
    if (sched::regain_processor() != nullptr || !sched::ends_the_process()) return false;
    bool has_task = false;
    for (std::size_t i = 0; i < count_; ++i) {
      if (cases_[i].channel != nullptr || cases_[i].source == case_source::future) return false;
      has_task = has_task || cases_[i].source == case_source::task;
    }
    return has_task;
  }
  std::size_t give_up_at_exit() const {
    if (deadline_ns_ == os::kForever) throw_exiting();
    return no_case;
  }

  // After the wait. A null winner means that the time has come: returns no_case.
  template <bool MayHaveTimers>
  std::size_t conclude(Room* waiters, const Waiter* winner, std::exception_ptr& error) {
    Room* waiter = waiters;
    const select_case* const end = cases_ + count_;
    for (const select_case* one = cases_; one != end; ++one, ++waiter)
      if (one->channel != nullptr && waiter != winner) {
        MayHaveTimers ? one->channel->leave_any(one->is_send, *waiter) : one->channel->leave(one->is_send, *waiter);
      }
    if (HasEvents) withdraw_from_events(waiters, winner);
    if (WEFT_UNLIKELY(winner == nullptr)) return no_case;
    if (WEFT_UNLIKELY(winner->retry)) return kAgain;
    const auto index = static_cast<std::size_t>(static_cast<const Room*>(winner) - waiters);
    if (!is_event(cases_[index])) cases_[index].channel->woken(*winner);
    if (WEFT_UNLIKELY(error != nullptr)) std::rethrow_exception(error);
    if (is_event(cases_[index])) {
      follow(cases_[index]);
      return index;
    }
    if (WEFT_UNLIKELY(!winner->success) && cases_[index].is_send) throw_send_on_closed();
    cases_[index].received = winner->success;
    return index;
  }

  WaitReason reason() const noexcept {
    return WEFT_LIKELY(count_ != 0) ? WaitReason::kSelect : WaitReason::kEmptySelect;
  }

  // Makes the waiter of a case. The waiter of an event is enlisted later.
  static void queue(Room& room, const select_case& one, Sleeper sleeper, Choice& choice,
                    std::exception_ptr& error) noexcept {
    Room& waiter = *::new (static_cast<void*>(&room)) Room;
    waiter.who = sleeper;
    waiter.choice = &choice;
    waiter.element = one.element;
    waiter.copy = one.copy;
    waiter.error = &error;
    if (HasEvents && one.channel == nullptr) return;
    one.channel->queues(waiter);
    one.channel->waiters(one.is_send).push(waiter);
  }

  std::int64_t deadline_ns_;
  bool locks_are_own_ = false;  // all are biased to this M, and there are no other waiters; set by try_lock_idle()
};

}  // namespace

std::size_t cases_of_waiting_select(const void* object, const select_case** cases) noexcept {
  const auto* select = static_cast<const SelectTable*>(object);
  *cases = select->cases_;
  return select->count_;
}

const chan_core* channel_that_ended(const void* object) noexcept {
  const auto* select = static_cast<const SelectTable*>(object);
  if (select->waiters_ == nullptr) return nullptr;
  for (std::size_t i = 0; i < select->count_; ++i) {
    if (select->cases_[i].channel == nullptr) continue;  // that waiter was not made
    const Waiter* winner = select->waiters_[i].choice->winner;
    return winner != nullptr ? select->cases_[winner - select->waiters_].channel : nullptr;
  }
  return nullptr;
}

std::size_t select_among(select_case* cases, std::size_t count, std::int64_t deadline_ns) {
  return Select<false>(cases, count, deadline_ns).run();
}

std::size_t select_among_all(select_case* cases, std::size_t count, std::int64_t deadline_ns) {
  return Select<true>(cases, count, deadline_ns).run();
}

}  // namespace weft::detail
