// SPDX-License-Identifier: MIT
#include "sched/core/machine_loop.h"

#include <cxxabi.h>
#include <cerrno>
#include <mutex>

#include "os/thread.h"
#include "os/time_slice.h"
#include "sched/core/attention.h"
#include "sched/core/dispatch.h"
#include "sched/core/machines.h"
#include "sched/core/idle_machine.h"
#include "sched/core/search.h"
#include "sched/model/hooks.h"
#include "sched/state/scheduler.h"

extern "C" thread_local constinit weft::os::Current weft_current __attribute__((tls_model("initial-exec")));

namespace weft::sched {
namespace {

// A42 (a locked goroutine was picked): g runs on its own thread only. That thread's M gets g and, with it, this M's P.
void hand_to_locked_machine(Machine& m, Goroutine* g) noexcept {
  Machine& target = *g->locked_m;
  Processor& p = release_processor(m);
  p.counters.bump(Counter::kLockedHandoffs);
  target.next_runnable = Runnable(g);
  target.next_spinning = false;
  target.next_p.store_release(&p);  // pairs: machine.next_p
  signal_machine(target);
}

// A41 (a locked goroutine blocks): the goroutine locked to this thread is not running. The P goes to another M at once,
// and this thread sleeps until it is given its goroutine and a P.
void wait_for_locked_goroutine(Machine& m) noexcept {
  if (m.p != nullptr) {
    const Runnable handed = m.handed;
    m.handed = Runnable();
    if (handed) policy().ready(*m.p, handed, Why::kReturned);
    pass_processor(release_processor(m), Waker::kBlocks);
  }
  scheduler.locked_machines.fetch_add_relaxed(1);  // statistics and the thread-limit check
  Processor* p;
  while ((p = m.next_p.load_acquire()) == nullptr) m.note.wait();  // pairs: machine.next_p
  scheduler.locked_machines.fetch_add_relaxed(static_cast<std::uint32_t>(-1));
  accept_processor(m, *p);
}

void free_dead_goroutine(Machine& m) noexcept {
  Goroutine* g = m.dead;
  m.dead = nullptr;
  if ((g->flags & kGUnguarded) != 0 && !StackPool::canary_intact(g))
    base::fatal("goroutine: stack overflow (limit %u KiB; this kernel gives no guard page for it)",
                g->stack_bytes / 1024);
  if ((g->flags & kGLocked) != 0) {  // ended while locked: it may have changed its thread, so the thread ends too
    g->flags = static_cast<std::uint8_t>(g->flags & ~kGLocked);
    g->locked_m = nullptr;
    g->lock_depth = 0;
    m.locked_g = nullptr;
    m.must_exit = true;
    scheduler.locked_goroutines.fetch_add_relaxed(static_cast<std::uint32_t>(-1));
  }
  if ((g->flags & kGOwnStack) != 0) {
    scheduler.stacks.give_sized(g);
  } else {
    scheduler.stacks.give(*m.p, g);
  }
  if (!m.handed && !m.must_exit && !scheduler.starved.empty()) m.handed = scheduler.starved.pop();
}

void machine_loop(Machine& m) noexcept {
  for (;;) {
    if (m.dead != nullptr) free_dead_goroutine(m);
    if (m.must_exit) return;
    if (m.locked_g != nullptr) {
      wait_for_locked_goroutine(m);
    } else if (m.p == nullptr && !wait_for_processor(m)) {
      return;
    }
    Runnable next = m.handed;
    m.handed = Runnable();
    if (WEFT_UNLIKELY(m.p->attention.load_relaxed() != 0)) {
      if (next) policy().ready(*m.p, next, Why::kReturned);
      // A thread with a locked goroutine never goes to the idle list: it waits for that goroutine alone.
      if (!attend(m) || m.locked_g != nullptr) continue;
      next = Runnable();  // search, which begins with due timers
    }
    if (!next) next = find_runnable(m);
    if (!next) return;
    if (!next.is_record() && (next.goroutine()->flags & kGLocked) != 0 && next.goroutine()->locked_m != &m) {
      hand_to_locked_machine(m, next.goroutine());
      continue;
    }
    execute_on_system_stack(m, next);
  }
}

void retire_machine(Machine& m) noexcept {
  if (m.p != nullptr) {
    if (m.handed) policy().ready(*m.p, m.handed, Why::kReturned);
    pass_processor(release_processor(m), Waker::kBlocks);
  }
  os::set_current_m(nullptr);
  m.alive.store_release(false);  // pairs: machine.alive
  std::lock_guard guard(scheduler.machines_lock);
  m.current = nullptr;
  m.free_next = scheduler.free_machines;
  scheduler.free_machines = &m;
  scheduler.threads.fetch_add_relaxed(static_cast<std::uint32_t>(-1));
}

}  // namespace

void machine_main(void* argument) {
  auto& m = *static_cast<Machine*>(argument);
  os::SignalStack signal_stack;
  os::ask_for_precise_timers();
  os::ask_for_short_slices();
  const os::StackBounds stack = os::current_thread_stack();
  arch::fiber_adopt_thread(m.fiber, stack.bottom, stack.size);
  m.errno_address = &errno;
  arch::fiber_switches(&errno, sizeof errno);
  m.exceptions = reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
  m.current = &weft_current;
  m.base = __builtin_frame_address(0);
  m.signal_stack = signal_stack.bounds();
  m.tid = os::thread_id();
  os::set_current_m(&m);
  m.alive.store_release(true);  // pairs: machine.alive
  hooks.thread_started();
  accept_processor(m, *m.next_p.load_acquire());  // pairs: machine.next_p
  machine_loop(m);
  hooks.thread_ending();
  retire_machine(m);
}

}  // namespace weft::sched
