// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>

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

// For functions that are left by a jump. TSan would wait for their return for ever, and after some ten thousand
// goroutines on one stack its own copy of the call stack would be full.
#if WEFT_TSAN_RUNTIME && defined(__clang__)
#define WEFT_NEVER_RETURNS __attribute__((disable_sanitizer_instrumentation))
#else
#define WEFT_NEVER_RETURNS
#endif

// What sanitizers must be told about stack switches. All of it is here, and none of it is in ordinary builds.
//   TSan     switches carry no happens-before edge (flag no_sync). Otherwise every pair of goroutines that ever shared
//            a thread would count as synchronised, and races between them would stay hidden. TSan is told of the
//            promised edges where they are promised (weft/detail/happens_before.h).
//   World    stopping the world is a promised edge: the stopper comes after everything that ran before the stop, and
//            before everything that runs after it. Each event that lets the stopper count a goroutine as standing still
//            releases world_stops: each switch, the goroutine's end, a P left behind in a call, an exile that is held
//            or back in the runtime. What follows such an event acquires world_starts.
//   Fibers   each goroutine is a fiber of its own, also if several run on one stack, because TSan takes what one fiber
//            does for ordered. When a goroutine ends, TSan forgets what it did on that stack (fiber_renew). A fiber is
//            created by the nursery, so it begins with what the nursery has done, which is nothing, rather than with
//            all that its creator has done.
//   Runtime  with WEFT_TSAN_RUNTIME, where TSan sees the runtime's own accesses, a stack keeps its fiber, and waking
//            and queues carry edges, too: fiber_release()/fiber_acquire().
//   ASan     each side is told of the other's stack. A context that ends passes no fake-stack slot, so that its fake
//            stack is freed.
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
inline char world_stops, world_starts;  // only their addresses count
#endif

// From here on the stopper of the world may count the goroutine as standing still. fiber_goes_on(): the goroutine runs
// again, and the world may have been stopped since.
inline void fiber_stands_still() noexcept {
#if WEFT_TSAN
  __tsan_release(&world_stops);
#endif
}
inline void fiber_goes_on() noexcept {
#if WEFT_TSAN
  __tsan_acquire(&world_starts);
#endif
}

#if WEFT_TSAN_USERS
void* create_fiber() noexcept;  // nothing happens before it
void replace_fiber(Fiber& fiber, const std::byte* bottom, const std::byte* top) noexcept;
void share_thread_locals() noexcept;
#endif

// `bottom` is the lowest address of the stack.
inline void fiber_create([[maybe_unused]] Fiber& fiber, [[maybe_unused]] const void* bottom,
                         [[maybe_unused]] std::size_t size) {
#if WEFT_ASAN
  fiber.bottom = bottom;
  fiber.size = size;
#endif
#if WEFT_TSAN_USERS
  if (fiber.handle == nullptr) fiber.handle = create_fiber();
#elif WEFT_TSAN
  if (fiber.handle == nullptr) fiber.handle = __tsan_create_fiber(0);
#endif
}

// Called on the stack of a goroutine that has ended: the next goroutine on it is another fiber. `top`: end of the
// stack.
inline void fiber_renew([[maybe_unused]] Fiber& fiber, [[maybe_unused]] const std::byte* bottom,
                        [[maybe_unused]] const std::byte* top) noexcept {
#if WEFT_TSAN_USERS
  replace_fiber(fiber, bottom, top);
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
#if WEFT_TSAN_USERS
  share_thread_locals();
#endif
}

// For state that the thread has once and each goroutine for itself: the switch saves and restores it. Otherwise TSan
// would see goroutines that follow each other on the thread race for it.
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
  fiber_stands_still();
  __tsan_switch_to_fiber(to.handle, __tsan_switch_to_fiber_no_sync);
#endif
}

// First thing after a switch, on the stack that was resumed (or has just started).
__attribute__((always_inline)) inline void fiber_arrive([[maybe_unused]] Fiber& self) {
#if WEFT_ASAN
  __sanitizer_finish_switch_fiber(self.fake_stack, nullptr, nullptr);
  self.fake_stack = nullptr;
#endif
  fiber_goes_on();
}

// A fresh goroutine's stack may still be poisoned by frames that were left without returning.
inline void fiber_unpoison([[maybe_unused]] const void* bottom, [[maybe_unused]] std::size_t size) {
#if WEFT_ASAN
  ASAN_UNPOISON_MEMORY_REGION(bottom, size);
#endif
}

// Edges of the runtime itself, which the API does not promise to users.
inline void fiber_release([[maybe_unused]] void* token) {
#if WEFT_TSAN_RUNTIME
  __tsan_release(token);
#endif
}
inline void fiber_acquire([[maybe_unused]] void* token) {
#if WEFT_TSAN_RUNTIME
  __tsan_acquire(token);
#endif
}

// TSan keeps a signal until the thread next calls TSan. Code without instrumentation may never do that, or not before
// it blocks in a system call that TSan does not see. So such a wait is short (50 ms), and its caller, which expects
// spurious wake-ups anyway, looks again. Returns the time until when to wait. After the wait the caller calls
// fiber_take_signals(), in which the user's handlers may run. errno is left alone.
inline std::int64_t fiber_longest_wait(std::int64_t deadline_ns) noexcept {
#if WEFT_TSAN
  constexpr std::int64_t kLongestNs = 50'000'000;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t longest = now.tv_sec * 1'000'000'000ll + now.tv_nsec + kLongestNs;
  return deadline_ns < longest ? deadline_ns : longest;
#else
  return deadline_ns;
#endif
}
inline void fiber_take_signals() noexcept {
#if WEFT_TSAN
  const int kept = errno;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  errno = kept;
#endif
}

// The stopper calls fiber_world_stopped() when the world stands still, and fiber_world_starts() before it runs again.
// A stopper that is a plain thread comes after the earlier stoppers, too: hence the acquire of world_starts.
inline void fiber_world_stopped() {
#if WEFT_TSAN
  __tsan_acquire(&world_stops);
  __tsan_acquire(&world_starts);
#endif
}
inline void fiber_world_starts() {
#if WEFT_TSAN
  __tsan_release(&world_starts);
#endif
}

// While it lives, TSan ignores what this fiber does. For data that a P hands from one fiber to the next on its thread,
// where a function that TSan sees in any case (memcpy, say) touches it.
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
