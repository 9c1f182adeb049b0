// SPDX-License-Identifier: MIT
#include "os/process_barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <ctime>

#include "os/keep_errno.h"

namespace weft::os {
namespace {

bool ask_kernel(int command) noexcept {
  const KeepErrno keep;
  return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

bool enable_process_barrier() noexcept { return ask_kernel(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }
bool process_barrier() noexcept { return ask_kernel(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

void wait_instead_of_barrier() noexcept {
  const KeepErrno keep;
  timespec pause{0, 1'000'000};
  while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
  }
}

}  // namespace weft::os
