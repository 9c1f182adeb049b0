// SPDX-License-Identifier: MIT
#pragma once
#include "os/spin_lock.h"
#include "sched/wait/waiter.h"

// Stands in for include/weft/detail/wait_queue.h: atomics of the model must be constructed, zero bytes will not do.
namespace weft::detail {

struct wait_queue {
  struct Contents {
    os::SpinLock lock;
    sched::WaitList list;
  };
  constexpr wait_queue() noexcept : wait_queue(nullptr) {}
  constexpr explicit wait_queue(const char* its_name) noexcept : name(its_name) {
    if (!std::is_constant_evaluated()) make();
  }
  constexpr ~wait_queue() {
    if (!std::is_constant_evaluated()) unmake();
  }
  void make() { ::new (static_cast<void*>(storage)) Contents; }
  void unmake() { std::launder(reinterpret_cast<Contents*>(storage))->~Contents(); }

  alignas(Contents) std::byte storage[sizeof(Contents)]{};
  const char* name;
};

struct inspector;

}  // namespace weft::detail
