/* SPDX-License-Identifier: MIT */
#if defined(__x86_64__)
#include "arch/context_layout.h"

  .text

/* void weft_switch_context(void** save_sp, void* to, bool fresh)
 * The store of rsp comes after all pushes: under x86's store order it is a release.
 * Return prediction: the processor keeps the addresses that calls push and predicts each ret from them. This ret goes
 * to just the address that its call pushed whenever the other goroutine left from the same place, and so do all returns
 * after it. A fresh context is jumped to, not returned to, and left by a jump (weft_jump_context). That keeps calls and
 * returns paired, which saves a dozen ns for each goroutine started and joined. */
  .globl weft_switch_context
  .type weft_switch_context, @function
  .p2align 4
weft_switch_context:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  pushq %r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r12, 0
  pushq %r13
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r13, 0
  pushq %r14
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r14, 0
  pushq %r15
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r15, 0
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  testb %dl, %dl
  jne start_fresh_context
  popq %r15
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r15
  popq %r14
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r14
  popq %r13
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r13
  popq %r12
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r12
  popq %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  popq %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbp
  ret
  .cfi_endproc
  .size weft_switch_context, . - weft_switch_context

/* void weft_jump_context(void* to) */
  .globl weft_jump_context
  .type weft_jump_context, @function
  .p2align 4
weft_jump_context:
  .cfi_startproc
  endbr64
  movq %rdi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
  .size weft_jump_context, . - weft_jump_context

/* First frame of a goroutine: the return address is undefined, so unwinding ends here. Never returned to. */
  .globl weft_context_entry
  .type weft_context_entry, @function
  .p2align 4
  .cfi_startproc
  .cfi_undefined %rip
start_fresh_context:
  xorl %ebp, %ebp
  leaq weft_context_entry(%rip), %rcx
  pushq %rcx
  jmp weft_goroutine_main
  nop /* an unwinder looks up return address - 1 */
weft_context_entry:
  ud2
  .cfi_endproc
  .size weft_context_entry, . - weft_context_entry

/* void weft_call_on_context(void* sp, void (*function)(void*), void* argument)
 * While the function runs, the frame below it is described exactly as if weft_switch_context had called it. */
  .globl weft_call_on_context
  .type weft_call_on_context, @function
  .p2align 4
weft_call_on_context:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  pushq %r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r12, 0
  movq %rsp, %rbx   /* our stack pointer, to come back */
  movq %rdi, %r12   /* that of the suspended context, whose CFA is r12 + WEFT_CONTEXT_SIZE */
  movq %rdi, %rsp
  andq $-16, %rsp
  .cfi_remember_state
  .cfi_def_cfa %r12, WEFT_CONTEXT_SIZE
  .cfi_offset %rip, -8
  .cfi_offset %rbp, -16
  .cfi_offset %rbx, -24
  .cfi_offset %r12, -32
  .cfi_offset %r13, -40
  .cfi_offset %r14, -48
  .cfi_offset %r15, -56
  movq %rdx, %rdi
  call *%rsi
  .cfi_restore_state
  movq %rbx, %rsp
  popq %r12
  popq %rbx
  popq %rbp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size weft_call_on_context, . - weft_call_on_context

/* void weft_call_on_stack(void* stack_top, void (*function)(void*), void* argument) */
  .globl weft_call_on_stack
  .type weft_call_on_stack, @function
  .p2align 4
weft_call_on_stack:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rdi, %rsp
  movq %rdx, %rdi
  call *%rsi
  movq %rbp, %rsp
  .cfi_def_cfa_register %rsp
  popq %rbp
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size weft_call_on_stack, . - weft_call_on_stack

  .section .note.GNU-stack, "", @progbits
#endif
