// SPDX-License-Identifier: MIT
#include "os/time_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/keep_errno.h"

namespace weft::os {
namespace {

// The kernel's struct sched_attr as of its first version: the C library's headers define it in newer versions only.
struct Attributes {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime_ns, deadline_ns, period_ns;
};
static_assert(sizeof(Attributes) == 48);

}  // namespace

bool ask_for_short_slices() noexcept {
  const KeepErrno keep;
  Attributes now{};
  if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0) return false;
  if (now.policy != SCHED_OTHER && now.policy != SCHED_BATCH)
    return false;  // real-time threads have no slices of this kind
  now.size = sizeof now;
  now.runtime_ns = kShortSliceNs;
  if (syscall(SYS_sched_setattr, 0, &now, 0) != 0) return false;
  return syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) == 0 && now.runtime_ns == kShortSliceNs;
}

}  // namespace weft::os
