/* SPDX-License-Identifier: MIT
 * What -fsplit-stack calls. Code compiled with that flag compares the stack pointer with %fs:0x70 at the entry of each
 * function and calls __morestack when it is below. libgcc's __morestack would run the function on a new segment of
 * stack. Ours asks the scheduler whether to give way, and lets the function go on where it is.
 *
 * At __morestack: r10 is the function's frame size, r11 the bytes of its stack arguments, (rsp) the address R of a
 * one-byte `ret` inside the function, 8(rsp) the function's own return address. Everything but r10 and the flags has to
 * survive: arguments in general and vector registers, rax (number of vector registers of a varargs call), r11 (argument
 * pointer of varargs). The function goes on at R + 1; weft_at_function_entry moves R there. */
#if defined(__x86_64__)

#include "arch/save_registers_x86_64.h"

  .text
  .globl weft_morestack
  .type weft_morestack, @function
  .globl __morestack
  .hidden __morestack
  .type __morestack, @function
  .p2align 4
weft_morestack: /* what shared libraries jump to (tools/compiler/shared_checks_x86_64.S) */
__morestack:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  save_registers
  movq %rbp, %rdi
  call weft_at_function_entry
  restore_registers
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size weft_morestack, . - weft_morestack

/* gold and lld redirect the call to this function, after they have replaced the compare by a condition that always
 * holds. So every call of such a function comes here. */
  .globl __morestack_non_split
  .hidden __morestack_non_split
  .type __morestack_non_split, @function
  .p2align 4
__morestack_non_split:
  .cfi_startproc
  movb $1, weft_checks_always_fire(%rip)
  jmp __morestack
  .cfi_endproc
  .size __morestack_non_split, . - __morestack_non_split

  .globl weft_checks_always_fire
  .hidden weft_checks_always_fire
  .type weft_checks_always_fire, @object
  .size weft_checks_always_fire, 1
  .bss
weft_checks_always_fire:
  .zero 1
  .text

/* void* __morestack_allocate_stack_space(size_t n): alloca beyond the guard. The caller has a frame pointer, so this
 * function may simply lower the caller's stack pointer. */
  .globl weft_morestack_allocate
  .type weft_morestack_allocate, @function
  .globl __morestack_allocate_stack_space
  .type __morestack_allocate_stack_space, @function
  .p2align 4
weft_morestack_allocate:
__morestack_allocate_stack_space:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rdi
  subq $8, %rsp
  movq %rbp, %rsi
  call weft_at_allocation
  movq -8(%rbp), %rdi
  leave
  .cfi_def_cfa %rsp, 8
  popq %rdx
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rdx
  addq $15, %rdi
  andq $-16, %rdi
  subq %rdi, %rsp
  movq %rsp, %rax
  jmp *%rdx
  .cfi_endproc
  .size weft_morestack_allocate, . - weft_morestack_allocate

  .section .note.GNU-stack, "", @progbits
#endif
