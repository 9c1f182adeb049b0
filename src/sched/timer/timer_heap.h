// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/futex.h"
#include "sched/bias/timer_lock.h"
#include "sched/queue/runnable.h"
#include "sched/timer/wake_plan.h"

// Timers of one P: a 4-ary heap ordered by time.
//   Owned by    lock_ (Rank::kTimers). next_ is read without it by any thread that needs to know when to wake up.
//   Callbacks   run under the lock, so they are short and never park. So once stop_timer() has returned, the callback
//               is not running and will not run. That lets a timer live on the stack of the goroutine that waits for
//               it.
//   Sleepers    have no Timer. A sleep never ends early, so its entry never has to be found, and moving the entry in
//               the heap touches no other memory. (A hundred thousand stacks are in no cache.) run_due() only takes
//               sleepers off the heap; its caller makes them runnable.
//   Moves       Idle Ps run the due timers of busy ones. A P that disappears gives its timers to another P (adopt).
namespace weft::sched {

class TimerHeap;
struct DueSleepers;
struct Goroutine;

// A user whose callback needs more data derives from Timer.
struct Timer {
  using Callback = void (*)(Timer*);

  std::int64_t when_ns = 0;
  Callback callback = nullptr;
  base::Atom<TimerHeap*> heap{nullptr};  // that has it, or had it when it fired; else null or a mark
  std::uint32_t index = 0;

  // Marks: small numbers in place of the heap, by which a timer's owner tells states of a timer that is in no heap.
  static TimerHeap* mark(std::uintptr_t number) noexcept { return reinterpret_cast<TimerHeap*>(number); }
  static bool is_heap(const TimerHeap* state) noexcept { return reinterpret_cast<std::uintptr_t>(state) >= kMarks; }

 private:
  static constexpr std::uintptr_t kMarks = 8;
};

class TimerHeap {
 public:
  static constexpr std::int64_t kNever = os::kForever;

  // True: it is the earliest now, so a sleeping M may have to wake up sooner (timer_added()).
  bool add(Timer* timer);
  bool add_sleeper(Goroutine* g, std::int64_t when_ns);
  // Called by the timer's own callback, under the lock, with a later time. No watcher need be told: run_due() publishes
  // the earliest time at its end. Until then every watcher sees the old earliest time, which has already come.
  void add_again(Timer* timer) { push(Entry::of(timer)); }
  // Runs the due timers, at most `limit`, and returns how many. Sleepers among them are put into `sleepers`, which has
  // room for `limit`. With `try_only` it does not wait for a thread that is working on the heap.
  static constexpr std::uint32_t kBatch = 128;
  std::uint32_t run_due(std::int64_t now_ns, bool try_only, DueSleepers& sleepers, std::uint32_t limit = kBatch);
  // Adds to the plan the times of those timers that it wants to know of.
  void join(WakePlan& plan);
  // Takes all timers of another heap. The world is stopped, but plain threads may still stop timers.
  void adopt(TimerHeap& other);

  std::int64_t next_ns() const noexcept {
    return next_.load_relaxed();
  }  // a hint: callers that rely on it read it after a fence
  std::size_t size() const noexcept { return size_.load_relaxed(); }

  template <class Sleepers, class Timers>
  void for_each(Sleepers&& sleepers, Timers&& timers) {
    lock_.lock();
    for_each_unlocked(sleepers, timers);
    lock_.unlock();
  }
  // In a forked copy, where nothing changes: sleepers(Goroutine*) and timers(const Timer*) for each entry.
  template <class Sleepers, class Timers>
  void for_each_unlocked(Sleepers&& sleepers, Timers&& timers) const {
    for (std::size_t i = kRoot; i < entries_.size(); ++i)
      entries_[i].is_sleeper() ? sleepers(entries_[i].sleeper()) : timers(entries_[i].timer());
  }

  friend class TimerHold;

 private:
  struct Entry;

