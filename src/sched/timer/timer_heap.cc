// SPDX-License-Identifier: MIT
#include "sched/timer/timer_heap.h"

#include <algorithm>
#include <mutex>

#include "base/delay_site.h"

namespace weft::sched {

bool TimerHeap::add(Timer* timer) {
  std::lock_guard guard(lock_);
  timer->heap.store_release(this);  // pairs: timer.heap
  push(Entry::of(timer));
  publish_next();
  return timer->index == kRoot;
}

bool TimerHeap::add_sleeper(Goroutine* g, std::int64_t when_ns) {
  std::lock_guard guard(lock_);
  const Entry entry = Entry::of(g, when_ns);
  push(entry);
  publish_next();
  return root().what == entry.what;
}

void TimerHeap::push(Entry entry) {
  entries_.emplace_back();
  sift_up(entries_.size() - 1, entry);
}

std::uint32_t TimerHeap::run_due(std::int64_t now_ns, bool try_only, DueSleepers& sleepers, std::uint32_t limit) {
  // A stale value does no harm, because the next look is soon: timers are never early, and a few ns late is fine.
  if (next_.load_relaxed() > now_ns) return 0;
  if (try_only) {
    if (!lock_.try_lock()) return 0;  // the thread that holds the lock runs them
  } else {
    lock_.lock();
  }
  std::lock_guard guard(lock_, std::adopt_lock);
  std::uint32_t fired = 0;
  for (; fired < limit && !empty() && root().when_ns <= now_ns; ++fired) {
    if (root().is_sleeper()) {
      sleepers.goroutines[sleepers.count++] = root().sleeper();
      remove_at(kRoot);
      continue;
    }
    Timer* timer = root().timer();
    // The timer is no longer pending, but stop_timer() must still wait for the callback. It finds the lock through
    // timer->heap, so that pointer stays.
    remove_at(kRoot);
    WEFT_DELAY_SITE("timer.popped");
    timer->callback(timer);
  }
  publish_next();
  return fired;
}

void TimerHeap::join(WakePlan& plan) {
  const std::int64_t until_ns = plan.until_ns();
  if (next_.load_relaxed() > until_ns) return;  // a hint: a thread that adds a timer now interrupts the caller's sleep
  std::lock_guard guard(lock_);
  std::size_t pending[3 * WakePlan::kMost + 4];  // each entry taken off adds at most four
  std::size_t count = 0;
  if (!empty() && root().when_ns <= until_ns) pending[count++] = kRoot;
  while (count > 0) {
    const std::size_t index = pending[--count];
    if (!plan.add(entries_[index].when_ns)) return;
    const std::size_t first = first_child(index), end = std::min(first + 4, entries_.size());
    for (std::size_t child = first; child < end; ++child)
      if (entries_[child].when_ns <= until_ns) pending[count++] = child;
  }
}

void TimerHeap::adopt(TimerHeap& other) {
  // The only place that locks two heaps. That cannot deadlock: the world is stopped, so no other thread holds two. Both
  // are locked because a plain thread that stops a timer meanwhile must find it in one of them.
  std::lock_guard guard(other.lock_);
  lock_.lock_nested();
  for (std::size_t i = kRoot; i < other.entries_.size(); ++i) {
    const Entry& entry = other.entries_[i];
    if (!entry.is_sleeper()) entry.timer()->heap.store_release(this);  // pairs: timer.heap
    push(entry);
  }
  other.entries_.resize(kRoot);
  other.publish_next();
  publish_next();
  lock_.unlock_nested();
}

void TimerHeap::fill_gap(std::size_t index, Entry entry) {
  if (index != kRoot && entry.when_ns < entries_[parent(index)].when_ns) {
    sift_up(index, entry);
  } else {
    sift_down(index, entry);
  }
}

void TimerHeap::sift_up(std::size_t index, Entry entry) {
  while (index > kRoot) {
    const std::size_t above = parent(index);
    if (entries_[above].when_ns <= entry.when_ns) break;
    place(index, entries_[above]);
    index = above;
  }
  place(index, entry);
}

void TimerHeap::sift_down(std::size_t index, Entry entry) {
  for (;;) {
    const std::size_t first = first_child(index);
    if (first >= entries_.size()) break;
    std::size_t least = first;
    const std::size_t end = first + 4 < entries_.size() ? first + 4 : entries_.size();
    for (std::size_t child = first + 1; child < end; ++child)
      if (entries_[child].when_ns < entries_[least].when_ns) least = child;
    if (entries_[least].when_ns >= entry.when_ns) break;
    place(index, entries_[least]);
    index = least;
  }
  place(index, entry);
}

bool stop_timer(Timer* timer) {
  TimerHold hold(timer);
  if (!hold) return false;
  const bool pending = hold.is_pending();
  if (pending) hold.remove();
  timer->heap.store_release(nullptr);  // pairs: timer.heap
  return pending;
}

}  // namespace weft::sched
