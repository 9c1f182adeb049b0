// SPDX-License-Identifier: MIT
// The loops of loops.cc compute the same when every check on their way fires and the code behind it destroys every register
// that a function may destroy. Compiled once for each set of flags (cmake/WeftPreempt.cmake); this file has no checks.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <unwind.h>

#include <cfenv>
#include <cstdint>

#include "loops.h"

namespace {

std::uint64_t checks;         // that fired
std::uint64_t wrong_entries;  // of the hook: alignment, modes
std::uint64_t lost_frames;    // walks of the stack that did not come to the driver
jmp_buf way_out;
std::uint64_t leave_after;  // so many checks the hook leaves by way_out, if not 0

#if defined(__x86_64__)
void set_guard(std::uintptr_t guard) { asm volatile("movq %0, %%fs:0x70" ::"r"(guard) : "memory"); }

// Everything the calling convention lets a function destroy, upper halves and the x87 stack included.
void destroy_registers() {
  if (__builtin_cpu_supports("avx2")) {
    asm volatile(
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\tvpcmpeqd %%ymm\\n, %%ymm\\n, "
        "%%ymm\\n\n\t.endr\n\t"
        "vzeroupper" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
              "xmm13", "xmm14", "xmm15");
  } else {
    asm volatile(
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\tpcmpeqd %%xmm\\n, %%xmm\\n\n\t.endr" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
              "xmm13", "xmm14", "xmm15");
  }
  asm volatile(
      "fldpi\n\tfldpi\n\tfldpi\n\tfstp %%st(0)\n\tfstp %%st(0)\n\tfstp %%st(0)\n\t"
      "movq $-1, %%rax\n\tmovq %%rax, %%rcx\n\tmovq %%rax, %%rdx\n\tmovq %%rax, %%rsi\n\tmovq %%rax, %%rdi\n\t"
      "movq %%rax, %%r8\n\tmovq %%rax, %%r9\n\tmovq %%rax, %%r10\n\tmovq %%rax, %%r11" ::
          : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "st", "st(1)", "st(2)", "cc");
}

bool is_aligned() {
  alignas(16) char place[16];
  char* address = place;
  asm("" : "+r"(address));
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;  // alignas relies on the caller's alignment
}

bool has_usual_modes() {
  std::uint32_t mxcsr = 0;
  std::uint16_t control = 0, status = 0;
  asm volatile("stmxcsr %0\n\tfnstcw %1\n\tfnstsw %2" : "=m"(mxcsr), "=m"(control), "=m"(status));
  return (mxcsr & 0xffc0) == 0x1f80 && control == 0x37f && (status & 0x3800) == 0;  // masked, to nearest; empty stack
}
#else
extern "C" thread_local std::uintptr_t weft_preempt_guard __attribute__((tls_model("initial-exec")));
void set_guard(std::uintptr_t guard) { weft_preempt_guard = guard; }

void destroy_registers() {
  asm volatile(
      ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n\t"
      "movi v\\n\\().16b, #255\n\t.endr" ::
          : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
            "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
  asm volatile(".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17\n\tmov x\\n, #-1\n\t.endr" ::
                   : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
                     "x15", "x16", "x17", "cc");
}

bool is_aligned() {
  std::uintptr_t sp = 0;
  asm("mov %0, sp" : "=r"(sp));
  return sp % 16 == 0;
}
bool has_usual_modes() {
  std::uint64_t fpcr = 0;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  return fpcr == 0;
}
#endif

__attribute__((noinline)) std::uint64_t drive(const LoopCase& loop) {
  const std::uint64_t hash = loop.run();
  asm volatile("");  // not a tail call
  return hash;
}

_Unwind_Reason_Code look_for_driver(_Unwind_Context* context, void* found) {
  const auto pc = reinterpret_cast<void*>(_Unwind_GetIP(context) - 1);
  if (_Unwind_FindEnclosingFunction(pc) != reinterpret_cast<void*>(&drive)) return _URC_NO_REASON;
  *static_cast<bool*>(found) = true;
  return _URC_NORMAL_STOP;
}

std::uint64_t run_with_guard(const LoopCase& loop, std::uintptr_t guard) {
  checks = wrong_entries = lost_frames = 0;
  set_guard(guard);
  const std::uint64_t hash = drive(loop);
  set_guard(0);
  return hash;
}

}  // namespace

extern "C" void weft_preempt_slow(void* sp) noexcept {
  if (!has_usual_modes() || !is_aligned() || sp < __builtin_frame_address(0)) ++wrong_entries;
  if (++checks <= 50) {  // walking is slow
    bool found = false;
    _Unwind_Backtrace(look_for_driver, &found);
    if (!found && leave_after == 0) ++lost_frames;
  }
  if (leave_after != 0 && checks >= leave_after) longjmp(way_out, 1);
  destroy_registers();
}

TEST(PreemptCheck, a_check_at_every_turn_changes_no_result) {
  for (int i = 0; i < kLoopCaseCount; ++i) {
    const LoopCase& loop = kLoopCases[i];
    SCOPED_TRACE(loop.name);
    const std::uint64_t undisturbed = run_with_guard(loop, 0);
    EXPECT_EQ(checks, 0u) << "a guard of 0 must never fire";
    const std::uint64_t disturbed = run_with_guard(loop, ~std::uintptr_t{0});
    EXPECT_EQ(disturbed, undisturbed);
    EXPECT_GT(checks, 0u) << "no check on the way";
    EXPECT_EQ(wrong_entries, 0u);
    EXPECT_EQ(lost_frames, 0u);
    RecordProperty(loop.name, std::to_string(checks));
  }
}

TEST(PreemptCheck, an_endless_loop_is_left) {
  checks = 0;
  leave_after = 1000;
  if (setjmp(way_out) == 0) {
    set_guard(~std::uintptr_t{0});
    spin_forever();
  }
  set_guard(0);
  leave_after = 0;
  EXPECT_EQ(checks, 1000u);
}
