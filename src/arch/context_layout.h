/* SPDX-License-Identifier: MIT
 * Layout of a suspended context, shared by the assembly and C++. Offsets from the saved stack pointer. */
#ifndef WEFT_ARCH_CONTEXT_LAYOUT_H
#define WEFT_ARCH_CONTEXT_LAYOUT_H

#if defined(__x86_64__)
#define WEFT_CONTEXT_SIZE 56 /* r15 r14 r13 r12 rbx rbp rip */
#define WEFT_CONTEXT_FRAME_POINTER 40
#define WEFT_CONTEXT_RESUME 48
#elif defined(__aarch64__)
#define WEFT_CONTEXT_SIZE 160 /* x19..x28 d8..d15 x29 x30 */
#define WEFT_CONTEXT_FRAME_POINTER 144
#define WEFT_CONTEXT_RESUME 152
#endif

#endif
