/* SPDX-License-Identifier: MIT */
#if defined(__x86_64__)

  .text

/* Contract: arch/preempt_check.h. The frame, from rbp down: nine general registers, then, aligned to 64, the XSAVE area.
 * The stack may be misaligned at entry: a leaf function need not align it. */
  .weak weft_preempt_slow
  .globl weft_preempt_check
  .type weft_preempt_check, @function
  .p2align 4
weft_preempt_check:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
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
  movl weft_vector_state(%rip), %eax
  testl %eax, %eax
  je 1f                       /* before the constructors: nobody can have asked */
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
  fninit                      /* whoever runs next expects an empty x87 stack and the usual modes */
  ldmxcsr weft_default_mxcsr(%rip)
  cld
  leaq 16(%rbp), %rdi
  movq weft_preempt_slow@GOTPCREL(%rip), %rax
  testq %rax, %rax
  je 2f
  call *%rax
0:
  movl weft_vector_state+4(%rip), %eax
  xorl %edx, %edx
  xrstor64 (%rsp)
1:
  movq -72(%rbp), %r11
  movq -64(%rbp), %r10
  movq -56(%rbp), %r9
  movq -48(%rbp), %r8
  movq -40(%rbp), %rdi
  movq -32(%rbp), %rsi
  movq -24(%rbp), %rdx
  movq -16(%rbp), %rcx
  movq -8(%rbp), %rax
  leave
  .cfi_remember_state
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_restore_state
2:                            /* checks without a runtime: the guard is a leftover */
  movq $0, %fs:0x70
  jmp 0b
  .cfi_endproc
  .size weft_preempt_check, . - weft_preempt_check

  .section .rodata.weft_default_mxcsr, "a", @progbits
  .p2align 2
weft_default_mxcsr:
  .long 0x1f80

  .section .note.GNU-stack, "", @progbits
#endif
