// SPDX-License-Identifier: MIT
#include "sched/timer_heap.h"

#include <mutex>

#include "base/delay_site.h"
#include "sched/dispatch.h"

namespace weft::sched {

bool TimerHeap::add(Timer* timer) {
  std::lock_guard guard(lock_);
  push(timer);
  publish_next();
  return timer->index == kRoot;
}

void TimerHeap::push(Timer* timer) {
  timer->heap.store_release(this);  // pairs: timer.heap
  entries_.push_back({timer->when_ns, timer});
  timer->index = static_cast<std::uint32_t>(entries_.size() - 1);
  sift_up(entries_.size() - 1);
}

std::uint32_t TimerHeap::run_due(std::int64_t now_ns, bool try_only, RunnableList& woken) {
  if (next_.load_relaxed() > now_ns) return 0;  // looked at again soon: timers are never early, a few ns late is fine
  if (try_only) {
    if (!lock_.try_lock()) return 0;  // the one who holds it runs them
  } else {
    lock_.lock();
  }
  std::lock_guard guard(lock_, std::adopt_lock);
  std::uint32_t fired = 0;
  for (; fired < kBatch && !empty() && root().when_ns <= now_ns; ++fired) {
    Timer* timer = root().timer;
    if (Goroutine* sleeper = timer->sleeper) {
      remove_at(kRoot);
      timer->heap.store_relaxed(nullptr);  // the last access: its frame goes on with it, which the caller's queue orders
      sleeper->woken_at = static_cast<std::uint32_t>(now_ns);
      collect(sleeper, woken);
      continue;
    }
    if (timer->period_ns > 0) {
      const std::int64_t missed = (now_ns - timer->when_ns) / timer->period_ns;
      std::int64_t next;
      if (__builtin_mul_overflow(missed + 1, timer->period_ns, &next) ||
          __builtin_add_overflow(timer->when_ns, next, &next))
        next = kNever;
      timer->when_ns = next;
      root().when_ns = next;
      sift_down(kRoot);
    } else {
      remove_at(kRoot);
      // Not pending any more, yet stop_timer must wait for the callback: it takes the lock through this pointer, so the
      // pointer is cleared only after the callback.
    }
    WEFT_DELAY_SITE("timer.popped");
    timer->callback(timer, now_ns);
  }
  publish_next();
  return fired;
}

void TimerHeap::adopt(TimerHeap& other) {
  // Two heaps at once, only here: the world is stopped, so nobody else holds two. Both, because a plain thread that stops a
  // timer in between must find it in one of them.
  std::lock_guard guard(other.lock_);
  lock_.lock_nested();
  for (std::size_t i = kRoot; i < other.entries_.size(); ++i) push(other.entries_[i].timer);
  other.entries_.resize(kRoot);
  other.publish_next();
  publish_next();
  lock_.unlock_nested();
}

void TimerHeap::remove_at(std::size_t index) {
  const Entry last = entries_.back();
  entries_.pop_back();
  if (index == entries_.size()) return;
  place(index, last);
  sift_down(index);
  sift_up(last.timer->index);
}

void TimerHeap::sift_up(std::size_t index) {
  const Entry entry = entries_[index];
  while (index > kRoot) {
    const std::size_t above = parent(index);
    if (entries_[above].when_ns <= entry.when_ns) break;
    place(index, entries_[above]);
    index = above;
  }
  place(index, entry);
}

void TimerHeap::sift_down(std::size_t index) {
  const Entry entry = entries_[index];
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

void TimerHeap::publish_next() {
  next_.store_relaxed(empty() ? kNever : root().when_ns);  // ordered by timer_added()'s fence
  size_.store_relaxed(entries_.size() - kRoot);            // statistics
}

bool stop_timer(Timer* timer) {
  for (;;) {
    TimerHeap* heap = timer->heap.load_acquire();  // pairs: timer.heap
    if (heap == nullptr) return false;
    std::lock_guard guard(heap->lock_);
    if (timer->heap.load_relaxed() != heap) continue;  // adopted by another heap meanwhile
    const bool pending = timer->index < heap->entries_.size() && heap->entries_[timer->index].timer == timer;
    if (pending) {
      heap->remove_at(timer->index);
      heap->publish_next();
    }
    timer->heap.store_relaxed(nullptr);  // under the lock
    return pending;
  }
}

}  // namespace weft::sched
