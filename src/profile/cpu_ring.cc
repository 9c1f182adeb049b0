// SPDX-License-Identifier: MIT
#include "profile/cpu_ring.h"

#include <new>

#include "os/memory.h"

namespace weft::profile {

bool CpuRing::reserve() noexcept {
  if (ring_.load_relaxed() != nullptr) return true;
  void* memory = os::reserve_permanent_memory(kCapacity * sizeof(Place), "weft profile samples");
  if (memory == nullptr) return false;
  ring_.store_release(new (memory) Place[kCapacity]);  // pairs: profile.ring
  return true;
}

}  // namespace weft::profile
