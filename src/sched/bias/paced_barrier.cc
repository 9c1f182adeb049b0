// SPDX-License-Identifier: MIT
#include "sched/bias/paced_barrier.h"

#include <algorithm>

#include "os/clock.h"
#include "os/process_barrier.h"
#include "sched/bias/current_owner.h"

namespace weft::sched {
namespace {

#if WEFT_DEBUG_CHECKS
constexpr std::int64_t kRest = 1, kPauseNs = 0;
#else
constexpr std::int64_t kRest = 128;  // pause after a barrier, in multiples of the time it took
// 80 us after an object got an owner: eight times what the barrier to take it away costs (some 10 us).
constexpr std::int64_t kPauseNs = 80'000;
#endif

// The longest pause: 5 ms. A barrier that took much longer than usual was interrupted, which says nothing about the
// next one.
constexpr std::int64_t kMostRestNs = 5'000'000;

constinit base::Atom<bool> enabled{false};
constinit base::Atom<std::int64_t> not_before_ns{0};

}  // namespace

void PacedBarrier::enable() noexcept {
  if (!enabled.load_relaxed()) enabled.store_relaxed(os::enable_process_barrier());
}

bool PacedBarrier::may_rely() noexcept {
  if (!enabled.load_relaxed()) return false;
  const std::int64_t now = os::now_ns();
  if (now < not_before_ns.load_relaxed()) return false;
  not_before_ns.store_relaxed(now + kPauseNs);
  return true;
}

void PacedBarrier::heavy_fence() noexcept {
  const std::int64_t begin = os::now_ns();
  if (!os::process_barrier()) {
    enabled.store_relaxed(false);  // a seccomp filter came later: no more objects get owners
    os::wait_instead_of_barrier();
  }
  const std::int64_t end = os::now_ns();
  if (LockOwner* self = current_lock_owner())
    self->barrier_ticks += static_cast<std::uint64_t>(end - begin) * os::ticks_per_us() / 1000;
  not_before_ns.store_relaxed(end + std::min((end - begin) * kRest, kMostRestNs));
}

}  // namespace weft::sched
