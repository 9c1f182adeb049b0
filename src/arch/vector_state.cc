// SPDX-License-Identifier: MIT
#include "arch/vector_state.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

weft_vector_state_t weft_vector_state;

namespace {

#if defined(__x86_64__)

constexpr std::uint32_t kSavedComponents = 0xe7;
constexpr std::uint32_t kLegacyBytes = 512 + 64;  // x87 and SSE, then the header

weft_vector_state_t measure() {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  __cpuid(1, a, b, c, d);
  constexpr std::uint32_t kOsXsave = 1u << 27;
  if ((c & kOsXsave) == 0) return {0, 0};
  std::uint32_t enabled = 0;
  asm("xgetbv" : "=a"(enabled) : "c"(0) : "rdx");
  const std::uint32_t mask = enabled & kSavedComponents;
  std::uint32_t bytes = kLegacyBytes;
  for (std::uint32_t component = 2; component < 32; ++component) {
    if ((mask >> component & 1) == 0) continue;
    __cpuid_count(0xd, component, a, b, c, d);  // a: size, b: offset in the area
    if (a + b > bytes) bytes = a + b;
  }
  return {(bytes + 63) / 64 * 64, mask};
}

#elif defined(__aarch64__)

weft_vector_state_t measure() {
  constexpr unsigned long kHwcapSve = 1ul << 22;
  return {0, (getauxval(AT_HWCAP) & kHwcapSve) != 0 ? 1u : 0u};
}

#endif

// Runs before other constructors, because those may be instrumented code.
__attribute__((constructor(101))) void find_out() { weft_vector_state = measure(); }

}  // namespace
