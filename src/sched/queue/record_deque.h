// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"

// The LIFO deque of unstarted goroutines of one P (Chase-Lev, fixed capacity).
//   Job         Depth-first spawning: the newest record is the hottest in the cache, the oldest is the biggest piece of
//               work for a thief. Fork-join without cut-off: 64 ns a goroutine with LIFO, 176 ns with FIFO.
//   Invariants  D1 An entry is taken once: by the owner at the bottom while bottom > top, or by the thread that moves
//                  top over it with a CAS.
//               D2 The last entry (top == bottom - 1) goes to the thread that wins the CAS on top. The owner needs that
//                  CAS, too.
//               D3 Only the owner may move top by more than one. Its pops at the bottom take no CAS, so a thief that
//                  took several entries could take one that the owner pops.
//   Orders      record_deque.dekker  pop: bottom = b - 1; full fence; read top
//                                    -- steal: read top; full fence; read bottom
//               record_deque.bottom  push: entry relaxed, bottom release -- steal: bottom acquire
//   Rejected    growing the array: the global queue takes the overflow, and moving half there with one CAS costs less.
namespace weft::sched {

template <class T, std::int64_t Capacity, class Atomics = base::StdAtomics>
class RecordDeque {
  static_assert((Capacity & (Capacity - 1)) == 0, "a power of two: indices wrap by masking");

 public:
  // Owner. False: full.
  bool push(T item) noexcept {
    const std::int64_t bottom = bottom_.load_relaxed();  // ours
    if (bottom - top_seen_ >= Capacity) {
      top_seen_ = top_.load_acquire();  // pairs: record_deque.top
      if (bottom - top_seen_ >= Capacity) return false;
    }
    slots_[bottom & (Capacity - 1)].store_relaxed(item);  // published by the release of bottom
    bottom_.store_release(bottom + 1);                    // pairs: record_deque.bottom
    return true;
  }

  // Owner: the newest. T{}: empty.
  T pop() noexcept {
    std::int64_t bottom = bottom_.load_relaxed();   // ours
    if (bottom <= top_.load_relaxed()) return T{};  // top only grows: empty for sure
    --bottom;
    bottom_.store_relaxed(bottom);  // ordered before the read of top by the fence
    Atomics::full_fence();          // pairs: record_deque.dekker
    std::int64_t top = top_.load_relaxed();
    if (top < bottom) return slots_[bottom & (Capacity - 1)].load_relaxed();  // D1
    T item{};
    if (top == bottom) {  // D2
      item = slots_[bottom & (Capacity - 1)].load_relaxed();
      if (!top_.cas_seq_cst(top, top + 1)) item = T{};  // pairs: record_deque.top
    }
    bottom_.store_release(bottom + 1);  // pairs: record_deque.bottom
    return item;
  }

  // Any thread: the oldest. T{}: empty, or another thread was faster.
  T steal() noexcept {
    std::int64_t top = top_.load_acquire();              // pairs: record_deque.top
    Atomics::full_fence();                               // pairs: record_deque.dekker
    const std::int64_t bottom = bottom_.load_acquire();  // pairs: record_deque.bottom
    if (top >= bottom) return T{};
    const T item = slots_[top & (Capacity - 1)].load_relaxed();  // ours if the CAS succeeds
    if (!top_.cas_seq_cst(top, top + 1)) return T{};             // pairs: record_deque.top
    return item;
  }

  // Owner, when push() found the deque full: takes the older half with one CAS (D3). 0: a thief was faster, so there is
  // room now.
  std::int64_t take_half_for_overflow(T* out) noexcept {
    std::int64_t top = top_.load_acquire();  // pairs: record_deque.top
    if (bottom_.load_relaxed() - top < Capacity) return 0;  // thieves have taken some since push() found it full
    for (std::int64_t i = 0; i < Capacity / 2; ++i) out[i] = slots_[(top + i) & (Capacity - 1)].load_relaxed();
    if (!top_.cas_seq_cst(top, top + Capacity / 2)) return 0;  // pairs: record_deque.top
    top_seen_ = top + Capacity / 2;
    return Capacity / 2;
  }

  // Owner: the newest, without taking it (for prefetching and for joining in place). T{}: empty.
  T peek() const noexcept {
    const std::int64_t bottom = bottom_.load_relaxed();
    if (bottom <= top_.load_relaxed()) return T{};
    return slots_[(bottom - 1) & (Capacity - 1)].load_relaxed();
  }

  // While the owner is stopped: the n-th oldest, without taking it. T{}: there is no such entry.
  T look(std::int64_t n) const noexcept {
    const std::int64_t position = top_.load_relaxed() + n;
    return position < bottom_.load_relaxed() ? slots_[position & (Capacity - 1)].load_relaxed() : T{};
  }

  std::int64_t size() const noexcept {
    const std::int64_t length = bottom_.load_relaxed() - top_.load_relaxed();  // a snapshot
    return length < 0 ? 0 : length;
  }
  bool empty() const noexcept { return size() == 0; }
  static constexpr std::int64_t capacity() noexcept { return Capacity; }

 private:
  template <class U>
  using Atom = typename Atomics::template atom<U>;

  alignas(base::kCacheLine) Atom<std::int64_t> top_{0};  // thieves write it
  alignas(base::kCacheLine) Atom<std::int64_t> bottom_{0};
  std::int64_t top_seen_ = 0;  // owner: a lower bound of top, which saves it from reading the thieves' cache line
  alignas(base::kCacheLine) Atom<T> slots_[Capacity];
};

}  // namespace weft::sched
