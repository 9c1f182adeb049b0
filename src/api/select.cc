// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "api/chan_core.h"
#include "api/start.h"
#include "base/random.h"
#include "os/clock.h"
#include "weft/error.h"

// Select.
//   1 Look     without locks: one of the cases that seem ready, uniformly at random, is tried under its channel's lock.
//   2 Default  nothing seems ready and we may not wait: all channels are locked, in address order, and looked at together; so
//              "nothing was ready" is true of one moment, not of several.
//   3 Enqueue  a waiter per case, channel by channel, all with one Choice. A channel that turns out ready ends it: if we can
//              still fire our own Choice, nobody has chosen us, and we start again; else somebody has, and we wait for it.
//   4 Wake     the waiters that lost are taken off their lists by ourselves; whoever meets one before skips it (WaitList::pop).
//   One wins   every waiter of a select has the same Choice, and so has the time limit: fire() is one CAS (choice.fired), so one
//              channel moves one element, and one waker wakes. A loser's element was never touched: it is moved only after pop().
//   No loss    when case i is queued the channel was not ready, under its lock. Whoever makes it ready later finds the waiter there.
//              What became ready before is seen by is_ready() at its turn; then either we call off, which only the one who fires
//              may, or somebody has fired already, and its wake-up is on the way and must be waited for.
//   Two selects that face each other meet: each queues case by case, so the later one of the last two to queue sees the other.
//              It does not take its own waiters for partners (`own`), nor those whose select has been decided (has_fired).
//   Timers     nobody wakes those who wait for a timer's channel: they wake up at its time, or when it is changed. So the time must still be
//              the one that was read before when the waiter is queued, under the lock.
//   Frames     the waiters are on our stack: we leave every list, under its lock, before we return. The winner was taken off by pop().
//   Rejected   locking all channels for a blocking select as Go does: no lock is held while another is taken in 1, 3 and 4.
//   Model      tests/model/api/select_test.cc explores this file.
namespace weft::detail {
namespace {

using sched::Choice;
using sched::Goroutine;
using sched::Sleeper;
using sched::Wait;
using sched::Waiter;
using sched::WaitReason;

constexpr std::size_t kOnStack = 8;

base::Random& random_of_thread() {
  static thread_local base::Random random(static_cast<std::uint64_t>(os::now_ns()));
  return random;
}

__attribute__((noinline)) std::uint32_t random_below(std::uint32_t bound) {
  if (sched::Processor* p = os::current_p()) return p->random.below(bound);
  return random_of_thread().below(bound);
}

class Select {
 public:
  Select(select_case* cases, std::size_t count, std::int64_t deadline_ns)
      : cases_(cases), count_(count), deadline_ns_(deadline_ns) {}

  std::size_t run() {
    for (;;) {
      const std::size_t ready = run_a_ready_case();
      if (ready != no_case) return ready;
      if (deadline_ns_ == 0) {
        const std::size_t chosen = decide_at_one_moment();
        if (chosen != kAgain) return chosen;
        continue;
      }
      const std::size_t chosen = wait_for_one();
      if (chosen != kAgain) return chosen;
    }
  }

  const select_case* cases() const noexcept { return cases_; }
  std::size_t count() const noexcept { return count_; }

 private:
  static constexpr std::size_t kAgain = no_case - 1;

  // False: it would block after all.
  static bool try_case(select_case& one) {
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
        if (one->channel != nullptr && one->channel->looks_ready(one->is_send) &&
            (++ready == 1 || random_below(ready) == 0))
          chosen = one;
      if (chosen == nullptr) return no_case;
      if (try_case(*chosen)) return static_cast<std::size_t>(chosen - cases_);
    }
  }

  // 2: with every channel locked. kAgain: something is ready now.
  __attribute__((noinline)) std::size_t decide_at_one_moment() {
    if (count_ <= 1) return no_case;  // one channel's look is one moment already
    chan_core* few[kOnStack];
    std::vector<chan_core*> many;
    chan_core** channels = few;
    if (count_ > kOnStack) {
      many.resize(count_);
      channels = many.data();
    }
    std::size_t n = 0;
    for (std::size_t i = 0; i < count_; ++i)
      if (cases_[i].channel != nullptr) channels[n++] = cases_[i].channel;
    std::sort(channels, channels + n);
    n = static_cast<std::size_t>(std::unique(channels, channels + n) - channels);
    for (std::size_t i = 0; i < n; ++i) channels[i]->lock().lock_unranked();
    bool ready = false;
    for (std::size_t i = 0; i < count_ && !ready; ++i)
      ready = cases_[i].channel != nullptr && cases_[i].channel->is_ready(cases_[i].is_send, nullptr);
    for (std::size_t i = 0; i < n; ++i) channels[i]->lock().unlock_unranked();
    return ready ? kAgain : no_case;
  }

