// SPDX-License-Identifier: MIT
#include "arch/inject.h"

#include <ucontext.h>

#include "arch/vector_state.h"

namespace weft::arch {

#if defined(__x86_64__)

namespace {
constexpr std::uintptr_t kRedZone = 128;
}

std::uintptr_t interrupted_stack_pointer(const void* ucontext) noexcept {
  return static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(ucontext)->uc_mcontext.gregs[REG_RSP]);
}

bool inject_call(void* ucontext) noexcept {
  if (weft_vector_state.mask == 0) return false;
  auto& registers = static_cast<ucontext_t*>(ucontext)->uc_mcontext.gregs;
  const std::uintptr_t sp = static_cast<std::uintptr_t>(registers[REG_RSP]) - kRedZone - sizeof(std::uintptr_t);
  *reinterpret_cast<std::uintptr_t*>(sp) = static_cast<std::uintptr_t>(registers[REG_RIP]);
  registers[REG_RSP] = static_cast<greg_t>(sp);
  registers[REG_RIP] = reinterpret_cast<greg_t>(&weft_injected);
  return true;
}

#else

std::uintptr_t interrupted_stack_pointer(const void*) noexcept { return 0; }
bool inject_call(void*) noexcept { return false; }

#endif

}  // namespace weft::arch
