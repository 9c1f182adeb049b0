// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Which goroutine, processor and machine this thread is, and where it records its trace: the thread-local words that
// the hot paths read.
//   Job       read the words by value, again after everything that may switch.
//   Hazard    a compiler may keep the address of a thread_local in a register. After a switch the goroutine may be on
//             another thread, and that address still names the old thread's words. So C++ never forms the address: the
//             loads and stores below are assembly that names the symbol relative to the thread pointer. They are
//             volatile with a memory clobber, so that the compiler never merges or moves them.
//   Order     0 goroutine, 8 processor, 16 machine, 24 lane; `weft_current` in current.cc has exactly this layout.
//   Rejected  a noinline accessor (3-8 ns an operation); plain initial-exec TLS (right on x86-64, cached on aarch64).
namespace weft::sched {
struct Goroutine;
struct Processor;
struct Machine;
}  // namespace weft::sched
namespace weft::trace {
struct Lane;
}

namespace weft::os {

struct Current {
  sched::Goroutine* g;
  sched::Processor* p;  // null: a plain thread, or an M without the right to run goroutine code
  sched::Machine* m;
  trace::Lane* lane;  // null: this thread has recorded nothing yet
};

#if defined(__x86_64__)
#define WEFT_CURRENT_LOAD(type, offset)             \
  ({                                                \
    type* weft_value;                               \
    asm volatile(                                   \
        "movq weft_current@gottpoff(%%rip), %0\n\t" \
        "movq %%fs:" #offset "(%0), %0"             \
        : "=r"(weft_value)                          \
        :                                           \
        : "memory");                                \
    weft_value;                                     \
  })
#define WEFT_CURRENT_STORE(offset, value)           \
  do {                                              \
    void* weft_scratch;                             \
    asm volatile(                                   \
        "movq weft_current@gottpoff(%%rip), %0\n\t" \
        "movq %1, %%fs:" #offset "(%0)"             \
        : "=&r"(weft_scratch)                       \
        : "r"(value)                                \
        : "memory");                                \
  } while (0)
#elif defined(__aarch64__)
#define WEFT_CURRENT_LOAD(type, offset)                  \
  ({                                                     \
    type* weft_value;                                    \
    void* weft_scratch;                                  \
    asm volatile(                                        \
        "mrs %1, tpidr_el0\n\t"                          \
        "adrp %0, :gottprel:weft_current\n\t"            \
        "ldr %0, [%0, #:gottprel_lo12:weft_current]\n\t" \
        "add %1, %1, %0\n\t"                             \
        "ldr %0, [%1, #" #offset "]"                     \
        : "=&r"(weft_value), "=&r"(weft_scratch)         \
        :                                                \
        : "memory");                                     \
    weft_value;                                          \
  })
#define WEFT_CURRENT_STORE(offset, value)                \
  do {                                                   \
    void *weft_base, *weft_scratch;                      \
    asm volatile(                                        \
        "mrs %1, tpidr_el0\n\t"                          \
        "adrp %0, :gottprel:weft_current\n\t"            \
        "ldr %0, [%0, #:gottprel_lo12:weft_current]\n\t" \
        "add %1, %1, %0\n\t"                             \
        "str %2, [%1, #" #offset "]"                     \
        : "=&r"(weft_base), "=&r"(weft_scratch)          \
        : "r"(value)                                     \
        : "memory");                                     \
  } while (0)
#else
#error "weft runs on x86-64 and aarch64"
#endif

inline sched::Goroutine* current_g() noexcept { return WEFT_CURRENT_LOAD(sched::Goroutine, 0); }
inline sched::Processor* current_p() noexcept { return WEFT_CURRENT_LOAD(sched::Processor, 8); }
inline sched::Machine* current_m() noexcept { return WEFT_CURRENT_LOAD(sched::Machine, 16); }
inline trace::Lane* current_lane() noexcept { return WEFT_CURRENT_LOAD(trace::Lane, 24); }
inline void set_current_g(sched::Goroutine* g) noexcept { WEFT_CURRENT_STORE(0, g); }
inline void set_current_p(sched::Processor* p) noexcept { WEFT_CURRENT_STORE(8, p); }
inline void set_current_m(sched::Machine* m) noexcept { WEFT_CURRENT_STORE(16, m); }
inline void set_current_lane(trace::Lane* lane) noexcept { WEFT_CURRENT_STORE(24, lane); }

}  // namespace weft::os
