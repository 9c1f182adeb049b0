// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <mutex>
#include <new>

#include "base/atomic.h"
#include "os/ranked_mutex.h"
#include "sched/queue/runnable.h"
#include "sched/queue/runnable_bundle.h"

namespace weft::sched {

// The global run queue: work of no particular P (overflow, plain threads, timers without a P).
//   Owned by  lock_ (Rank::kInject). size_ may be read without the lock, as a hint. A caller that decides something by
//             it reads it again after a full fence.
//   Order     Runnables that came one by one are in a list, those that overflowed from a P are in bundles. Each of the
//             two is first in, first out. pop() takes from them in turns, so neither waits for all of the other.
class InjectQueue {
 public:
  void push(Runnable runnable) noexcept {
    std::lock_guard guard(lock_);
    list_.push(runnable);
    publish_size();
  }
  void push(RunnableList& chain) noexcept {
    std::lock_guard guard(lock_);
    list_.append(chain);
    publish_size();
  }
  void push_bundle(const Runnable* items, std::uint32_t count) noexcept {
    std::lock_guard guard(lock_);
    if (count == 0) return;
    if (has_room_for_bundle()) {
      bundles_[(first_bundle_ + bundle_count_++) & (bundle_room_ - 1)] = RunnableBundle(items, count);
      bundled_ += count;
    } else {
      for (std::uint32_t i = 0; i < count; ++i) list_.push(items[i]);
    }
    publish_size();
  }

  // Takes up to `limit` of the oldest.
  std::size_t pop(Runnable* out, std::size_t limit) noexcept {
    if (size_.load_acquire() == 0) return 0;  // pairs: inject.size
    std::lock_guard guard(lock_);
    std::size_t count = 0;
    bundles_first_ = !bundles_first_;
    if (bundles_first_) count = pop_bundled(out, limit);
    while (count < limit && !list_.empty()) out[count++] = list_.pop();
    if (!bundles_first_) count += pop_bundled(out + count, limit - count);
    publish_size();
    return count;
  }
  Runnable pop() noexcept {
    Runnable one;
    pop(&one, 1);
    return one;
  }
  // Visits in no particular order, under the lock: no thread takes a runnable meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) {
    std::lock_guard guard(lock_);
    list_.for_each(visit);
    for (std::size_t i = 0; i < bundle_count_; ++i) bundles_[(first_bundle_ + i) & (bundle_room_ - 1)].for_each(visit);
  }
  // In a forked copy, where nothing changes and the lock may never become free.
  template <class Visit>
  void for_each_unlocked(Visit&& visit) const {
    list_.for_each(visit);
    for (std::size_t i = 0; i < bundle_count_; ++i) bundles_[(first_bundle_ + i) & (bundle_room_ - 1)].for_each(visit);
  }
  std::size_t size() const noexcept { return size_.load_relaxed(); }
  bool empty() const noexcept { return size() == 0; }

 private:
  std::size_t pop_bundled(Runnable* out, std::size_t limit) noexcept {
    std::size_t count = 0;
    while (count < limit && bundle_count_ > 0) {
      RunnableBundle& oldest = bundles_[first_bundle_];
      while (count < limit && !oldest.empty()) out[count++] = oldest.pop();
      if (!oldest.empty()) break;
      first_bundle_ = (first_bundle_ + 1) & (bundle_room_ - 1);
      --bundle_count_;
    }
    bundled_ -= count;
    return count;
  }
  bool has_room_for_bundle() noexcept {
    if (bundle_count_ < bundle_room_) return true;
    const std::size_t room = std::max<std::size_t>(2 * bundle_room_, 16);  // a power of two
    auto* wider = new (std::nothrow) RunnableBundle[room];
    if (wider == nullptr) return false;
    for (std::size_t i = 0; i < bundle_count_; ++i) wider[i] = bundles_[(first_bundle_ + i) & (bundle_room_ - 1)];
    delete[] bundles_;
    bundles_ = wider;
    bundle_room_ = room;
    first_bundle_ = 0;
    return true;
  }
  void publish_size() noexcept { size_.store_release(list_.size() + bundled_); }  // pairs: inject.size

  os::RankedMutex<base::Rank::kInject> lock_;
  RunnableList list_;
  RunnableBundle* bundles_ = nullptr;  // a ring
  std::size_t bundle_room_ = 0, first_bundle_ = 0, bundle_count_ = 0;
  std::size_t bundled_ = 0;  // runnables in all bundles
  bool bundles_first_ = false;
  base::Atom<std::size_t> size_{0};
};

}  // namespace weft::sched
