// SPDX-License-Identifier: MIT
#include "weft/barrier.h"

#include "sched/wait/wait_queue.h"
#include "weft/detail/happens_before.h"
#include "weft/error.h"

// Barrier. Everything happens under the queue's lock, even the check whether the phase is over. So the barrier may be
// destroyed when the last wait has returned, although the participant that completed the phase may still be on its way
// out.
namespace weft::detail {

void throw_negative_barrier() { throw logic_error("weft: barrier: the expected number is negative"); }

barrier_core::arrival barrier_core::arrive(std::ptrdiff_t n, std::ptrdiff_t dropped) {
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  if (n <= 0 || n > missing_) {
    queue.lock.unlock();
    throw logic_error("weft: barrier::arrive: more arrive than are expected in this phase, or none");
  }
  missing_ -= n;
  expected_ -= dropped;
  const arrival result{phase_, missing_ == 0};
  order_release(word_of(result.phase));
  if (result.is_last) order_acquire(word_of(result.phase));
  queue.lock.unlock();
  return result;
}

void barrier_core::complete() noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  sched::WaitList released;
  queue.lock.lock();
  order_release(word_of(phase_));
  ++phase_;
  missing_ = expected_;
  take_all(queue.list, released);
  queue.lock.unlock();
  sched::wake_all(released);
}

bool barrier_core::wait(std::uint64_t phase, std::int64_t deadline_ns) noexcept {
  const bool is_over = sched::wait_unless(
      sched::open(queue_), sched::WaitReason::kBarrier, this, deadline_ns, [&] { return phase_ != phase; },
      [](bool) {});
  if (is_over) order_acquire(word_of(phase));
  return is_over;
}

}  // namespace weft::detail
