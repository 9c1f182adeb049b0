// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>

// What ThreadSanitizer is told: the orders that the API promises, and no others.
//   Why      The runtime's own locks and queues put nearly all goroutines into some order, which would hide races in
//            the user's code. So TSan does not see the runtime (cmake/WeftFlags.cmake), and every promised order is
//            declared here.
//   A token  An address that belongs to the primitive; nothing is stored there. What a goroutine or thread did before
//            order_release(token) happens before what another does after order_acquire(token).
// In other builds the functions are empty.
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

// For atomics in templates and inline functions, which TSan sees because the user's code is compiled with them. Those
// that order more than the API promises become relaxed under TSan. (TSan's replacement for an operation that reads and
// writes is a full barrier all the same.)
template <std::memory_order promised>
inline constexpr std::memory_order unseen = WEFT_TELLS_TSAN ? std::memory_order_relaxed : promised;

}  // namespace weft::detail
