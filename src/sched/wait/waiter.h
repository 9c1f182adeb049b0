// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <exception>

#include "base/atomic.h"
#include "os/note.h"
#include "os/spin_lock.h"
#include "sched/bias/biased_flag.h"
#include "sched/bias/machine_owners.h"
#include "sched/core/arrivals.h"
#include "sched/core/dispatch.h"
#include "sched/core/preempt.h"
#include "sched/timer/timer_heap.h"

// Waiting: goroutines and plain threads alike, in FIFO lists, with or without a time limit.
//   Waiting  Wait wait(reason, object); Waiter w; wait.attach(w);
//            { lock; if (nothing to wait for) return; wait.begin(); list.push(w); unlock; }  wait.wait();
//   Waking   { lock; Waiter* w = list.pop(); unlock; }  wake(w);
//   Choice   Several wakers may compete for one wait (select, a time limit). The first that fires the Choice wakes; the
//            others leave the waiter alone. The woken side takes its waiters off the lists that still have them.
//   Memory   A waiter lives on the stack of the goroutine or thread that waits. After wake() the waker must not touch
//            it any more.
namespace weft::sched {

// A plain thread that waits.
struct ThreadSleeper {
  os::Note note;
  bool counted = false;  // in scheduler.threads_waiting
};

// What is woken at the end of a wait: a goroutine, or a plain thread.
class Sleeper {
 public:
  Sleeper() = default;
  explicit Sleeper(Goroutine* g) noexcept : bits_(reinterpret_cast<std::uintptr_t>(g)) {}
  explicit Sleeper(ThreadSleeper* thread) noexcept : bits_(reinterpret_cast<std::uintptr_t>(thread) | 1) {}
  void wake() const noexcept {
    if ((bits_ & 1) == 0) {
      ready(reinterpret_cast<Goroutine*>(bits_));
    } else {
      wake_thread();
    }
  }
  // A goroutine is only made runnable and added to `out`: the caller places it.
  void wake(RunnableList& out) const noexcept {
    if ((bits_ & 1) == 0) {
      collect(reinterpret_cast<Goroutine*>(bits_), out);
    } else {
      wake_thread();
    }
  }
  Goroutine* goroutine() const noexcept { return (bits_ & 1) == 0 ? reinterpret_cast<Goroutine*>(bits_) : nullptr; }

 private:
  void wake_thread() const noexcept {
    auto* thread = reinterpret_cast<ThreadSleeper*>(bits_ & ~std::uintptr_t{1});
    // The waker counts it out, before the thread can run. So the deadlock check never counts a running thread as
    // asleep.
    if (thread->counted) scheduler.threads_waiting.fetch_add_relaxed(-1);
    thread->note.signal();
  }
  std::uintptr_t bits_ = 0;
};

struct Waiter;

struct Choice {
  // True: the caller has decided the outcome, and wakes the waiter. Not inlined, because most waiters have no Choice,
  // and pop() would have to save registers for it.
  __attribute__((noinline)) bool fire(Waiter* by) noexcept { return fire_in_line(by); }
  __attribute__((always_inline)) bool fire_in_line(Waiter* by) noexcept {
    if (!fired.set()) return false;
    winner = by;
    return true;
  }
  bool has_fired() const noexcept { return fired.is_set(); }

  BiasedFlag<base::StdAtomics, MachineOwners> fired;
  Waiter* winner = nullptr;  // of a fired choice; null: the time limit
};

struct Waiter {
  Waiter* next = nullptr;
  Waiter* previous = nullptr;
  Sleeper who;
  Choice* choice = nullptr;                            // null: only the holder of the list's lock wakes it
  void* element = nullptr;                             // what is handed over
  void (*copy)(void* to, const void* from) = nullptr;  // a channel's sender: its value is copied, not moved
  std::exception_ptr* error = nullptr;                 // where an exception of that copy goes
  std::uint32_t index = 0;
  bool queued = false;   // on a list; guarded by the list's lock
  bool success = false;  // set by the waker before wake()
  bool retry = false;    // the operation it was woken for has failed: wait again
#if WEFT_TSAN
  const void* ticket = nullptr;  // api/chan_order.h
#endif
};

// FIFO. Guarded by its primitive's lock. Without the lock, empty() and front() are hints.
class WaitList {
 public:
  bool empty() const noexcept { return front() == nullptr; }
  Waiter* front() const noexcept { return first_.load_relaxed(); }

