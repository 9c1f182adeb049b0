// SPDX-License-Identifier: MIT
#pragma once
#include <new>
#include <type_traits>

#include "os/spin_lock.h"
#include "sched/waiter.h"
#include "weft/detail/wait_queue.h"

namespace weft::sched {

// A primitive's waiters and the lock over them, in the storage that public headers reserve.
struct WaitQueue {
  os::SpinLock lock;
  WaitList list;
};
static_assert(sizeof(WaitQueue) == sizeof(weft::detail::wait_queue) &&
              alignof(WaitQueue) == alignof(weft::detail::wait_queue));

inline WaitQueue& open(weft::detail::wait_queue& storage) noexcept {
  return *std::launder(reinterpret_cast<WaitQueue*>(storage.storage));
}

}  // namespace weft::sched
