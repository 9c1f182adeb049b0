/* SPDX-License-Identifier: MIT
 * Linked into a shared library that is compiled with preemption checks and has no runtime of its own. Each check jumps
 * to the program's runtime. Without this file the library would take libgcc's __morestack, which does not know
 * goroutines and puts functions on other stacks.
 * Hidden, because every library has its own. The jump goes through the table of addresses, never through a lazily bound
 * call, because the dynamic linker's resolver does not preserve what a check must (r10, r11).
 * A program without the runtime cannot load such a library: the dynamic linker names weft_morestack as undefined. */
#if defined(__x86_64__)
.macro forward from, to
  .globl \from
  .hidden \from
  .type \from, @function
  .p2align 4
\from:
  .cfi_startproc
  jmp *\to@GOTPCREL(%rip)
  .cfi_endproc
  .size \from, . - \from
.endm

  .text
  forward __morestack, weft_morestack
  forward __morestack_non_split, weft_morestack
  forward __morestack_allocate_stack_space, weft_morestack_allocate
  forward weft_preempt_check, weft_loop_check

/* Linking with -fsplit-stack turns pthread_create into this, and __real_pthread_create into pthread_create. Without it
 * there is no __real_pthread_create. */
  .weak __real_pthread_create
  .globl __wrap_pthread_create
  .hidden __wrap_pthread_create
  .type __wrap_pthread_create, @function
  .p2align 4
__wrap_pthread_create:
  .cfi_startproc
  movq __real_pthread_create@GOTPCREL(%rip), %rax
  testq %rax, %rax
  cmoveq pthread_create@GOTPCREL(%rip), %rax
  jmp *%rax
  .cfi_endproc
  .size __wrap_pthread_create, . - __wrap_pthread_create

  .section .note.GNU-stack, "", @progbits
#endif
