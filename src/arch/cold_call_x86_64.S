/* SPDX-License-Identifier: MIT
 * weft_cold_call: calls a function with two arguments, all three on the stack. The first argument was pushed first, the
 * function last. Preserves all general registers and no vector registers (arch/cold_call.h tells the compiler so). */
#if defined(__x86_64__)
  .text
  .globl weft_cold_call
  .hidden weft_cold_call
  .type weft_cold_call, @function
  .p2align 4
weft_cold_call:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rax
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  movq 32(%rbp), %rdi
  movq 24(%rbp), %rsi
  andq $-16, %rsp
  call *16(%rbp)
  leaq -72(%rbp), %rsp
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdi
  popq %rsi
  popq %rdx
  popq %rcx
  popq %rax
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size weft_cold_call, . - weft_cold_call

  .section .note.GNU-stack, "", @progbits
#endif
