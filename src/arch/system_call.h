// SPDX-License-Identifier: MIT
#pragma once

// A system call that bypasses the C library: the result, or -errno.
//   Why       the C library's recv and send are cancellation points, and its syscall() moves every argument once more.
//             All of them report by errno, which belongs to the thread. A goroutine that may go on as another thread
//             must not keep errno's address, so each call would need a function of its own.
//   Not for   calls that may block: the code that restarts interrupted calls (restart_call.h) knows only those of the C
//             library.
namespace weft::arch {

inline long system_call(long number, long first, long second, long third, long fourth, long fifth,
                        long sixth) noexcept {
#if defined(__x86_64__)
  register long r10 asm("r10") = fourth;
  register long r8 asm("r8") = fifth;
  register long r9 asm("r9") = sixth;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "0"(number), "D"(first), "S"(second), "d"(third), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = first;
  register long x1 asm("x1") = second;
  register long x2 asm("x2") = third;
  register long x3 asm("x3") = fourth;
  register long x4 asm("x4") = fifth;
  register long x5 asm("x5") = sixth;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "weft runs on x86_64 and aarch64"
#endif
}

}  // namespace weft::arch
