// SPDX-License-Identifier: MIT
#pragma once
#include "base/check.h"
#include "os/current.h"
#include "sched/frames/foreign_frames.h"
#include "sched/state/scheduler.h"

// A goroutine that is preempted with code of other libraries on its stack is resumed by its own thread, because that
// code may hold a lock that belongs to the thread, or the address of a thread_local (foreign_frames.h).
namespace weft::sched {

// A kept thread is needed besides those that run, so none is kept where threads are scarce.
inline bool may_keep_thread() noexcept {
  return scheduler.threads.load_relaxed() < settings.max_threads / 2;
}

inline bool wants_thread_kept(const Goroutine* g, const FramesOnStack& frames) noexcept {
  return (g->flags & kGLocked) == 0 && may_keep_thread() && frames.foreign;
}

// While it lives: locks the goroutine to its thread, unless it is locked already.
class ThreadKept {
 public:
  ThreadKept(Goroutine* g, bool wanted) noexcept : g_(wanted && (g->flags & kGLocked) == 0 ? g : nullptr) {
    if (g_ == nullptr) return;
    Machine* m = os::current_m();
    g_->locked_m = m;
    g_->flags |= kGLocked;
    m->locked_g = g_;
  }
  ~ThreadKept() {
    if (g_ == nullptr) return;
    WEFT_DCHECK(g_->locked_m == os::current_m(), "who is preempted with its thread goes on on its thread");
    g_->locked_m->locked_g = nullptr;
    g_->locked_m = nullptr;
    g_->flags = static_cast<std::uint8_t>(g_->flags & ~kGLocked);
  }
  ThreadKept(const ThreadKept&) = delete;

 private:
  Goroutine* g_;
};

}  // namespace weft::sched
