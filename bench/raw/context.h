// SPDX-License-Identifier: MIT
// The cheapest switch between two stacks that obeys the C calling convention: push what a callee must keep, exchange
// stack pointers, pop. No scheduler, no queue: a floor for everything that switches.
#pragma once

#include <sys/mman.h>

#include "common/bench.h"

extern "C" void raw_switch(void** save, void* load);

#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .type raw_switch, @function
raw_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size raw_switch, . - raw_switch
)");
inline constexpr int kSavedWords = 6, kEntryWord = 6, kFrameWords = 8;
#elif defined(__aarch64__)
asm(R"(
  .text
  .p2align 4
  .type raw_switch, @function
raw_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size raw_switch, . - raw_switch
)");
inline constexpr int kSavedWords = 20, kEntryWord = 11, kFrameWords = 20;
#else
#error "raw/context.h knows x86-64 and aarch64"
#endif

namespace raw {

// A context that has not run: its first switch enters `entry`, which must never return.
inline void* make_context(void (*entry)()) {
  // 25 pages, an odd number: stacks a power of two apart would fight for the same cache sets.
  constexpr std::size_t kSize = 25 * 4096;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) bench::fail("no memory for a stack");
  auto* top = reinterpret_cast<void**>(static_cast<char*>(memory) + kSize - 64);
  void** frame = top - kFrameWords;
  std::memset(frame, 0, kFrameWords * sizeof(void*));
  frame[kEntryWord] = reinterpret_cast<void*>(entry);
  return frame;
}

}  // namespace raw
