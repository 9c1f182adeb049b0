// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "sched/queue/runnable.h"

// What the scheduler asks of the service that waits for descriptors (service/netpoll.h).
//   Looking     An M that holds a P and has nothing else to do looks without blocking, one M at a time. Sysmon looks
//               if no M has looked for 10 ms.
//   Blocking    One M at a time blocks in the source instead of on its note: the last M to retire (without a P), or the
//               passive spinner (with its P). Note::signal() tells a waker that the M blocks there, and the waker then
//               interrupts the source.
//   Watched     N1: while descriptors are registered and every P is idle, some M blocks in the source. While a P is
//               busy, a spinner beside it (idle_word.h W2) looks. Without a spinner, the M that retires blocks in the
//               source. Sysmon covers what is left.
//   Deadlock    NetworkWatch::waiting counts the goroutines and threads that wait for a descriptor. Each counts itself
//               before it parks, and takes itself off after it runs again. So a wake-up that is under way never looks
//               like a deadlock.
//   Checked     tests/model/netpoll.pml: in every interleaving of threads that block, look, add timers, register and
//               wake each other, no timer and no ready descriptor is left without a watcher.
namespace weft::sched {

struct Machine;

class WorkSource {
 public:
  // Appends the goroutines that have become runnable, and wakes plain threads.
  virtual void look(RunnableList& ready) noexcept = 0;
  virtual void wait(std::int64_t deadline_ns, RunnableList& ready) noexcept = 0;
  virtual void interrupt() noexcept = 0;

 protected:
  ~WorkSource() = default;
};

struct NetworkWatch {
  base::Atom<WorkSource*> source{nullptr};  // set once, at the first descriptor
  base::Atom<std::int64_t> registered{0};   // descriptors
  base::Atom<std::int64_t> waiting{0};      // goroutines and threads that wait for one
  base::Atom<Machine*> blocked{nullptr};    // the M that blocks in the source
  base::Atom<bool> looking{false};          // a thread looks without blocking
  base::Atom<std::int64_t> looked_at_ns{0};
};

}  // namespace weft::sched
