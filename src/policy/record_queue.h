// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>

#include "sched/queue/record_deque.h"
#include "sched/state/scheduler.h"

// Unstarted goroutines of one P, in a LIFO deque: depth-first spawning keeps memory bounded. Every fourth pick looks
// here first, and now and then the oldest record runs, so that none starves. When the deque is full, half of it goes to
// the global queue. A thief takes half, the oldest first.
namespace weft::policy {

class RecordQueue {
 public:
  // --- owner ---
  void push(sched::Processor& p, sched::Runnable record) noexcept {
    while (!records_.push(record)) overflow(p);
  }
  // What comes before the started goroutines in this pick, if anything.
  sched::Runnable pop_first(const sched::Processor& p) noexcept {
    if (WEFT_LIKELY((--until_oldest_ & 3) != 0)) return sched::Runnable();
    if (until_oldest_ == 0) {
      until_oldest_ = std::max(p.turn_interval, 1u);
      if (const sched::Runnable oldest = records_.steal()) return oldest;
    }
    return records_.pop();
  }
  sched::Runnable pop() noexcept { return records_.pop(); }
  sched::Runnable pop_oldest() noexcept { return records_.steal(); }

  // --- owner of thief, on a victim's queue ---
  // Returns the oldest, and moves the others of its half to the thief's own queue.
  sched::Runnable steal_half(sched::Processor& thief, RecordQueue& own) noexcept {
    const std::int64_t half = std::min<std::int64_t>(records_.size() / 2, kCapacity / 2 - 1);
    const sched::Runnable first = records_.steal();
    if (!first) return first;
    std::uint64_t count = 1;
    for (std::int64_t i = 0; i < half; ++i, ++count) {
      const sched::Runnable more = records_.steal();
      if (!more) break;
      own.push(thief, more);
    }
    thief.counters.bump(sched::Counter::kGoroutinesStolen, count);
    return first;
  }

  // --- any thread ---
  bool empty() const noexcept { return records_.empty(); }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(records_.size()); }
  void visit(sched::Visitor visitor) const noexcept {  // while the owner is stopped
    for (std::int64_t n = 0; n < records_.size(); ++n) visitor(records_.look(n));
  }

 private:
  static constexpr std::int64_t kCapacity = 256;

  __attribute__((noinline)) void overflow(sched::Processor& p) noexcept {
    sched::Runnable moved[kCapacity / 2];
    const std::int64_t count = records_.take_half_for_overflow(moved);  // 0: a thief made room
    if (count == 0) return;
    p.counters.bump(sched::Counter::kOverflows);
    sched::scheduler.inject.push_bundle(moved, static_cast<std::uint32_t>(count));
  }

  std::uint32_t until_oldest_ = sched::kTurnLimit;  // picks until the oldest record runs
  sched::RecordDeque<sched::Runnable, kCapacity> records_;
};

}  // namespace weft::policy
