// SPDX-License-Identifier: MIT
#pragma once
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

// Makes system calls fail, as containers and hardened systems do.
namespace weft::test {

struct Denied {
  long call;
  int error;
  int argument = -1;        // only if this argument ...
  std::uint32_t value = 0;  // ... has this value in its low half
};

// For all threads, those to come included. False: this system has no such filters.
inline bool deny(std::initializer_list<Denied> calls) {
#if defined(__x86_64__)
  constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
  constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif
  const auto statement = [](int code, std::uint32_t operand) {
    return sock_filter{static_cast<std::uint16_t>(code), 0, 0, operand};
  };
  const auto jump_unless_equal = [](std::uint32_t operand, int skip) {
    return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, static_cast<std::uint8_t>(skip), operand};
  };
  std::vector<sock_filter> program;
  program.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  program.push_back(jump_unless_equal(kArchitecture, 0));
  for (const Denied& denied : calls) {
    program.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    program.push_back(jump_unless_equal(static_cast<std::uint32_t>(denied.call), denied.argument < 0 ? 1 : 3));
    if (denied.argument >= 0) {
      const auto at = offsetof(seccomp_data, args) + sizeof(std::uint64_t) * static_cast<std::size_t>(denied.argument);
      program.push_back(statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at)));
      program.push_back(jump_unless_equal(denied.value, 1));
    }
    program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(denied.error)));
  }
  program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

}  // namespace weft::test
