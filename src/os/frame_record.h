// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// What the frame pointer points at: two words, on x86-64 and aarch64 alike.
namespace weft::os {

struct FrameRecord {
  std::uintptr_t caller;  // its frame pointer
  std::uintptr_t return_address;
};

// Can there be a record at that address, not below `lowest` and before the end of the stack? A chain leads up only,
// because one that turns back would never end.
inline bool leads_on(std::uintptr_t frame, std::uintptr_t lowest, std::uintptr_t high) noexcept {
  return frame >= lowest && frame < high && high - frame >= sizeof(FrameRecord) && frame % alignof(FrameRecord) == 0;
}

// Removes the signature that a return address may have on aarch64.
inline std::uintptr_t strip_signature(std::uintptr_t address) noexcept {
#if defined(__aarch64__)
  register std::uintptr_t x30 asm("x30") = address;
  asm("hint #7" : "+r"(x30));  // xpaclri: does nothing on cores without pointer authentication
  return x30;
#else
  return address;
#endif
}

// For functions that read the stack of another goroutine, which sanitizers would report.
#define WEFT_READS_STACKS __attribute__((no_sanitize("address"), no_sanitize("thread")))

}  // namespace weft::os
