// SPDX-License-Identifier: MIT
#include "sched/observe/standstill.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "arch/interrupted_frame.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/keep_errno.h"
#include "os/memory.h"
#include "os/thread.h"
#include "sched/state/scheduler.h"
#include "sched/state/thread_signal.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kLookAgainNs = 50'000;

// Odd: threads are asked to stand still. One stopper at a time, because the world is stopped.
constinit base::Atom<std::uint32_t> round_number{0};
constinit base::Atom<StandingThread*> asked_threads{nullptr};
constinit base::Atom<std::size_t> asked_count{0};
constinit base::Atom<std::uint32_t> inside{0};  // handlers that may still read the list

// A file of /proc/self/task/TID, as text that ends with a zero. Returns its length.
std::size_t read_of_thread(pid_t tid, const char* file, char* text, std::size_t size) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, file);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = ::read(fd, text, size - 1);
  ::close(fd);
  const std::size_t length = got > 0 ? static_cast<std::size_t>(got) : 0;
  text[length] = 0;
  return length;
}

// "NUMBER ARGUMENT... STACK PC" of a thread that sleeps; "running" of one that does not.
std::uintptr_t sleeping_sp(pid_t tid) noexcept {
  char text[256];
  if (read_of_thread(tid, "syscall", text, sizeof text) == 0) return 0;
  char* pc = std::strrchr(text, ' ');
  if (pc == nullptr) return 0;
  *pc = 0;
  const char* sp = std::strrchr(text, ' ');
  return sp != nullptr ? std::strtoull(sp + 1, nullptr, 16) : 0;
}

bool hears(pid_t tid, int signal) noexcept {
  char text[4096];
  if (read_of_thread(tid, "status", text, sizeof text) == 0) return false;
  const char* blocked = std::strstr(text, "SigBlk:");
  return blocked != nullptr && (std::strtoull(blocked + 7, nullptr, 16) >> (signal - 1) & 1) == 0;
}

std::uintptr_t sp_of(const void* context) noexcept {
  constexpr std::uintptr_t kRedZone = 128;
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(machine.gregs[REG_RSP]) - kRedZone;
#else
  return machine.sp - kRedZone;
#endif
}

// The M whose thread this is: its own stack has no pointers of the user's below `sp`, and `is_in_call` tells whether its
// goroutine is in a blocking call.
struct OfMachine {
  bool found = false, is_in_call = false;
  std::uintptr_t sp = 0;
};
OfMachine machine_of(pid_t tid) noexcept {
  std::lock_guard guard(scheduler.machines_lock);
  for (const Machine* m = scheduler.all_machines; m != nullptr; m = m->all_next) {
    if (m->tid != tid || m->guard_slot == nullptr) continue;
    const Goroutine* g = m->current != nullptr ? m->current->g : nullptr;
    const bool is_in_call = g != nullptr && g->status.load_relaxed() == GStatus::kInCall;
    return {true, is_in_call, reinterpret_cast<std::uintptr_t>(m->base)};
  }
  return {};
}

}  // namespace

// The directory is read by system calls, because opendir() allocates.
void Standstill::list_threads() noexcept {
  struct Entry {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  const int fd = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  alignas(Entry) char buffer[4096];
  for (long got; (got = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0;) {
    for (long at = 0; at < got && count_ < kMaxThreads;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      if (const int tid = std::atoi(entry->name); tid > 0) threads_[count_++].tid = tid;
      at += entry->length;
    }
  }
  ::close(fd);
}

void Standstill::ask() noexcept {
  const int signal = scheduler.preempt_signal.load_relaxed();
  const pid_t own = os::thread_id();
  for (std::size_t i = 0; i < count_; ++i) {
    StandingThread& thread = threads_[i];
    const OfMachine machine = machine_of(thread.tid);
    thread.sp = machine.sp;
    if (thread.tid == own || signal == 0 || (machine.found && !machine.is_in_call)) continue;
    thread.is_asked = hears(thread.tid, signal) && send_preempt_signal(signal, thread.tid) == 0;
    asked_ += thread.is_asked;
  }
}

void Standstill::await() noexcept {
  const std::int64_t deadline = os::now_ns() + kPatienceNs;
  complete_ = true;
  for (std::size_t i = 0; i < count_; ++i) {
    StandingThread& thread = threads_[i];
    if (!thread.is_asked) {
      if (thread.sp == 0 && thread.tid != os::thread_id()) thread.sp = sleeping_sp(thread.tid);
      continue;
    }
    const void* context;
    while ((context = thread.context.load_acquire()) == nullptr && os::now_ns() < deadline) {  // pairs: standstill.context
      static constinit base::Atom<std::uint32_t> never{0};
      os::futex_wait(never, 0, os::now_ns() + kLookAgainNs);
    }
    if (context == nullptr)
      complete_ = false;
    else if (thread.sp == 0)
      thread.sp = sp_of(context);
  }
}

Standstill::Standstill() noexcept {
  threads_ = static_cast<StandingThread*>(os::reserve_memory(kMaxThreads * sizeof(StandingThread), "weft standstill"));
  if (threads_ == nullptr) return;
  list_threads();
  asked_threads.store_relaxed(threads_);
  asked_count.store_relaxed(count_);
  round_number.store_seq_cst(round_number.load_relaxed() + 1);  // pairs: standstill.round
  ask();
  await();
}

Standstill::~Standstill() {
  if (threads_ == nullptr) return;
  round_number.store_seq_cst(round_number.load_relaxed() + 1);  // pairs: standstill.round
  os::futex_wake(round_number, INT32_MAX);
  while (inside.load_seq_cst() != 0) {  // pairs: standstill.inside
    static constinit base::Atom<std::uint32_t> never{0};
    os::futex_wait(never, 0, os::now_ns() + kLookAgainNs);
  }
  os::release_memory(threads_, kMaxThreads * sizeof(StandingThread));
}

void stand_still_if_asked(const void* context) noexcept {
  if (WEFT_LIKELY((round_number.load_relaxed() & 1) == 0)) return;
  const os::KeepErrno keep;
  inside.fetch_add_seq_cst(1);                               // pairs: standstill.inside
  const std::uint32_t round = round_number.load_seq_cst();  // pairs: standstill.round
  if ((round & 1) != 0) {
    const pid_t own = os::thread_id();
    StandingThread* threads = asked_threads.load_relaxed();
    const std::size_t count = asked_count.load_relaxed();
    for (std::size_t i = 0; i < count; ++i) {
      if (threads[i].tid != own) continue;
      threads[i].context.store_release(context);  // pairs: standstill.context
      while (round_number.load_acquire() == round) os::futex_wait(round_number, round);  // pairs: standstill.round
      break;
    }
  }
  inside.fetch_sub_acq_rel(1);  // pairs: standstill.inside
}

}  // namespace weft::sched
