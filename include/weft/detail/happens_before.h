// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>

// What ThreadSanitizer is told: the orders that the API promises, and no others.
//   Why      the runtime's own locks and queues put nearly all goroutines into some order, in which races of the user's
//            code would go unseen. So TSan does not see the runtime (cmake/WeftFlags.cmake), and every promise is said
//            here.
//   A token  is an address that belongs to the primitive; nothing is stored there. What a goroutine or thread did
//            before order_release(token) comes before what another does after order_acquire(token).
// In other builds there is nothing of it.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_TELLS_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(WEFT_UNWATCHED_BY_TSAN)
#define WEFT_TELLS_TSAN 1
#endif
#ifndef WEFT_TELLS_TSAN
#define WEFT_TELLS_TSAN 0
#endif

#if WEFT_TELLS_TSAN
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace weft::detail {

inline void order_release([[maybe_unused]] const volatile void* token) noexcept {
#if WEFT_TELLS_TSAN
  __tsan_release(const_cast<void*>(token));
#endif
}
inline void order_acquire([[maybe_unused]] const volatile void* token) noexcept {
#if WEFT_TELLS_TSAN
  __tsan_acquire(const_cast<void*>(token));
#endif
}

// For atomics of templates and inline functions, which TSan sees where the user's code is: those that order more than
// is promised are relaxed to it. (What TSan puts in place of an operation that reads and writes is a full barrier all
// the same.)
template <std::memory_order promised>
inline constexpr std::memory_order unseen = WEFT_TELLS_TSAN ? std::memory_order_relaxed : promised;

}  // namespace weft::detail
