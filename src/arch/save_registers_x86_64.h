/* SPDX-License-Identifier: MIT
 * Assembly: how the paths that must preserve every register save and restore them. Between the two macros the stack is
 * aligned for a call, and the floating-point modes are those a thread starts with.
 *   Frame   from rbp down: rax rcx rdx rsi rdi r8 r9 r10 r11 (r10 at -64, r11 at -72: C++ reads them,
 *           sched/core/preempt.cc), then, aligned to 64, the XSAVE area. The called function preserves rbx, rbp and
 *           r12-r15.
 *   Early   before the constructors the size of the area is not known, and only the general registers are saved. */
#ifndef WEFT_ARCH_SAVE_REGISTERS_X86_64_H
#define WEFT_ARCH_SAVE_REGISTERS_X86_64_H

#if defined(__ASSEMBLER__) && defined(__x86_64__)
/* The caller has pushed rbp and made it the frame pointer. The stack may be misaligned. */
.macro save_registers
  pushq %rax
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  movl weft_vector_state(%rip), %eax
  testl %eax, %eax
  je .Lsaved_\@
  subq %rax, %rsp
  andq $-64, %rsp
  xorl %eax, %eax             /* XSAVE merges into the header: it must begin as zero */
  movq %rax, 512(%rsp)
  movq %rax, 520(%rsp)
  movq %rax, 528(%rsp)
  movq %rax, 536(%rsp)
  movq %rax, 544(%rsp)
  movq %rax, 552(%rsp)
  movq %rax, 560(%rsp)
  movq %rax, 568(%rsp)
  movl weft_vector_state+4(%rip), %eax
  xorl %edx, %edx
  xsave64 (%rsp)
  fninit                      /* the code that runs next expects an empty x87 stack and the usual modes */
  pushq $0x1f80
  ldmxcsr (%rsp)
  addq $8, %rsp
.Lsaved_\@:
  andq $-16, %rsp
  cld
.endm

/* With rsp as save_registers left it. */
.macro restore_registers
  movl weft_vector_state+4(%rip), %eax
  testl %eax, %eax
  je .Lrestored_\@
  xorl %edx, %edx
  xrstor64 (%rsp)
.Lrestored_\@:
  movq -72(%rbp), %r11
  movq -64(%rbp), %r10
  movq -56(%rbp), %r9
  movq -48(%rbp), %r8
  movq -40(%rbp), %rdi
  movq -32(%rbp), %rsi
  movq -24(%rbp), %rdx
  movq -16(%rbp), %rcx
  movq -8(%rbp), %rax
.endm
#endif

#endif