  __attribute__((noinline)) std::size_t wait_for_one() {
    // Raw memory: a waiter is made when its case is queued, and most selects have fewer than kOnStack.
    alignas(Waiter) std::byte few[kOnStack * sizeof(Waiter)];
    if (WEFT_UNLIKELY(count_ > kOnStack)) return wait_for_one_of_many();
    return wait_with(reinterpret_cast<Waiter*>(few));
  }
  __attribute__((noinline)) std::size_t wait_for_one_of_many() {
    const auto many = std::make_unique_for_overwrite<std::byte[]>(count_ * sizeof(Waiter));
    return wait_with(reinterpret_cast<Waiter*>(many.get()));
  }

  // A goroutine without a time limit builds no Wait.
  __attribute__((always_inline)) std::size_t wait_with(Waiter* waiters) {
    const std::int64_t wake_at = when_to_wake();
    Goroutine* g = sched::calling_goroutine();
    if (WEFT_UNLIKELY(g == nullptr || wake_at != os::kForever)) return wait_until(wake_at, waiters);
    std::exception_ptr error;
    Choice choice;
    sched::begin_wait(g, reason(), this);
    const Queued queued = queue_all(waiters, wake_at, Sleeper(g), choice, error);
    if (WEFT_LIKELY(!queued.called_off)) {
      sched::park();
    } else {
      sched::call_off_wait(g);
    }
    return conclude(waiters, queued, choice.winner, error);
  }

  // With a time limit, or on a plain thread.
  __attribute__((noinline)) std::size_t wait_until(std::int64_t wake_at, Waiter* waiters) {
    std::exception_ptr error;
    Wait wait(reason(), this, wake_at);
    wait.begin();
    const Queued queued = queue_all(waiters, wake_at, wait.sleeper(), wait.choice(), error);
    bool in_time = true;
    if (queued.called_off) {
      wait.call_off();
    } else {
      in_time = wait.wait();
    }
    const std::size_t chosen = conclude(waiters, queued, in_time ? wait.choice().winner : nullptr, error);
    return chosen == no_case && wake_at < deadline_ns_ ? kAgain : chosen;  // kAgain: a timer's time has come
  }

  WaitReason reason() const noexcept {
    return WEFT_LIKELY(count_ != 0) ? WaitReason::kSelect : WaitReason::kEmptySelect;
  }

  // The limit, or the time of a timer among the channels.
  std::int64_t when_to_wake() const noexcept {
    std::int64_t wake_at = deadline_ns_;
    const select_case* const end = cases_ + count_;
    for (const select_case* one = cases_; one != end; ++one)
      if (one->channel != nullptr) wake_at = std::min(wake_at, one->channel->due_at());
    return wake_at;
  }

  struct Queued {
    const select_case* end;  // the cases before this one are on their channels' lists
    bool called_off;
  };

  __attribute__((always_inline)) Queued queue_all(Waiter* waiters, std::int64_t wake_at, Sleeper sleeper,
                                                  Choice& choice, std::exception_ptr& error) noexcept {
    Waiter* room = waiters;
    const select_case* const end = cases_ + count_;
    for (const select_case* one = cases_; one != end; ++one, ++room) {
      chan_core* channel = one->channel;
      if (channel == nullptr) continue;
      Waiter& waiter = *::new (room) Waiter;
      waiter.who = sleeper;
      waiter.choice = &choice;
      waiter.element = one->element;
      waiter.copy = one->copy;
      waiter.error = &error;
      const bool is_send = one->is_send;
      channel->lock().lock();
      // A timer that was set to an earlier time since we looked woke nobody: we were not there.
      if (WEFT_UNLIKELY(channel->is_ready(is_send, &choice) || channel->due_at() < wake_at)) {
        const bool called_off = choice.fire(nullptr);  // no: somebody has chosen us
        channel->lock().unlock();
        return {one, called_off};
      }
      channel->waiters(is_send).push(waiter);
      channel->lock().unlock();
    }
    return {end, false};
  }

  // Leaves the lists. winner: null if it was called off, or the time has come (no_case).
  __attribute__((always_inline)) std::size_t conclude(Waiter* waiters, Queued queued, const Waiter* winner,
                                                      const std::exception_ptr& error) {
    Waiter* waiter = waiters;
    for (const select_case* one = cases_; one != queued.end; ++one, ++waiter)
      if (one->channel != nullptr && waiter != winner) one->channel->leave(one->is_send, *waiter);
    if (WEFT_UNLIKELY(winner == nullptr)) return queued.called_off ? kAgain : no_case;
    if (WEFT_UNLIKELY(winner->retry)) return kAgain;
    if (WEFT_UNLIKELY(error != nullptr)) std::rethrow_exception(error);
    const auto index = static_cast<std::size_t>(winner - waiters);
    if (WEFT_UNLIKELY(!winner->success) && cases_[index].is_send) throw_send_on_closed();
    cases_[index].received = winner->success;
    return index;
  }

  select_case* cases_;
  std::size_t count_;
  std::int64_t deadline_ns_;
};

}  // namespace

std::size_t cases_of_waiting_select(const void* object, const select_case** cases) noexcept {
  const auto* select = static_cast<const Select*>(object);
  *cases = select->cases();
  return select->count();
}

std::size_t select_among(select_case* cases, std::size_t count, std::int64_t deadline_ns) {
  return Select(cases, count, deadline_ns).run();
}

}  // namespace weft::detail
