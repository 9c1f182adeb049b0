// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/sanitizer.h"

// A call that costs nothing where it is not made. An ordinary call in a branch that is never taken still makes the
// compiler save registers at the function's entry and keep values out of the caller-saved ones: up to fifteen
// instructions a function. This call preserves the general registers itself and takes its arguments from wherever they
// are.
//   Red zone  the caller may be a leaf function in the compiler's eyes and use the 128 bytes below its stack pointer.
//             So the call steps over them first.
//   Vectors   are declared clobbered, because nothing on these paths keeps values in them.
//   Function  must be hidden (WEFT_COLD_CALLED): then its address is a constant in position-independent code, too.
namespace weft::arch {

#define WEFT_COLD_CALLED __attribute__((noinline, visibility("hidden")))

using ColdFunction = void (*)(std::uintptr_t, std::uintptr_t) noexcept;

#if defined(__x86_64__) && !WEFT_ASAN && !WEFT_TSAN
#if defined(__AVX512F__)
#define WEFT_MORE_VECTORS                                                                                       \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
      "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define WEFT_MORE_VECTORS
#endif
template <ColdFunction Function>
inline void cold_call(std::uintptr_t first, std::uintptr_t second) noexcept {
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"
      "pushq %[first]\n\t"
      "pushq %[second]\n\t"
      "pushq %c[function]@GOTPCREL(%%rip)\n\t"
      "call weft_cold_call\n\t"
      "leaq 152(%%rsp), %%rsp"
      :
      : [function] "i"(Function), [first] "r"(first), [second] "re"(second)
      : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15" WEFT_MORE_VECTORS);
}
#undef WEFT_MORE_VECTORS
#else
template <ColdFunction Function>
inline void cold_call(std::uintptr_t first, std::uintptr_t second) noexcept {
  Function(first, second);
}
#endif

}  // namespace weft::arch
