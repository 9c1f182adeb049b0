// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"

// With the world stopped: the threads outside of it stand still for a moment, too. These are plain threads, and
// goroutines in blocking calls. Each waits in the handler of the preemption signal, so its registers are in memory,
// where a search for pointers sees them (leak_search.h).
//   Calls     that the signal interrupts are made again (arch/restart_call.h).
//   Locks     A thread may stand still while it has any lock, also that of the allocator. Meanwhile the caller must not
//             allocate, and must not want a lock.
//   Missed    Threads that have blocked the signal are not asked. Threads that do not answer within kPatienceNs (the
//             kernel does not let them) are not waited for. Their registers stay unknown.
//   Orders    handler: context by store, release  --  stopper: load, acquire. (pairs: standstill.context)
//             handler: counts itself inside, then reads the round  --  stopper: changes the round, then reads the
//             count. All four seq_cst: either the handler sees that it is over, or the stopper waits for the handler
//             before it frees the list. (pairs: standstill.round, standstill.inside)
namespace weft::sched {

// A thread, and from where its stack is in use.
struct StandingThread {
  pid_t tid = 0;
  bool is_asked = false;
  base::Atom<const void*> context{nullptr};  // of its signal handler, while it stands still there
  std::uintptr_t sp = 0;                     // 0: not known
};

class Standstill {
 public:
  Standstill() noexcept;  // asks the threads, and waits for them
  ~Standstill();          // lets them go
  Standstill(const Standstill&) = delete;

  bool complete() const noexcept { return complete_; }  // every thread that should answer has done so
  std::size_t asked() const noexcept { return asked_; }
  const StandingThread* begin() const noexcept { return threads_; }
  const StandingThread* end() const noexcept { return threads_ + count_; }

 private:
  static constexpr std::size_t kMaxThreads = 16'384;
  static constexpr std::int64_t kPatienceNs = 1'000'000'000;
  void list_threads() noexcept;
  void ask() noexcept;
  void await() noexcept;

  StandingThread* threads_ = nullptr;
  std::size_t count_ = 0, asked_ = 0;
  bool complete_ = false;
};

// In the handler of the preemption signal, on any thread. Returns at once if the thread was not asked.
void stand_still_if_asked(const void* context) noexcept;

}  // namespace weft::sched
