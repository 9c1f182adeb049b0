/* SPDX-License-Identifier: MIT
 * weft_cold_call: rax a function, rdi and rsi its arguments. Preserves all general registers but these three, and no vector registers
 * (arch/cold_call.h tells the compiler so). */
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
  pushq %rcx
  pushq %rdx
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  andq $-16, %rsp
  call *%rax
  leaq -48(%rbp), %rsp
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdx
  popq %rcx
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size weft_cold_call, . - weft_cold_call

  .section .note.GNU-stack, "", @progbits
#endif
