// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// The stack guard: the word that compiled-in checks compare the stack pointer with.
//   Meaning   sp below it: a check calls the runtime, because either too little stack is left or the goroutine shall
//             give way (the word is then the largest number, kGiveWay). 0: never. Plain threads start with 0.
//   Where     x86-64: %fs:0x70, the word that glibc's thread control block reserves for -fsplit-stack, whose prologues
//             read it. aarch64: the thread-local weft_preempt_guard (preempt_check.h), which only our compiler plugin
//             knows.
//   Writers   the thread itself. Other threads store only kGiveWay, through the address from stack_guard_slot().
namespace weft::arch {

inline constexpr std::uintptr_t kGiveWay = ~std::uintptr_t{0};

#if defined(__x86_64__)
inline void set_stack_guard(std::uintptr_t guard) noexcept { asm volatile("movq %0, %%fs:0x70" : : "r"(guard)); }
inline std::uintptr_t stack_guard() noexcept {
  std::uintptr_t guard;
  asm volatile("movq %%fs:0x70, %0" : "=r"(guard));
  return guard;
}
inline volatile std::uintptr_t* stack_guard_slot() noexcept {
  char* thread;
  asm("movq %%fs:0, %0" : "=r"(thread));
  return reinterpret_cast<volatile std::uintptr_t*>(thread + 0x70);
}
#else
void set_stack_guard(std::uintptr_t guard) noexcept;
std::uintptr_t stack_guard() noexcept;
volatile std::uintptr_t* stack_guard_slot() noexcept;
#endif

}  // namespace weft::arch
