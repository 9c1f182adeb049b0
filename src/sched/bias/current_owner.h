// SPDX-License-Identifier: MIT
#pragma once
#include "os/current.h"
#include "sched/bias/lock_owner.h"

namespace weft::sched {

// The calling thread as an owner of locks. Null: it is not an M. An M begins with its LockOwner (model/machine.h).
inline LockOwner* current_lock_owner() noexcept { return reinterpret_cast<LockOwner*>(os::current_m()); }

}  // namespace weft::sched
