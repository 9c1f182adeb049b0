/* SPDX-License-Identifier: MIT */
#if defined(__aarch64__)
  .arch_extension sve

  .section .tbss, "awT", @nobits
  .globl weft_preempt_guard
  .type weft_preempt_guard, %object
  .size weft_preempt_guard, 8
  .p2align 3
weft_preempt_guard:
  .zero 8

  .text

#define GENERAL_BYTES 176
#define NEON_BYTES 528

/* Contract: arch/preempt_check.h. The frame, from x29 up: x29, x30, x0-x18; below it q0-q31 with fpsr and fpcr; below
 * them, if there is SVE, z0-z31, then p0-p15 and ffr. The called function preserves x19-x28. */
  .weak weft_preempt_slow
  .globl weft_preempt_check
  .type weft_preempt_check, %function
  .p2align 4
weft_preempt_check:
  .cfi_startproc
  hint #34                    /* bti c */
  stp x29, x30, [sp, #-GENERAL_BYTES]!
  .cfi_def_cfa_offset GENERAL_BYTES
  .cfi_offset x29, -GENERAL_BYTES
  .cfi_offset x30, -(GENERAL_BYTES - 8)
  mov x29, sp
  .cfi_def_cfa x29, GENERAL_BYTES
  stp x0, x1, [x29, #16]
  stp x2, x3, [x29, #32]
  stp x4, x5, [x29, #48]
  stp x6, x7, [x29, #64]
  stp x8, x9, [x29, #80]
  stp x10, x11, [x29, #96]
  stp x12, x13, [x29, #112]
  stp x14, x15, [x29, #128]
  stp x16, x17, [x29, #144]
  str x18, [x29, #160]
  sub sp, sp, #NEON_BYTES
  stp q0, q1, [sp, #0]
  stp q2, q3, [sp, #32]
  stp q4, q5, [sp, #64]
  stp q6, q7, [sp, #96]
  stp q8, q9, [sp, #128]
  stp q10, q11, [sp, #160]
  stp q12, q13, [sp, #192]
  stp q14, q15, [sp, #224]
  stp q16, q17, [sp, #256]
  stp q18, q19, [sp, #288]
  stp q20, q21, [sp, #320]
  stp q22, q23, [sp, #352]
  stp q24, q25, [sp, #384]
  stp q26, q27, [sp, #416]
  stp q28, q29, [sp, #448]
  stp q30, q31, [sp, #480]
  mrs x0, fpsr
  mrs x1, fpcr
  str x0, [sp, #512]
  str x1, [sp, #520]
  msr fpcr, xzr               /* the code that runs next expects the usual modes */
  adrp x0, weft_vector_state
  add x0, x0, :lo12:weft_vector_state
  ldr w0, [x0, #4]
  cbz w0, 1f
  addvl sp, sp, #-32
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
  str z\n, [sp, #\n, mul vl]
  .endr
  addvl sp, sp, #-3           /* 17 predicates, 8 of them to a vector's length */
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  str p\n, [sp, #\n, mul vl]
  .endr
  rdffr p0.b
  str p0, [sp, #16, mul vl]
1:
  add x0, x29, #GENERAL_BYTES
  adrp x1, :got:weft_preempt_slow
  ldr x1, [x1, #:got_lo12:weft_preempt_slow]
  cbz x1, 4f
  blr x1
5:
  adrp x0, weft_vector_state
  add x0, x0, :lo12:weft_vector_state
  ldr w0, [x0, #4]
  cbz w0, 2f
  ldr p0, [sp, #16, mul vl]
  wrffr p0.b
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  ldr p\n, [sp, #\n, mul vl]
  .endr
  addvl sp, sp, #3
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
  ldr z\n, [sp, #\n, mul vl]
  .endr
  addvl sp, sp, #31
  addvl sp, sp, #1
  b 3f
2:
  ldp q0, q1, [sp, #0]
  ldp q2, q3, [sp, #32]
  ldp q4, q5, [sp, #64]
  ldp q6, q7, [sp, #96]
  ldp q8, q9, [sp, #128]
  ldp q10, q11, [sp, #160]
  ldp q12, q13, [sp, #192]
  ldp q14, q15, [sp, #224]
  ldp q16, q17, [sp, #256]
  ldp q18, q19, [sp, #288]
  ldp q20, q21, [sp, #320]
  ldp q22, q23, [sp, #352]
  ldp q24, q25, [sp, #384]
  ldp q26, q27, [sp, #416]
  ldp q28, q29, [sp, #448]
  ldp q30, q31, [sp, #480]
3:
  ldr x0, [sp, #512]
  ldr x1, [sp, #520]
  msr fpsr, x0
  msr fpcr, x1
  mov sp, x29
  ldp x0, x1, [x29, #16]
  ldp x2, x3, [x29, #32]
  ldp x4, x5, [x29, #48]
  ldp x6, x7, [x29, #64]
  ldp x8, x9, [x29, #80]
  ldp x10, x11, [x29, #96]
  ldp x12, x13, [x29, #112]
  ldp x14, x15, [x29, #128]
  ldp x16, x17, [x29, #144]
  ldr x18, [x29, #160]
  ldp x29, x30, [sp], #GENERAL_BYTES
  .cfi_remember_state
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa sp, 0
  ret
  .cfi_restore_state
4:                            /* no runtime is linked: the guard is a leftover */
  adrp x1, :gottprel:weft_preempt_guard
  ldr x1, [x1, #:gottprel_lo12:weft_preempt_guard]
  mrs x0, tpidr_el0
  str xzr, [x0, x1]
  b 5b
  .cfi_endproc
  .size weft_preempt_check, . - weft_preempt_check

  .section .note.GNU-stack, "", %progbits
#endif
