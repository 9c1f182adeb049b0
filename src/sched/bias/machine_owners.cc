// SPDX-License-Identifier: MIT
#include "sched/bias/machine_owners.h"

namespace weft::sched {
namespace {

constexpr std::uint32_t kMostOwners = 4096;  // an M with a higher number never owns a lock
static_assert(kMostOwners <= LockOwner::kNumbers);

constinit base::Atom<LockOwner*> owners[kMostOwners];
constinit base::Atom<std::uint32_t> last_owner{0};

}  // namespace

void MachineOwners::enroll(LockOwner& owner, std::uint32_t number) noexcept {
  if (number >= kMostOwners) return;
  owner.set_number(number);
  owners[number].store_release(&owner);  // pairs: lock.owner
  // Under the machines' lock, so no other thread writes it; readers take it as a hint.
  if (number > last_owner.load_relaxed()) last_owner.store_relaxed(number);
}

std::uint32_t MachineOwners::uses_of_all() noexcept {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0, last = last_owner.load_relaxed(); i <= last; ++i)
    if (const LockOwner* owner = owners[i].load_acquire()) sum += owner->lock_uses.load_relaxed();  // pairs: lock.owner
  return sum;
}

const LockOwner* MachineOwners::find(LockOwner::Habit biased) noexcept {
  return owners[LockOwner::number_of(biased)].load_acquire();  // pairs: lock.owner
}

}  // namespace weft::sched