  // By value: a load of the whole entry right after its two halves were stored would wait for both stores.
  void push(Entry entry);
  void remove_at(std::size_t index) {
    const Entry last = entries_.back();
    entries_.pop_back();
    if (index != entries_.size()) fill_gap(index, last);
  }
  void fill_gap(std::size_t index, Entry entry);
  void sift_up(std::size_t index, Entry entry);
  void sift_down(std::size_t index, Entry entry);
  void publish_next() {
    next_.store_relaxed(empty() ? kNever : root().when_ns);  // ordered by timer_added()'s fence
    size_.store_relaxed(entries_.size() - kRoot);            // statistics
  }

  // Has the time beside the pointer, so that sifting reads no timers. The root is entry 3, so that the four children of
  // an entry share a cache line.
  struct Entry {
    std::int64_t when_ns;
    std::uintptr_t what;  // a Timer, or a Goroutine and kSleeper

    static constexpr std::uintptr_t kSleeper = 1;
    static Entry of(Timer* timer) noexcept { return {timer->when_ns, reinterpret_cast<std::uintptr_t>(timer)}; }
    static Entry of(Goroutine* g, std::int64_t when_ns) noexcept {
      return {when_ns, reinterpret_cast<std::uintptr_t>(g) | kSleeper};
    }
    bool is_sleeper() const noexcept { return (what & kSleeper) != 0; }
    Timer* timer() const noexcept { return reinterpret_cast<Timer*>(what); }
    Goroutine* sleeper() const noexcept { return reinterpret_cast<Goroutine*>(what & ~kSleeper); }
  };
  static constexpr std::size_t kRoot = 3;
  static std::size_t first_child(std::size_t index) noexcept { return 4 * index - 8; }
  static std::size_t parent(std::size_t index) noexcept { return index / 4 + 2; }
  bool empty() const noexcept { return entries_.size() == kRoot; }
  Entry& root() noexcept { return entries_[kRoot]; }
  void place(std::size_t index, Entry entry) {
    entries_[index] = entry;
    if (!entry.is_sleeper()) entry.timer()->index = static_cast<std::uint32_t>(index);
  }

  TimerLock lock_;
  std::vector<Entry, base::CacheAlignedAllocator<Entry>> entries_ = decltype(entries_)(kRoot);
  base::Atom<std::int64_t> next_{kNever};
  base::Atom<std::size_t> size_{0};
};

// Goroutines whose sleep is over. They are still waiting: the caller of run_due() makes them runnable.
struct DueSleepers {
  std::uint32_t count = 0;
  Goroutine* goroutines[TimerHeap::kBatch];
};

// Locks the heap that has a timer, or had it when it fired. Meanwhile the timer's callback is not running, and whether
// it is pending does not change.
class TimerHold {
 public:
  explicit TimerHold(Timer* timer) noexcept : timer_(timer) {
    for (;;) {
      heap_ = timer->heap.load_acquire();  // pairs: timer.heap
      if (!Timer::is_heap(heap_)) {
        heap_ = nullptr;
        return;
      }
      heap_->lock_.lock();
      if (WEFT_LIKELY(timer->heap.load_relaxed() == heap_)) return;
      heap_->lock_.unlock();  // meanwhile another heap adopted it, or it was stopped
    }
  }
  ~TimerHold() {
    if (heap_ != nullptr) heap_->lock_.unlock();
  }
  TimerHold(const TimerHold&) = delete;

  explicit operator bool() const noexcept { return heap_ != nullptr; }  // false: no heap has it
  bool is_pending() const noexcept {
    return timer_->index < heap_->entries_.size() &&
           heap_->entries_[timer_->index].what == reinterpret_cast<std::uintptr_t>(timer_);
  }
  void remove() {  // the timer must be pending
    heap_->remove_at(timer_->index);
    heap_->publish_next();
  }

 private:
  Timer* timer_;
  TimerHeap* heap_;
};

// True: it was pending and will not fire. False: it has fired (and its callback has returned), was stopped before, or
// was never started.
bool stop_timer(Timer* timer);

}  // namespace weft::sched