  void push(Waiter& waiter) noexcept {
    waiter.next = nullptr;
    waiter.previous = last_;
    if (last_ != nullptr) {
      last_->next = &waiter;
    } else {
      first_.store_relaxed(&waiter);
    }
    last_ = &waiter;
    waiter.queued = true;
  }
  void push_front(Waiter& waiter) noexcept {
    Waiter* second = front();
    waiter.previous = nullptr;
    waiter.next = second;
    if (second != nullptr) {
      second->previous = &waiter;
    } else {
      last_ = &waiter;
    }
    first_.store_relaxed(&waiter);
    waiter.queued = true;
  }
  // Takes off and returns the oldest waiter whose Choice is still open, and fires that Choice. Null: there is none.
  // Waiters before it were woken through another list or by their time limit, and are dropped. `dropped` counts them,
  // for a caller that must know of waiters which have not left yet.
  Waiter* pop(std::uint32_t* dropped = nullptr) noexcept {
    while (Waiter* waiter = front()) {
      take_off(waiter);
      if (WEFT_LIKELY(waiter->choice == nullptr) || waiter->choice->fire(waiter)) return waiter;
      if (dropped != nullptr) ++*dropped;
    }
    return nullptr;
  }
  // `first` is the front waiter. If it has a Choice, the caller has fired it for this waiter.
  __attribute__((always_inline)) void take_off(Waiter* first) noexcept {
    Waiter* next = first->next;
    first_.store_relaxed(next);
    if (WEFT_LIKELY(next == nullptr)) {
      last_ = nullptr;
    } else {
      next->previous = nullptr;
    }
    first->queued = false;
  }
  void remove(Waiter& waiter) noexcept {
    if (!waiter.queued) return;
    if (waiter.previous != nullptr) {
      waiter.previous->next = waiter.next;
    } else {
      first_.store_relaxed(waiter.next);
    }
    if (waiter.next != nullptr) {
      waiter.next->previous = waiter.previous;
    } else {
      last_ = waiter.previous;
    }
    waiter.queued = false;
  }

 private:
  base::Atom<Waiter*> first_{nullptr};
  Waiter* last_ = nullptr;
};

// Null: a plain thread, or a goroutine in a blocking call. An exile gets a P again here, and may have to wait for one.
// So the caller must not hold a lock.
inline Goroutine* calling_goroutine() noexcept { return regain_processor() != nullptr ? os::current_g() : nullptr; }

// One wait of the calling goroutine or thread. It is constructed before the lock is taken, because that may wait for a
// P (calling_goroutine). begin() is called under the lock, wait() after it.
class Wait {
 public:
  Wait(WaitReason reason, const void* object, std::int64_t deadline_ns = os::kForever) noexcept
      : g_(calling_goroutine()), reason_(reason), object_(object), deadline_ns_(deadline_ns) {}
  Wait(const Wait&) = delete;

  bool is_timed() const noexcept { return deadline_ns_ != os::kForever; }
  Sleeper sleeper() const noexcept {
    return g_ != nullptr ? Sleeper(g_) : Sleeper(const_cast<ThreadSleeper*>(&thread_));
  }
  // Makes it a waiter of this wait. If the wait has a time limit, the waiter gets a Choice, for which both compete.
  void attach(Waiter& waiter) noexcept {
    waiter.who = sleeper();
    if (is_timed()) waiter.choice = &choice_;
  }

  // Before the waiters are published, usually under their lock. From then on wakers may wake it.
  void begin() noexcept {
    if (g_ != nullptr) {
      begin_wait(g_, reason_, object_);
    } else {
      thread_.counted = !is_timed();  // the waker counts it out (Sleeper::wake_thread)
    }
  }
  void call_off() noexcept {  // after begin(): no waker can see the wait after all
    if (g_ != nullptr) call_off_wait(g_);
  }
  // After the unlock. Blocks until woken. False: the time limit came first, and the waiters may still be on their
  // lists.
  bool wait() noexcept;

  Choice& choice() noexcept { return choice_; }

 private:
  bool wait_as_thread() noexcept;

  Goroutine* g_;  // null: a plain thread
  WaitReason reason_;
  const void* object_;
  std::int64_t deadline_ns_;
  ThreadSleeper thread_;
  Choice choice_;
};

// Wakes a waiter that pop() returned.
inline void wake(Waiter* waiter) noexcept { waiter->who.wake(); }

// Starts a timer on the current P; for a thread without a P, on P 0.
void start_timer(Timer* timer) noexcept;

}  // namespace weft::sched
