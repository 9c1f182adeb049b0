/* SPDX-License-Identifier: MIT */
#if defined(__aarch64__)
#include "arch/context_layout.h"

  .text

.macro save_context_at_sp
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp d8, d9, [sp, #80]
  stp d10, d11, [sp, #96]
  stp d12, d13, [sp, #112]
  stp d14, d15, [sp, #128]
  stp x29, x30, [sp, #144]
.endm

.macro restore_context_from_sp
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp d8, d9, [sp, #80]
  ldp d10, d11, [sp, #96]
  ldp d12, d13, [sp, #112]
  ldp d14, d15, [sp, #128]
  ldp x29, x30, [sp, #144]
  add sp, sp, #WEFT_CONTEXT_SIZE
.endm

/* void weft_switch_context(void** save_sp, void* to, bool fresh): stlr publishes the finished frame.
 * Why fresh contexts are jumped to: see context_x86_64.S. */
  .globl weft_switch_context
  .type weft_switch_context, %function
  .p2align 4
weft_switch_context:
  .cfi_startproc
  sub sp, sp, #WEFT_CONTEXT_SIZE
  .cfi_def_cfa_offset WEFT_CONTEXT_SIZE
  save_context_at_sp
  .cfi_offset x19, -160
  .cfi_offset x20, -152
  .cfi_offset x21, -144
  .cfi_offset x22, -136
  .cfi_offset x23, -128
  .cfi_offset x24, -120
  .cfi_offset x25, -112
  .cfi_offset x26, -104
  .cfi_offset x27, -96
  .cfi_offset x28, -88
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x9, sp
  stlr x9, [x0]
  mov sp, x1
  tbnz w2, #0, start_fresh_context
  restore_context_from_sp
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  ret
  .cfi_endproc
  .size weft_switch_context, . - weft_switch_context

/* void weft_jump_context(void* to) */
  .globl weft_jump_context
  .type weft_jump_context, %function
  .p2align 4
weft_jump_context:
  .cfi_startproc
  mov sp, x0
  restore_context_from_sp
  ret
  .cfi_endproc
  .size weft_jump_context, . - weft_jump_context

/* First frame of a goroutine: the return address is undefined, so unwinding ends here. Never returned to. */
  .globl weft_context_entry
  .type weft_context_entry, %function
  .p2align 4
  .cfi_startproc
  .cfi_undefined x30
start_fresh_context:
  mov x29, xzr
  adr x30, weft_context_entry
  b weft_goroutine_main
  nop
weft_context_entry:
  brk #1
  .cfi_endproc
  .size weft_context_entry, . - weft_context_entry

/* void weft_call_on_context(void* sp, void (*function)(void*), void* argument) */
  .globl weft_call_on_context
  .type weft_call_on_context, %function
  .p2align 4
weft_call_on_context:
  .cfi_startproc
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  stp x19, x20, [sp, #16]
  .cfi_offset x19, -16
  .cfi_offset x20, -8
  mov x19, sp      /* our stack pointer, to come back */
  mov x20, x0      /* that of the suspended context */
  mov sp, x0
  .cfi_remember_state
  .cfi_def_cfa x20, WEFT_CONTEXT_SIZE
  .cfi_offset x19, -160
  .cfi_offset x20, -152
  .cfi_offset x21, -144
  .cfi_offset x22, -136
  .cfi_offset x23, -128
  .cfi_offset x24, -120
  .cfi_offset x25, -112
  .cfi_offset x26, -104
  .cfi_offset x27, -96
  .cfi_offset x28, -88
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x0, x2
  blr x1
  .cfi_restore_state
  mov sp, x19
  ldp x19, x20, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  ret
  .cfi_endproc
  .size weft_call_on_context, . - weft_call_on_context

/* void weft_call_on_stack(void* stack_top, void (*function)(void*), void* argument) */
  .globl weft_call_on_stack
  .type weft_call_on_stack, %function
  .p2align 4
weft_call_on_stack:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, sp
  .cfi_def_cfa_register x29
  mov sp, x0
  mov x0, x2
  blr x1
  mov sp, x29
  .cfi_def_cfa_register sp
  ldp x29, x30, [sp], #16
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  ret
  .cfi_endproc
  .size weft_call_on_stack, . - weft_call_on_stack

  .section .note.GNU-stack, "", %progbits
#endif
