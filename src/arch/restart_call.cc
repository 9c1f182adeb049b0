// SPDX-License-Identifier: MIT
#include "arch/restart_call.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unwind.h>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <span>

#include "arch/first_argument.h"
#include "base/sanitizer.h"

namespace weft::arch {
namespace {

// Calls that have done nothing yet when they return -EINTR. Newer architectures lack some of them.
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

// Where the kernel writes the rest of a sleep whose caller has no place for it. One per thread is enough, because a
// thread sleeps once at a time, and a handler that sleeps has ended the call it interrupted.
thread_local constinit timespec rest_of_sleep __attribute__((tls_model("initial-exec"))){};

// Makes a sleep that is made again wait for the rest only. If it had no place for the rest, it waits in full once more,
// and gets a place.
template <class Register>
void sleep_on(Register& span, Register& rest) noexcept {
  if (rest != 0) {
    span = rest;
  } else {
    rest = reinterpret_cast<Register>(&rest_of_sleep);
  }
}

constexpr std::uintptr_t kCodePage = 4096;  // the smallest; code beyond the page of the call is not read

#if defined(__x86_64__)
constexpr std::uintptr_t kSyscallBytes = 2, kNumberBytes = 5, kMostLoads = 15;
constexpr std::int64_t kUnknown = -1;

WEFT_NOT_INSTRUMENTED std::int64_t word_at(std::uintptr_t address) noexcept {
  return *reinterpret_cast<const volatile std::int64_t*>(address);
}

// Length of an instruction that loads a register other than %rax from a register or the stack; 0: another instruction.
std::uintptr_t length_of_load(const unsigned char* code) noexcept {
  constexpr unsigned char kTargetIsHigh = 1, kLoadsHigh = 4;  // prefix bits: one of %r8 to %r15
  const std::uintptr_t prefix = (code[0] & 0xf0) == 0x40 ? 1 : 0;
  const unsigned char operation = code[prefix], operands = code[prefix + 1];
  if (operation != 0x89 && operation != 0x8b) return 0;
  const unsigned target = operation == 0x89 ? operands & 7 : operands >> 3 & 7;
  const unsigned char high = operation == 0x89 ? kTargetIsHigh : kLoadsHigh;
  if (target == 0 && (prefix == 0 || (code[0] & high) == 0)) return 0;
  if ((operands & 0xc0) == 0xc0) return prefix + 2;
  return operation == 0x8b && (operands & 0xc7) == 0x44 && code[prefix + 2] == 0x24 ? prefix + 4 : 0;
}

// mov $number, %eax; loads of arguments; syscall.
std::int64_t number_in_code(const unsigned char* call) noexcept {
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
  return kUnknown;
}

#if defined(__GLIBC__)
// glibc from 2.41 on makes all cancellable calls in one function, which gets the number as its seventh argument: on the
// stack, where it stays. If the thread is the only one or is not to be cancelled, the call is made there. Otherwise it
// is made in a function written in assembly, which has everything in registers and overwrites the number. musl has the
// same assembly function, but another caller of it.
std::int64_t number_in_own_frame(const unsigned char* call, const gregset_t& registers) noexcept {
  const auto at = [&](int base, unsigned char distance) {
    return word_at(static_cast<std::uintptr_t>(registers[base] + static_cast<signed char>(distance)));
  };
  if (std::memcmp(call - 5, "\x48\x8b\x44\x24", 4) == 0) return at(REG_RSP, call[-1]);  // mov 16(%rsp), %rax
  if (std::memcmp(call - 4, "\x48\x8b\x45", 3) == 0) return at(REG_RBP, call[-1]);      // mov 16(%rbp), %rax
  return kUnknown;
}

bool is_the_one_place(const unsigned char* call) noexcept {
  constexpr unsigned char kLast[] = {0x4c, 0x8b, 0x44, 0x24, 0x08,   // mov 8(%rsp), %r8
                                     0x4c, 0x8b, 0x4c, 0x24, 0x10,   // mov 16(%rsp), %r9
                                     0x4c, 0x89, 0x5c, 0x24, 0x08};  // mov %r11, 8(%rsp)
  static_assert(sizeof kLast <= kMostLoads);
  return std::memcmp(call - sizeof kLast, kLast, sizeof kLast) == 0;
}

struct NumberOfCaller {
  const std::uintptr_t pc;
  std::size_t frames = 0, outwards = 0;
  std::int64_t number = kUnknown;
};

// A function's stack arguments begin where its frame ends. The unwinder gives that address (the CFA) with the
// function's caller.
_Unwind_Reason_Code next_frame(_Unwind_Context* context, void* data) {
  constexpr std::size_t kMostOfHandler = 32, kCallers = 2;
  NumberOfCaller& search = *static_cast<NumberOfCaller*>(data);
  if (search.outwards == 0) {
    int interrupted = 0;
    const std::uintptr_t pc = _Unwind_GetIPInfo(context, &interrupted);
    if (interrupted == 0 || pc != search.pc)
      return ++search.frames < kMostOfHandler ? _URC_NO_REASON : _URC_END_OF_STACK;
  }
  if (search.outwards++ < kCallers) return _URC_NO_REASON;
  search.number = word_at(_Unwind_GetCFA(context));
  return _URC_END_OF_STACK;
}
#endif

// The number of the system call just before `pc`.
std::int64_t number_of_call(std::uintptr_t pc, [[maybe_unused]] const gregset_t& registers,
                            [[maybe_unused]] bool may_unwind) noexcept {
  const auto* call = reinterpret_cast<const unsigned char*>(pc - kSyscallBytes);
  if (call[0] != 0x0f || call[1] != 0x05) return kUnknown;
  std::int64_t number = number_in_code(call);
#if defined(__GLIBC__)
  if (number == kUnknown) number = number_in_own_frame(call, registers);
  if (number == kUnknown && may_unwind && is_the_one_place(call)) {
    NumberOfCaller search{pc};
    _Unwind_Backtrace(next_frame, &search);
    number = search.number;
  }
#endif
  return number;
}
#endif

}  // namespace

#if defined(__x86_64__)
bool restart_interrupted_call(void* ucontext, bool may_unwind) noexcept {
  auto& registers = static_cast<ucontext_t*>(ucontext)->uc_mcontext.gregs;
  const auto pc = static_cast<std::uintptr_t>(registers[REG_RIP]);
  // The page before may not be mapped.
  if (registers[REG_RAX] != -EINTR || pc % kCodePage < kSyscallBytes + kMostLoads + kNumberBytes) return false;
  const std::int64_t number = number_of_call(pc, registers, may_unwind);
  if (!waits_only(number)) return false;
  constexpr greg_t kAbsolute = 1;
  if (number == SYS_nanosleep) sleep_on(registers[REG_RDI], registers[REG_RSI]);
  if (number == SYS_clock_nanosleep && (registers[REG_RSI] & kAbsolute) == 0)
    sleep_on(registers[REG_RDX], registers[REG_R10]);
  registers[REG_RAX] = number;
  registers[REG_RIP] = static_cast<greg_t>(pc - kSyscallBytes);
  return true;
}
#elif defined(__aarch64__)
bool restart_interrupted_call(void* ucontext, bool) noexcept {
  auto& context = static_cast<ucontext_t*>(ucontext)->uc_mcontext;
  const std::uintptr_t within = context.pc % kCodePage;
  if (static_cast<std::int64_t>(context.regs[0]) != -EINTR || within < sizeof(aarch64::Instruction)) return false;
  const std::span code(reinterpret_cast<const aarch64::Instruction*>(context.pc - within),
                       kCodePage / sizeof(aarch64::Instruction));
  const std::size_t call = within / sizeof(aarch64::Instruction) - 1;
  const auto number = static_cast<std::int64_t>(context.regs[8]);
  if (code[call] != aarch64::kSystemCall || !waits_only(number)) return false;
  aarch64::Registers now{};
  std::memcpy(now.general, context.regs, sizeof now.general);
  now.stack = context.sp;
  const auto first = aarch64::first_argument(code, call, now);
  if (!first) return false;
  context.regs[0] = *first;
  constexpr std::uint64_t kAbsolute = 1;
  if (number == SYS_nanosleep) sleep_on(context.regs[0], context.regs[1]);
  if (number == SYS_clock_nanosleep && (context.regs[1] & kAbsolute) == 0) sleep_on(context.regs[2], context.regs[3]);
  context.pc -= sizeof(aarch64::Instruction);
  return true;
}
#endif

}  // namespace weft::arch
