// SPDX-License-Identifier: MIT
#pragma once
#include <mutex>

#include "base/atomic.h"
#include "os/ranked_mutex.h"
#include "sched/runnable.h"

namespace weft::sched {

// The global run queue: work of no particular P (overflow, plain threads, timers without a P).
//   Owned by  lock_ (Rank::kInject). size_ may be read without it: a hint, re-read after a full fence where it decides.
class InjectQueue {
 public:
  void push(Runnable runnable) noexcept {
    std::lock_guard guard(lock_);
    list_.push(runnable);
    size_.store_release(list_.size());  // pairs: inject.size
  }
  void push(RunnableList& chain) noexcept {
    std::lock_guard guard(lock_);
    list_.append(chain);
    size_.store_release(list_.size());  // pairs: inject.size
  }
  // Up to `limit` of the oldest.
  RunnableList pop(std::size_t limit) noexcept {
    RunnableList taken;
    if (size_.load_acquire() == 0) return taken;  // pairs: inject.size
    std::lock_guard guard(lock_);
    while (taken.size() < limit && !list_.empty()) taken.push(list_.pop());
    size_.store_release(list_.size());  // pairs: inject.size
    return taken;
  }
  std::size_t size() const noexcept { return size_.load_relaxed(); }
  bool empty() const noexcept { return size() == 0; }

 private:
  os::RankedMutex<base::Rank::kInject> lock_;
  RunnableList list_;
  base::Atom<std::size_t> size_{0};
};

}  // namespace weft::sched
