// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"
#include "base/check.h"
#include "os/wait_list_lock.h"

namespace weft::os {

// One byte guarding a list of waiters for a few dozen instructions.
class SpinByte {
 public:
  bool try_lock_unranked() noexcept {
    return byte_.load_relaxed() == 0 && byte_.exchange_acquire(1) == 0;  // pairs: spin_lock
  }
  void lock_unranked() noexcept {
    if (WEFT_UNLIKELY(byte_.exchange_acquire(1) != 0)) lock_slow();  // pairs: spin_lock
  }
  void unlock_unranked() noexcept { byte_.store_release(0); }  // pairs: spin_lock

 private:
  __attribute__((noinline)) void lock_slow() noexcept {
    BackOff back_off;
    do {
      back_off.wait();
    } while (!try_lock_unranked());
  }
  base::Atom<std::uint8_t> byte_{0};
};

using SpinLock = OfWaitList<SpinByte>;

}  // namespace weft::os
