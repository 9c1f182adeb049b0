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
//   Owned by    lock_ (Rank::kTimers); next_ is read without it by anybody who wonders when to wake up.
//   Callbacks   run under the lock: short, never parking; so stop() returning means that the callback is not running and
//               will not run, and a timer may live on the stack of the goroutine that waits for it.
//   Sleepers    have no Timer: nobody ends a sleep early, so nobody needs to find its entry, and moving it in the heap touches
//               nothing else. (A hundred thousand stacks are in no cache.) They are only taken off the heap; the caller of
//               run_due() makes them runnable.
//   Moves       idle Ps run the due timers of busy ones; a P that disappears gives its timers to another (adopt).
namespace weft::sched {

class TimerHeap;
struct DueSleepers;
struct Goroutine;

// Who needs to know more in the callback derives from it.
struct Timer {
  using Callback = void (*)(Timer*);

  std::int64_t when_ns = 0;
  Callback callback = nullptr;
  base::Atom<TimerHeap*> heap{nullptr};  // that has it, or had it when it fired; null: none, or a mark of its owner's
  std::uint32_t index = 0;

  // States of an owner that says more of a timer in no heap.
  static TimerHeap* mark(std::uintptr_t number) noexcept { return reinterpret_cast<TimerHeap*>(number); }
  static bool is_heap(const TimerHeap* state) noexcept { return reinterpret_cast<std::uintptr_t>(state) >= kMarks; }

 private:
  static constexpr std::uintptr_t kMarks = 8;
};

class TimerHeap {
 public:
  static constexpr std::int64_t kNever = os::kForever;

  // True: it is the earliest now, so somebody may have to wake up sooner.
  bool add(Timer* timer);
  bool add_sleeper(Goroutine* g, std::int64_t when_ns);
  // From its own callback, under the lock: a later time. No watcher need be told: run_due() publishes the earliest time
  // at its end, and until then every watcher sees the old one, which has come.
  void add_again(Timer* timer) { push(Entry::of(timer)); }
  // Runs what is due, at most `limit`, and returns how many. `sleepers` gets the sleepers among them and has room for `limit`.
  // Never blocks on a heap that another thread is working on when `try_only`.
  static constexpr std::uint32_t kBatch = 128;
  std::uint32_t run_due(std::int64_t now_ns, bool try_only, DueSleepers& sleepers, std::uint32_t limit = kBatch);
  // Tells the plan of the timers it wants to know.
  void join(WakePlan& plan);
  // Takes all timers of another heap (the world is stopped, but plain threads may still stop timers).
  void adopt(TimerHeap& other);

  std::int64_t next_ns() const noexcept {
    return next_.load_relaxed();
  }  // a bound; re-read after a fence where it matters
  std::size_t size() const noexcept { return size_.load_relaxed(); }

  friend class TimerHold;

 private:
  struct Entry;

  // By value: an entry read back as a whole right after it was written in halves would wait for them.
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

  // Beside the pointer the time, so that sifting reads no timers. The root is entry 3: the four children of an entry share a
  // cache line then.
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

// Goroutines whose sleep is over. They wait still: the caller makes them runnable.
struct DueSleepers {
  std::uint32_t count = 0;
  Goroutine* goroutines[TimerHeap::kBatch];
};

// Locks the heap that has a timer, or had it when it fired: its callback is not running meanwhile, and whether it is pending does not change.
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
      heap_->lock_.unlock();  // adopted by another heap meanwhile, or taken off
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
  void remove() {  // it is pending
    heap_->remove_at(timer_->index);
    heap_->publish_next();
  }

 private:
  Timer* timer_;
  TimerHeap* heap_;
};

// True: it was pending and will not fire. False: it has fired (its callback has returned) or was never started.
bool stop_timer(Timer* timer);

}  // namespace weft::sched
