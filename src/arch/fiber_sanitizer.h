// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

#include "base/sanitizer.h"
#if WEFT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if WEFT_TSAN
#include <sanitizer/tsan_interface.h>
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);
extern "C" void AnnotateBenignRaceSized(const char* file, int line, const volatile void* address, std::size_t size,
                                        const char* description);
#endif

// For functions that are left by a jump: TSan would wait for their return for ever, and after some ten thousand goroutines on one
// stack its own copy of the call stack would be full.
#if WEFT_TSAN && defined(__clang__)
#define WEFT_NEVER_RETURNS __attribute__((disable_sanitizer_instrumentation))
#else
#define WEFT_NEVER_RETURNS
#endif

// What sanitizers must be told about stack switches: everything is here, and nothing of it in ordinary builds.
//   TSan   switches carry no happens-before edge (flag no_sync): else every pair of goroutines that ever shared a thread
//          would count as synchronised, and races between them would stay hidden. The real edges are wake -> resume and
//          spawn -> start: fiber_release()/fiber_acquire(). And who has stopped the world comes after everything that ran
//          before, and before everything that runs then: each switch releases world_stops and acquires world_starts.
//   ASan   each side is told of the other's stack; a context that ends passes no fake-stack slot, so its fake stack is freed.
namespace weft::arch {

struct Fiber {
#if WEFT_ASAN
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t size = 0;
#endif
#if WEFT_TSAN
  void* handle = nullptr;
#endif
};

#if WEFT_TSAN
inline char world_stops, world_starts;  // their addresses
#endif

// `bottom` is the lowest address of the stack.
inline void fiber_create([[maybe_unused]] Fiber& fiber, [[maybe_unused]] const void* bottom,
                         [[maybe_unused]] std::size_t size) {
#if WEFT_ASAN
  fiber.bottom = bottom;
  fiber.size = size;
#endif
#if WEFT_TSAN
  if (fiber.handle == nullptr) fiber.handle = __tsan_create_fiber(0);
#endif
}

inline void fiber_adopt_thread([[maybe_unused]] Fiber& fiber, [[maybe_unused]] const void* bottom,
                               [[maybe_unused]] std::size_t size) {
#if WEFT_ASAN
  fiber.bottom = bottom;
  fiber.size = size;
#endif
#if WEFT_TSAN
  fiber.handle = __tsan_get_current_fiber();
#endif
}

// What the thread has one of, and each goroutine its own: the switch saves and restores it. For TSan goroutines that follow each
// other on the thread would race for it.
inline void fiber_switches([[maybe_unused]] const void* address, [[maybe_unused]] std::size_t size) {
#if WEFT_TSAN
  AnnotateBenignRaceSized(__FILE__, __LINE__, address, size, "saved and restored by the switch");
#endif
}

inline void fiber_destroy([[maybe_unused]] Fiber& fiber) {
#if WEFT_TSAN
  if (fiber.handle != nullptr) __tsan_destroy_fiber(fiber.handle);
  fiber.handle = nullptr;
#endif
}

// Immediately before a switch.
__attribute__((always_inline)) inline void fiber_leave([[maybe_unused]] Fiber& from, [[maybe_unused]] const Fiber& to,
                                                       [[maybe_unused]] bool from_ends) {
#if WEFT_ASAN
  __sanitizer_start_switch_fiber(from_ends ? nullptr : &from.fake_stack, to.bottom, to.size);
#endif
#if WEFT_TSAN
  __tsan_release(&world_stops);
  __tsan_switch_to_fiber(to.handle, __tsan_switch_to_fiber_no_sync);
#endif
}

// First thing after a switch, on the stack that was resumed (or has just started).
__attribute__((always_inline)) inline void fiber_arrive([[maybe_unused]] Fiber& self) {
#if WEFT_ASAN
  __sanitizer_finish_switch_fiber(self.fake_stack, nullptr, nullptr);
  self.fake_stack = nullptr;
#endif
#if WEFT_TSAN
  __tsan_acquire(&world_starts);
#endif
}

// A fresh goroutine's stack may carry poison of frames that were left without returning.
inline void fiber_unpoison([[maybe_unused]] const void* bottom, [[maybe_unused]] std::size_t size) {
#if WEFT_ASAN
  ASAN_UNPOISON_MEMORY_REGION(bottom, size);
#endif
}

inline void fiber_release([[maybe_unused]] void* token) {
#if WEFT_TSAN
  __tsan_release(token);
#endif
}
inline void fiber_acquire([[maybe_unused]] void* token) {
#if WEFT_TSAN
  __tsan_acquire(token);
#endif
}

// Called by the one that has stopped the world, and before it starts again.
inline void fiber_world_stopped() {
#if WEFT_TSAN
  __tsan_acquire(&world_stops);
#endif
}
inline void fiber_world_starts() {
#if WEFT_TSAN
  __tsan_release(&world_starts);
#endif
}

// While it lives, TSan does not look at what this fiber does: for what a P hands from one fiber to the next on its thread, where a
// function that TSan sees in any case (memcpy, say) touches it.
struct FiberUnwatched {
#if WEFT_TSAN
  FiberUnwatched() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~FiberUnwatched() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  FiberUnwatched() {}
#endif
  FiberUnwatched(const FiberUnwatched&) = delete;
  FiberUnwatched& operator=(const FiberUnwatched&) = delete;
};

}  // namespace weft::arch
