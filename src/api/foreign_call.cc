// SPDX-License-Identifier: MIT
#include "api/foreign_call.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <mutex>

#include "os/keep_errno.h"
#include "sched/core/handoff.h"
#include "sched/core/preempt.h"
#include "sched/core/thread_kept.h"
#include "sched/frames/foreign_frames.h"
#include "sched/frames/runtime_text.h"

namespace weft::api {
namespace {

using sched::Goroutine;
using sched::Machine;
using sched::scheduler;

// The kernel's mask of signals, which has 64 bits on all machines that weft runs on.
std::uint64_t blocked_signals() noexcept {
  std::uint64_t mask = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof mask);
  return mask;
}

// The mask that threads of the runtime have outside handlers, as the first walk has found it. With kKnown, because the
// mask itself may be 0: SIGKILL cannot be blocked, so its bit is free.
constexpr std::uint64_t kKnown = std::uint64_t{1} << (SIGKILL - 1);
constinit base::Atom<std::uint64_t> usual_mask{0};

bool is_outside_handlers(const Goroutine* g) noexcept {
  const std::uint64_t mask = blocked_signals() | kKnown;
  std::uint64_t usual = usual_mask.load_relaxed();
  if (WEFT_LIKELY(mask == usual)) return true;
  if (!sched::look_at_frames(g).may_give_way()) return false;
  if (usual == 0) usual_mask.cas_relaxed(usual, mask);
  return true;
}

bool is_on_stack_of(const Goroutine* g) noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return here >= reinterpret_cast<std::uintptr_t>(g->stack_bottom) && here < reinterpret_cast<std::uintptr_t>(g);
}

// Without a P: in an announced call, or computing on without one?
bool has_announced_call() noexcept {
  const Machine* m = os::current_m();
  return m == nullptr || !m->exiled.load_relaxed() || m->nested_calls > 0;
}

__attribute__((noinline)) int* own_errno() noexcept {
  asm volatile("" ::: "memory");
  return &errno;
}

}  // namespace

bool is_goroutine_call(const void* caller) noexcept {
  const Goroutine* g = os::current_g();
  if (g == nullptr || scheduler.forked.load_relaxed()) return false;
  if (os::current_p() == nullptr && has_announced_call()) return false;
  return sched::knows_runtime_text() && !sched::in_runtime(reinterpret_cast<std::uintptr_t>(caller));
}

static bool may_wait_on_this_stack(const Goroutine* g) noexcept {
  if (!is_on_stack_of(g) || g->no_preempt >= sched::kLockHeld) return false;
  if (g->no_preempt > 0 && scheduler.world_stopping.load_relaxed()) return false;  // it may be the one that stops it
  return !scheduler.exiting.load_relaxed() && gettid() == os::current_m()->tid;
}

bool may_wait_here() noexcept {
  const os::KeepErrno keep;
  const Goroutine* g = os::current_g();
  return may_wait_on_this_stack(g) && is_outside_handlers(g);
}

bool may_wait_with_locks() noexcept {
  const os::KeepErrno keep;
  const Goroutine* g = os::current_g();
  return may_wait_on_this_stack(g) && sched::look_at_frames(g).may_give_way();
}

void enter_foreign_call() noexcept {
  const os::KeepErrno keep;
  Machine* m = os::current_m();
  if (WEFT_UNLIKELY(os::current_p() == nullptr) && !sched::exile_enters_call()) {
    ++m->nested_calls;
    return;
  }
  m->call_frame = *static_cast<void* const*>(__builtin_frame_address(0));
  m->call_pc = __builtin_return_address(0);
  if (os::current_p() != nullptr) sched::enter_call();
}

void leave_foreign_call() noexcept {
  Machine* m = os::current_m();
  if (m->nested_calls > 0) {
    --m->nested_calls;
  } else {
    sched::leave_call(true);
  }
}

void leave_foreign_call_on_thread() noexcept {
  Machine* m = os::current_m();
  if (m->nested_calls > 0) {
    --m->nested_calls;
    return;
  }
  const sched::ThreadKept kept(os::current_g(), true);
  sched::leave_call();
}

bool keeps_thread() noexcept { return os::current_g()->lock_depth > 0; }

ErrnoPlace::ErrnoPlace() noexcept : machine_(os::current_m()) {}

void ErrnoPlace::fail(int error) const noexcept {
  *own_errno() = error;
  if (WEFT_LIKELY(machine_ == os::current_m()) || machine_ == nullptr) return;
  std::lock_guard guard(scheduler.machines_lock);  // the thread cannot end meanwhile
  if (machine_->guard_slot != nullptr) *machine_->errno_address = error;
}

}  // namespace weft::api
