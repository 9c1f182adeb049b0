// SPDX-License-Identifier: MIT
#include "arch/restart_call.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>

#include "arch/first_argument.h"

namespace weft::arch {
namespace {

// Calls that have done nothing yet when they return -EINTR. Some of them newer architectures do not have.
bool waits_only(std::int64_t number) noexcept {
  switch (number) {
#if defined(__x86_64__)
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
    case SYS_pause:
#endif
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_futex:
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_io_getevents:
    case SYS_rt_sigtimedwait: return true;
    default:                  return false;
  }
}

constexpr std::uintptr_t kPage = 4096;  // the smallest; no code is read beyond the page of the call

#if defined(__x86_64__)
constexpr std::uintptr_t kSyscallBytes = 2, kNumberBytes = 5, kMostLoads = 15;

// Length of an instruction that loads a register from another or from the stack; 0: it is another one.
std::uintptr_t length_of_load(const unsigned char* code) noexcept {
  const std::uintptr_t prefix = (code[0] & 0xf0) == 0x40 ? 1 : 0;
  const unsigned char operation = code[prefix], operands = code[prefix + 1];
  if (operation != 0x89 && operation != 0x8b) return 0;
  if ((operands & 0xc0) == 0xc0) return prefix + 2;
  return operation == 0x8b && (operands & 0xc7) == 0x44 && code[prefix + 2] == 0x24 ? prefix + 4 : 0;
}

// mov $number, %eax; loads of arguments; syscall. The number; -1: it is not so.
std::int64_t call_before(std::uintptr_t pc) noexcept {
  const auto* call = reinterpret_cast<const unsigned char*>(pc - kSyscallBytes);
  if (call[0] != 0x0f || call[1] != 0x05) return -1;
  if (call[-2] == 0x31 && call[-1] == 0xc0) return SYS_read;  // xor %eax, %eax
  for (std::uintptr_t gap = 0; gap <= kMostLoads; ++gap) {
    const unsigned char* code = call - gap - kNumberBytes;
    if (*code != 0xb8) continue;
    std::uint32_t number;
    std::memcpy(&number, code + 1, sizeof number);
    code += kNumberBytes;
    while (code < call) {
      const std::uintptr_t length = length_of_load(code);
      if (length == 0) break;
      code += length;
    }
    if (code == call) return number;
  }
  return -1;
}
#endif

}  // namespace

#if defined(__x86_64__)
bool restart_interrupted_call(void* ucontext) noexcept {
  auto& registers = static_cast<ucontext_t*>(ucontext)->uc_mcontext.gregs;
  const auto pc = static_cast<std::uintptr_t>(registers[REG_RIP]);
  // The page before may not be there.
  if (registers[REG_RAX] != -EINTR || pc % kPage < kSyscallBytes + kMostLoads + kNumberBytes) return false;
  const std::int64_t number = call_before(pc);
  if (!waits_only(number)) return false;
  if (number == SYS_nanosleep && registers[REG_RSI] != 0) registers[REG_RDI] = registers[REG_RSI];
  constexpr greg_t kAbsolute = 1;
  if (number == SYS_clock_nanosleep && (registers[REG_RSI] & kAbsolute) == 0 && registers[REG_R10] != 0)
    registers[REG_RDX] = registers[REG_R10];  // the rest
  registers[REG_RAX] = number;
  registers[REG_RIP] = static_cast<greg_t>(pc - kSyscallBytes);
  return true;
}
#elif defined(__aarch64__)
bool restart_interrupted_call(void* ucontext) noexcept {
  auto& context = static_cast<ucontext_t*>(ucontext)->uc_mcontext;
  const std::uintptr_t within = context.pc % kPage;
  if (static_cast<std::int64_t>(context.regs[0]) != -EINTR || within < sizeof(aarch64::Instruction)) return false;
  const std::span code(reinterpret_cast<const aarch64::Instruction*>(context.pc - within),
                       kPage / sizeof(aarch64::Instruction));
  const std::size_t call = within / sizeof(aarch64::Instruction) - 1;
  const auto number = static_cast<std::int64_t>(context.regs[8]);
  if (code[call] != aarch64::kSystemCall || !waits_only(number)) return false;
  aarch64::Registers now{};
  std::memcpy(now.general, context.regs, sizeof now.general);
  now.stack = context.sp;
  const auto first = aarch64::first_argument(code, call, now);
  if (!first) return false;
  context.regs[0] = *first;
  if (number == SYS_nanosleep && context.regs[1] != 0) context.regs[0] = context.regs[1];
  constexpr std::uint64_t kAbsolute = 1;
  if (number == SYS_clock_nanosleep && (context.regs[1] & kAbsolute) == 0 && context.regs[3] != 0)
    context.regs[2] = context.regs[3];  // the rest
  context.pc -= sizeof(aarch64::Instruction);
  return true;
}
#endif

}  // namespace weft::arch
