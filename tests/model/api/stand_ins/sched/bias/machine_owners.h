// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"
#include "os/wait_list_lock.h"
#include "sched/bias/lock_owner.h"

// Stands in for src/sched/bias/machine_owners.h: nobody owns anything here. What owners do has models of its own (tests/model/biased_lock_test.cc and
// biased_flag_test.cc).
namespace weft::sched {
struct MachineOwners {
  using Owner = LockOwner;
  using BackOff = os::BackOff;
  static Owner* self() noexcept { return nullptr; }
  static const Owner* find(Owner::Habit) noexcept { return nullptr; }
  static void light_fence() noexcept {}
  static void heavy_fence() noexcept {}
};
}  // namespace weft::sched
