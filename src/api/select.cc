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
//   Frames     the waiters are on our stack: we leave every list, under its lock, before we return. The winner was taken off by pop().
//   Rejected   locking all channels for a blocking select as Go does: no lock is held while another is taken in 1, 3 and 4.
//   Model      tests/model/api/select_test.cc explores this file.
namespace weft::detail {
namespace {

using sched::Choice;
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

  // no_case: it would block after all.
  std::size_t try_case(std::size_t index) {
    select_case& one = cases_[index];
    const chan_outcome outcome =
        one.is_send ? one.channel->try_send(one.element, one.copy) : one.channel->try_receive(one.element);
    if (outcome == chan_outcome::would_block) return no_case;
    if (outcome == chan_outcome::closed && one.is_send) throw_send_on_closed();
    one.received = outcome == chan_outcome::done;
    return index;
  }

  bool looks_ready(std::size_t index) const {
    return cases_[index].channel != nullptr && cases_[index].channel->looks_ready(cases_[index].is_send);
  }

  std::size_t run_a_ready_case() {
    for (;;) {
      std::uint32_t ready = 0;
      std::size_t chosen = no_case;
      for (std::size_t i = 0; i < count_; ++i)  // each of the ready ones is kept with the same probability
        if (looks_ready(i) && (++ready == 1 || random_below(ready) == 0)) chosen = i;
      if (chosen == no_case) return no_case;
      if (const std::size_t done = try_case(chosen); done != no_case) return done;
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

  std::size_t wait_for_one() {
    // Raw memory: a waiter is made when its case is queued, and most selects have fewer than kOnStack.
    alignas(Waiter) std::byte few[kOnStack * sizeof(Waiter)];
    std::unique_ptr<std::byte[]> many;
    if (count_ > kOnStack) many = std::make_unique_for_overwrite<std::byte[]>(count_ * sizeof(Waiter));
    auto* waiters = reinterpret_cast<Waiter*>(many ? many.get() : few);
    std::exception_ptr error;
    std::int64_t wake_at = deadline_ns_;
    for (std::size_t i = 0; i < count_; ++i)
      if (cases_[i].channel != nullptr) wake_at = std::min(wake_at, cases_[i].channel->due_at());
    Wait wait(count_ == 0 ? WaitReason::kEmptySelect : WaitReason::kSelect, this, wake_at);
    Choice& choice = wait.choice();
    wait.begin();
    const sched::Sleeper sleeper = wait.sleeper();
    std::size_t queued = 0;  // the cases before this one are on their channels' lists
    bool called_off = false;
    for (; queued < count_; ++queued) {
      const select_case& one = cases_[queued];
      chan_core* channel = one.channel;
      if (channel == nullptr) continue;
      Waiter& waiter = *::new (&waiters[queued]) Waiter;
      waiter.who = sleeper;
      waiter.choice = &choice;
      waiter.element = one.element;
      waiter.index = static_cast<std::uint32_t>(queued);
      waiter.copy = one.copy;
      waiter.error = &error;
      const bool is_send = one.is_send;
      channel->lock().lock();
      if (channel->is_ready(is_send, &choice)) {
        called_off = choice.fire(nullptr);  // no: somebody has chosen us
        channel->lock().unlock();
        break;
      }
      channel->waiters(is_send).push(waiter);
      channel->lock().unlock();
    }
    bool in_time = true;
    if (called_off) {
      wait.call_off();
    } else {
      in_time = wait.wait();
    }
    Waiter* winner = called_off || !in_time ? nullptr : choice.winner;
    for (std::size_t i = 0; i < queued; ++i)
      if (cases_[i].channel != nullptr && &waiters[i] != winner)
        cases_[i].channel->leave(cases_[i].is_send, waiters[i]);
    const std::size_t index = winner != nullptr ? winner->index : no_case;
    const bool success = winner != nullptr && winner->success, retry = winner != nullptr && winner->retry;
    if (called_off || retry) return kAgain;
    if (!in_time) return wake_at < deadline_ns_ ? kAgain : no_case;  // kAgain: a timer's time has come
    if (error) std::rethrow_exception(error);
    if (!success && cases_[index].is_send) throw_send_on_closed();
    cases_[index].received = success;
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
