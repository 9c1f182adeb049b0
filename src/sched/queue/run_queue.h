// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"

// The FIFO ring of started goroutines of one P.
//   Job         The owner pushes at the tail and pops at the head. Any number of thieves take half from the head.
//   Invariants  R1 head <= tail <= head + Capacity (as distances, because the counters wrap).
//               R2 The thread that moves head over an entry in [head, tail) owns that entry. head moves only by CAS, so
//                  this happens exactly once for each entry.
//               R3 The owner overwrites no entry that a thief can still take. It writes slot tail only when
//                  tail - head < Capacity, with head loaded by acquire. A thief that read the entry's old content then
//                  fails its CAS.
//   Orders      push: entry relaxed, tail release   -- pop_half: tail acquire, entries relaxed   (run_queue.tail)
//               pop, pop_half: head CAS release     -- push: head acquire                        (run_queue.head)
//   Rejected    pops of the owner without CAS: no gain was measurable, not even with one P and hence no thief (a yield
//               of two goroutines gained 1 ns of 15 ns, a ping-pong lost as much to the branch).
//               private batches of the owner: no gain was measurable either.
namespace weft::sched {

template <class T, std::uint32_t Capacity, class Atomics = base::StdAtomics>
class RunQueue {
  static_assert((Capacity & (Capacity - 1)) == 0, "a power of two: indices wrap by masking");

 public:
  // Owner. False: full.
  bool push(T item) noexcept {
    const std::uint32_t head = head_.load_acquire();  // pairs: run_queue.head
    const std::uint32_t tail = tail_.load_relaxed();  // ours
    if (tail - head >= Capacity) return false;
    slots_[tail % Capacity].store_relaxed(item);  // published by the release of tail
    tail_.store_release(tail + 1);                // pairs: run_queue.tail
    return true;
  }

  // Owner. T{}: empty.
  T pop() noexcept {
    std::uint32_t head = head_.load_acquire();  // pairs: run_queue.head
    for (;;) {
      const std::uint32_t tail = tail_.load_relaxed();  // ours
      if (tail == head) return T{};
      const T item = slots_[head % Capacity].load_relaxed();  // ours if the CAS succeeds
      if (head_.cas_acq_rel(head, head + 1)) return item;     // pairs: run_queue.head
    }
  }

  // Owner. Pops the oldest entry and pushes `item` behind the others, with a full fence behind both (submit.retire in
  // arrivals.cc). Not pushed: the queue is empty, or full before the pop. Pushed, but T{} is returned: thieves have taken
  // all entries, `item` among them.
  T exchange(T item, bool& pushed) noexcept {
    std::uint32_t head = head_.load_acquire();  // pairs: run_queue.head
    std::uint32_t tail = tail_.load_relaxed();  // ours
    pushed = false;
    if (tail == head) return T{};
    if (tail - head < Capacity) {
      slots_[tail % Capacity].store_relaxed(item);  // published by the release of tail
      tail_.store_release(++tail);                  // pairs: run_queue.tail
      pushed = true;
    }
    T oldest;
    do {
      oldest = slots_[head % Capacity].load_relaxed();  // ours if the CAS succeeds
      if (head_.cas_acq_rel(head, head + 1)) break;     // pairs: run_queue.head
      oldest = T{};
    } while (head != tail);
    Atomics::full_fence_after_rmw();
    return oldest;
  }

  // Any thread. Takes the oldest ceil(n/2) of n entries, at most `limit`, into out. 0: empty, or another thread was
  // faster.
  std::uint32_t pop_half(T* out, std::uint32_t limit) noexcept {
    std::uint32_t head = head_.load_acquire();        // pairs: run_queue.head
    const std::uint32_t tail = tail_.load_acquire();  // pairs: run_queue.tail
    std::uint32_t count = tail - head;
    if (count > Capacity) return 0;  // head and tail were read at different moments: the caller tries again
    count -= count / 2;
    if (count > limit) count = limit;
    if (count == 0) return 0;
    for (std::uint32_t i = 0; i < count; ++i) out[i] = slots_[(head + i) % Capacity].load_relaxed();  // R3
    return head_.cas_acq_rel(head, head + count) ? count : 0;  // pairs: run_queue.head
  }

  // Owner: the n-th entry from the head, without taking it (used for prefetching). T{}: there is no such entry.
  T peek(std::uint32_t n) const noexcept {
    const std::uint32_t position = head_.load_relaxed() + n;  // may be stale: only a hint
    return tail_.load_relaxed() - position - 1 < Capacity ? slots_[position % Capacity].load_relaxed() : T{};
  }

  std::uint32_t size() const noexcept {
    const std::uint32_t head = head_.load_relaxed();  // a snapshot; may be stale
    const std::uint32_t tail = tail_.load_relaxed();
    const std::uint32_t length = tail - head;
    return length > Capacity ? 0 : length;  // both counters moved on after head was read: the size is not known
  }
  bool empty() const noexcept { return head_.load_relaxed() == tail_.load_relaxed(); }

  static constexpr std::uint32_t capacity() noexcept { return Capacity; }

  // Tests: start the counters near their wrap-around.
  void start_counters_at(std::uint32_t value) noexcept {
    head_.store_relaxed(value);
    tail_.store_relaxed(value);
  }

 private:
  template <class U>
  using Atom = typename Atomics::template atom<U>;

  alignas(base::kCacheLine) Atom<std::uint32_t> head_{0};  // written by thieves and the owner
  alignas(base::kCacheLine) Atom<std::uint32_t> tail_{0};  // written by the owner
  alignas(base::kCacheLine) Atom<T> slots_[Capacity];
};

}  // namespace weft::sched
