// SPDX-License-Identifier: MIT
#include "sched/channel_lock.h"

#include <algorithm>

#include "os/clock.h"
#include "os/process_barrier.h"

namespace weft::sched {
namespace {

constexpr std::uint32_t kMostOwners = 4096;  // who comes later locks as others do
static_assert(kMostOwners <= LockOwner::kNumbers);

#if WEFT_DEBUG_CHECKS
constexpr std::int64_t kRest = 1, kPauseNs = 0;
#else
constexpr std::int64_t kRest = 128;  // after a revocation, so many times as long as it took
// After a lock became somebody's own: eight times what its revocation will take.
constexpr std::int64_t kPauseNs = 80'000;
#endif

// A revocation that took much longer than usual was interrupted, which says nothing about the next one.
constexpr std::int64_t kMostRestNs = 5'000'000;

constinit base::Atom<LockOwner*> owners[kMostOwners];
constinit base::Atom<bool> enabled{false};
constinit base::Atom<std::int64_t> not_before_ns{0};
}  // namespace

void MachineOwners::enroll(Machine& m) noexcept {
  if (m.id >= kMostOwners) return;
  m.lock_owner.set_number(m.id);
  owners[m.id].store_release(&m.lock_owner);  // pairs: lock.owner
}

const LockOwner* MachineOwners::find(LockOwner::Habit biased) noexcept {
  return owners[LockOwner::number_of(biased)].load_acquire();  // pairs: lock.owner
}

void MachineOwners::enable() noexcept {
  if (!enabled.load_relaxed()) enabled.store_relaxed(os::enable_process_barrier());
}

bool MachineOwners::may_bias() noexcept {
  if (!enabled.load_relaxed()) return false;
  const std::int64_t now = os::now_ns();
  if (now < not_before_ns.load_relaxed()) return false;
  not_before_ns.store_relaxed(now + kPauseNs);
  return true;
}

void MachineOwners::heavy_fence() noexcept {
  const std::int64_t begin = os::now_ns();
  if (!os::process_barrier()) {
    enabled.store_relaxed(false);  // forbidden since it was enabled: no more locks get biased
    os::wait_instead_of_barrier();
  }
  const std::int64_t end = os::now_ns();
  not_before_ns.store_relaxed(end + std::min((end - begin) * kRest, kMostRestNs));
}

}  // namespace weft::sched
