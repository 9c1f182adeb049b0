// SPDX-License-Identifier: MIT
#include <unwind.h>
#include <string>

#include "api/start.h"
#include "api/thread_locals.h"
#include "os/code_range.h"
#include "sched/core/dispatch.h"
#include "sched/core/handoff.h"
#include "sched/core/machines.h"
#include "sched/core/preempt.h"
#include "sched/state/control.h"
#include "sched/state/locals.h"
#include "sched/tracing/trace_points.h"
#include "sched/wait/sleep.h"
#include "sched/wait/waiter.h"
#include "weft/go.h"

// What a goroutine asks of itself: identity, yield, sleep, exit, thread locking, blocking calls, locals.
namespace weft {
namespace {

sched::Goroutine* require_goroutine(const char* what) {
  if (sched::regain_processor() != nullptr) return os::current_g();
  throw logic_error(std::string("weft: ") + what +
                    (os::current_g() != nullptr ? ": a goroutine cannot do that inside weft::blocking()"
                                                : ": only a goroutine can do that; this is a plain thread"));
}

// --- this_goroutine::exit ---
// A forced unwind, as pthread_exit's: destructors and catch (...) blocks run, but no handler can end it.

WEFT_NEVER_RETURNS _Unwind_Reason_Code unwind_step(int, _Unwind_Action actions, _Unwind_Exception_Class,
                                                   _Unwind_Exception* unwinding, _Unwind_Context*, void*) {
  if ((actions & _UA_END_OF_STACK) != 0) {
    delete unwinding;
    sched::end_goroutine();
  }
  return _URC_NO_REASON;
}

void exit_swallowed(_Unwind_Reason_Code, _Unwind_Exception*) {
  base::fatal("goroutine %llu: this_goroutine::exit() was swallowed by a catch (...) that did not rethrow it",
              static_cast<unsigned long long>(os::current_g() != nullptr ? os::current_g()->id : 0));
}

}  // namespace

namespace this_goroutine {

goroutine_id get_id() noexcept {
  const sched::Goroutine* g = os::current_g();
  return goroutine_id(g != nullptr ? g->id : 0);
}

void yield() { sched::yield(); }

void set_name(std::string_view name) {
  sched::Goroutine* g = require_goroutine("this_goroutine::set_name");
  auto* copy = new std::string(name);
  g->flags |= sched::kGDetails;
  std::swap(g->name, copy);
  delete copy;
  if (trace::recording()) trace::go_label(sched::trace_place(), name.data(), name.size());
}

void exit() {
  sched::Goroutine* g = require_goroutine("this_goroutine::exit");
  g->flags |= sched::kGDetails | sched::kGExits;
  // On the heap, because each landing pad runs with the frames below its own gone.
  auto* unwinding = new _Unwind_Exception{};
  unwinding->exception_cleanup = exit_swallowed;
  _Unwind_ForcedUnwind(unwinding, unwind_step, nullptr);
  base::fatal("weft: this_goroutine::exit() could not unwind the stack");
}

}  // namespace this_goroutine

namespace detail {

void sleep_for_ns(std::int64_t ns) { sched::sleep_for(ns); }
void sleep_until_ns(std::int64_t deadline_ns) { sched::sleep_until(deadline_ns); }

void enter_blocking() {
  if (WEFT_LIKELY(os::current_p() != nullptr)) {
    // The caller's frame outlives this one, so a dump walks from there.
    sched::Machine* m = os::current_m();
    m->call_frame = *static_cast<void* const*>(__builtin_frame_address(0));
    m->call_pc = __builtin_return_address(0);
    sched::enter_call();
  } else if (sched::exile_enters_call()) {
    sched::Machine* m = os::current_m();
    m->call_frame = *static_cast<void* const*>(__builtin_frame_address(0));
    m->call_pc = __builtin_return_address(0);
  } else if (sched::Machine* m = os::current_m()) {
    ++m->nested_calls;  // inside a call already: nothing to give away
  }
}

void leave_blocking() noexcept {
  sched::Machine* m = os::current_m();
  if (m == nullptr) return;
  if (m->nested_calls > 0) {
    --m->nested_calls;
  } else {
    sched::leave_call();
  }
}

thread_local constinit std::uint32_t preempt_requested = 0;

void preempt_now() {
  sched::Processor* p = sched::regain_processor();
  if (const sched::Control* own = sched::own_control();
      own != nullptr && p != nullptr && p->attention.load_relaxed() == 0) {
    if (os::current_g()->no_preempt == 0) own->check_point();
    return;  // and comes here again at the next one
  }
  preempt_requested = 0;
  if (p == nullptr || p->attention.load_relaxed() == 0) return;
  if (os::current_g()->no_preempt != 0) {
    p->counters.bump(sched::Counter::kPreemptsRefused);
    return;
  }
  p->counters.bump(sched::Counter::kPreemptsDone);
  sched::give_way();
}

void* find_local(const void* key) noexcept {
  const sched::Goroutine* g = os::current_g();
  const sched::Locals* locals = g != nullptr ? g->locals : api::find_thread_locals();
  return locals != nullptr ? locals->find(key) : nullptr;
}

void add_local(const void* key, void* value, const local_operations* operations) {
  static_assert(sizeof(local_operations) == sizeof(sched::Locals::Operations));
  const sched::Locals::Entry entry{key, value, reinterpret_cast<const sched::Locals::Operations*>(operations)};
  sched::Goroutine* g = os::current_g();
  if (g == nullptr) {
    api::thread_locals().add(entry);
    return;
  }
  if (g->locals == nullptr) g->locals = new sched::Locals;
  g->flags |= sched::kGDetails;
  g->locals->add(entry);
}

}  // namespace detail

void lock_os_thread() {
  sched::Goroutine* g = require_goroutine("lock_os_thread");
  if (g->lock_depth++ > 0) return;
  sched::Machine* m = os::current_m();
  g->locked_m = m;
  g->flags |= sched::kGLocked;
  m->locked_g = g;
  sched::scheduler.locked_goroutines.fetch_add_relaxed(1);
}

void unlock_os_thread() {
  sched::Goroutine* g = require_goroutine("unlock_os_thread");
  if (g->lock_depth == 0) throw logic_error("weft: unlock_os_thread: the goroutine is not locked to its thread");
  if (--g->lock_depth > 0) return;
  g->locked_m->locked_g = nullptr;
  g->locked_m = nullptr;
  g->flags = static_cast<std::uint8_t>(g->flags & ~sched::kGLocked);
  sched::scheduler.locked_goroutines.fetch_add_relaxed(static_cast<std::uint32_t>(-1));
}

no_preempt::no_preempt() { sched::forbid_preemption(); }
no_preempt::~no_preempt() { sched::allow_preemption(); }

__attribute__((noinline)) preemptible::preemptible() noexcept {
  sched::Goroutine* g = os::current_g();
  if (g == nullptr) return;  // the system preempts a plain thread
  const os::CodeRange code = os::code_around(__builtin_return_address(0));
  scope_ = {g->preemptible, code.begin, code.end};
  g->preemptible = &scope_;
}
preemptible::~preemptible() {
  if (sched::Goroutine* g = os::current_g()) g->preemptible = scope_.outer;
}

}  // namespace weft
