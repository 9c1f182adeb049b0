// SPDX-License-Identifier: MIT
#include "os/unwind_lock.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdint>
#include <cstring>

extern "C" [[gnu::weak]] const void* _Unwind_Find_FDE(void* pc, void* bases);

namespace weft::os {
namespace {

const pthread_mutex_t* found = nullptr;  // written before the first signal

#if defined(__x86_64__) && defined(__GLIBC__)
bool is_mapped(const void* address, std::size_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(address) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(address) + bytes;
  unsigned char resident[2];
  return end - first <= 2 * page && mincore(reinterpret_cast<void*>(first), end - first, resident) == 0;
}

// The first `lea mutex(%rip), %rdi; call` of the search. It calls pthread_mutex_lock, directly or by way of a table.
const pthread_mutex_t* find_mutex(const unsigned char* code) noexcept {
  constexpr std::size_t kSearched = 1024, kLoad = 7, kCall = 5;
  if (!is_mapped(code, kSearched + kLoad + kCall)) return nullptr;
  for (std::size_t at = 0; at < kSearched; ++at) {
    const unsigned char* load = code + at;
    if (load[0] != 0x48 || load[1] != 0x8d || load[2] != 0x3d || load[kLoad] != 0xe8) continue;
    std::int32_t distance;
    std::memcpy(&distance, load + 3, sizeof distance);
    const auto* mutex = reinterpret_cast<const pthread_mutex_t*>(load + kLoad + distance);
    return reinterpret_cast<std::uintptr_t>(mutex) % alignof(pthread_mutex_t) == 0 && is_mapped(mutex, sizeof *mutex)
               ? mutex
               : nullptr;
  }
  return nullptr;
}
#endif

}  // namespace

void find_unwind_lock() noexcept {
#if defined(__x86_64__) && defined(__GLIBC__)
  if (_Unwind_Find_FDE != nullptr) found = find_mutex(reinterpret_cast<const unsigned char*>(&_Unwind_Find_FDE));
#endif
}

bool may_unwind_in_handler([[maybe_unused]] pid_t this_thread) noexcept {
  if (found == nullptr) return true;
#if defined(__GLIBC__)
  // The holder may not have written its id yet, or have cleared it already: so owner 0 may be this thread. A mutex is 1
  // or 2 while it is held. Other values mean that this is no held mutex (in another libgcc's code the address may be
  // that of something else), and then unwinding is not refused.
  const volatile auto& mutex = found->__data;
  const int lock = mutex.__lock, owner = mutex.__owner;
  const bool held = lock == 1 || lock == 2;
  return !held || (owner != this_thread && owner != 0);
#else
  return true;
#endif
}

}  // namespace weft::os
