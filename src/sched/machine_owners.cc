// SPDX-License-Identifier: MIT
#include "sched/machine_owners.h"

namespace weft::sched {
namespace {

constexpr std::uint32_t kMostOwners = 4096;  // who comes later locks as others do
static_assert(kMostOwners <= LockOwner::kNumbers);

constinit base::Atom<LockOwner*> owners[kMostOwners];

}  // namespace

void MachineOwners::enroll(Machine& m) noexcept {
  if (m.id >= kMostOwners) return;
  m.lock_owner.set_number(m.id);
  owners[m.id].store_release(&m.lock_owner);  // pairs: lock.owner
}

const LockOwner* MachineOwners::find(LockOwner::Habit biased) noexcept {
  return owners[LockOwner::number_of(biased)].load_acquire();  // pairs: lock.owner
}

}  // namespace weft::sched
