/* SPDX-License-Identifier: MIT */
#if defined(__x86_64__)
#include "arch/save_registers_x86_64.h"

  .text

/* Contract: arch/inject.h. Entered by the return from the signal handler: (rsp) holds the address at which the code was
 * interrupted. The 128 bytes above it belong to the interrupted code (its red zone). */
  .globl weft_injected
  .type weft_injected, @function
  .p2align 4
weft_injected:
  .cfi_startproc
  .cfi_signal_frame
  .cfi_def_cfa %rsp, 136
  .cfi_offset %rip, -136
  pushfq
  .cfi_adjust_cfa_offset 8
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_offset %rbp, -152
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  save_registers
  call weft_at_injection
  restore_registers
  leave
  .cfi_def_cfa %rsp, 144
  popfq
  .cfi_adjust_cfa_offset -8
  ret $128
  .cfi_endproc
  .size weft_injected, . - weft_injected

  .section .note.GNU-stack, "", @progbits
#endif
