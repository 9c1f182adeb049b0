// SPDX-License-Identifier: MIT
#include "arch/interrupted_call.h"

#include <ucontext.h>
#include <cerrno>
#include <cstring>

#include "base/sanitizer.h"

namespace weft::arch {
namespace {

#if defined(__x86_64__)
constexpr unsigned char kInstruction[] = {0x0f, 0x05};  // syscall
#elif defined(__aarch64__)
constexpr unsigned char kInstruction[] = {0x01, 0x00, 0x00, 0xd4};  // svc #0
#endif
constexpr std::uintptr_t kBytes = sizeof kInstruction;
constexpr std::uintptr_t kPage = 4096;  // the smallest; code beyond the program counter's page may not be readable

WEFT_NOT_INSTRUMENTED bool is_call(std::uintptr_t address) noexcept {
  const auto* code = reinterpret_cast<const volatile unsigned char*>(address);
  for (std::uintptr_t i = 0; i < kBytes; ++i)
    if (code[i] != kInstruction[i]) return false;
  return true;
}

}  // namespace

CallState interrupted_call_state(const void* ucontext) noexcept {
  const auto& context = static_cast<const ucontext_t*>(ucontext)->uc_mcontext;
#if defined(__x86_64__)
  const auto pc = static_cast<std::uintptr_t>(context.gregs[REG_RIP]);
  const bool failed = context.gregs[REG_RAX] == -EINTR;
#elif defined(__aarch64__)
  const auto pc = static_cast<std::uintptr_t>(context.pc);
  const bool failed = static_cast<std::int64_t>(context.regs[0]) == -EINTR;
#endif
  const std::uintptr_t in_page = pc % kPage;
  if (in_page <= kPage - kBytes && is_call(pc)) return CallState::kInside;
  if (in_page < kBytes || !is_call(pc - kBytes)) return CallState::kOutside;
  return failed ? CallState::kInside : CallState::kBehind;
}

}  // namespace weft::arch
