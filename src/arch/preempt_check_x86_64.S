/* SPDX-License-Identifier: MIT */
#if defined(__x86_64__)
#include "arch/save_registers_x86_64.h"

  .text

/* Contract: arch/preempt_check.h. The stack may be misaligned at entry: a leaf function need not align it. */
  .weak weft_preempt_slow
  .globl weft_preempt_check
  .type weft_preempt_check, @function
  .globl weft_loop_check
  .type weft_loop_check, @function
  .p2align 4
weft_loop_check: /* the name shared libraries know it by (tools/compiler/shared_checks_x86_64.S) */
weft_preempt_check:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  cmpl $0, weft_vector_state(%rip)
  je 1f                       /* before the constructors: no preemption was asked for */
  save_registers
  leaq 16(%rbp), %rdi
  movq weft_preempt_slow@GOTPCREL(%rip), %rax
  testq %rax, %rax
  je 2f
  call *%rax
0:
  restore_registers
1:
  leave
  .cfi_remember_state
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_restore_state
2:                            /* no runtime is linked: the guard is a leftover */
  movq $0, %fs:0x70
  jmp 0b
  .cfi_endproc
  .size weft_preempt_check, . - weft_preempt_check

  .section .note.GNU-stack, "", @progbits
#endif
