// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "sched/queue/runnable.h"

// What the scheduler asks of the service that waits for descriptors (service/netpoll.h).
//   Looking     an M that holds a P and has nothing else looks without blocking, one M at a time; sysmon does when nobody has
//               for 10 ms.
//   Blocking    one M at a time blocks in it instead of on its note: the last to retire (no P), or the passive spinner (with its
//               P). Who signals that M's note is told by Note::signal(), and interrupts.
//   Watched     while descriptors are registered and every P is idle, some M blocks in it (N1). With a busy P there is a spinner
//               beside it (W2) that looks; without one the M that retires blocks in it; sysmon covers what is left.
//   Deadlock    waiting counts those who wait for a descriptor. They count themselves, before they park and after they run
//               again, so that there is no moment in which a wake-up under way looks like a deadlock.
//   Checked     tests/model/netpoll.pml: in every interleaving of those who block, look, add timers, register and wake each other
//               no timer and no ready descriptor is left alone.
namespace weft::sched {

struct Machine;

class WorkSource {
 public:
  // Appends the goroutines that have become runnable; plain threads are woken.
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
  base::Atom<Machine*> blocked{nullptr};    // the M that blocks in it
  base::Atom<bool> looking{false};          // somebody looks without blocking
  base::Atom<std::int64_t> looked_at_ns{0};
};

}  // namespace weft::sched
