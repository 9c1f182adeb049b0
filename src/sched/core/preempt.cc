// SPDX-License-Identifier: MIT
#include "sched/core/preempt.h"

#include <signal.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "arch/inject.h"
#include "arch/interrupted_call.h"
#include "arch/preempt_check.h"
#include "arch/vector_state.h"
#include "base/check.h"
#include "base/delay_site.h"
#include "base/sanitizer.h"
#include "os/clock.h"
#include "os/keep_errno.h"
#include "sched/core/dispatch.h"
#include "sched/core/handoff.h"
#include "sched/core/hold.h"
#include "sched/core/lease.h"
#include "sched/core/thread_kept.h"
#include "sched/frames/foreign_frames.h"
#include "sched/frames/interrupted_stack.h"
#include "sched/frames/unwinding.h"
#include "sched/frames/user_call.h"
#include "sched/model/hooks.h"
#include "sched/state/control.h"
#include "sched/state/spawn.h"
#include "sched/state/thread_signal.h"
#include "weft/detail/preemptible_scope.h"

#if defined(__x86_64__)
extern "C" bool weft_checks_always_fire __attribute__((visibility("hidden")));  // arch/morestack_x86_64.S
#endif

namespace weft::sched {
namespace {

bool is_wanted_exile(const Machine& m, const Goroutine* g, const Processor* p) noexcept {
  return g != nullptr && p == nullptr && m.exiled.load_relaxed() && m.nested_calls == 0 &&
         (m.hold.word.load_relaxed() & kHoldReasons) != 0;
}

// Arranges for this thread to be signalled again soon. A stopping world needs that, because other threads ask seldom,
// and on a busy machine not while this thread has a CPU (hold.h).
void ask_itself_again(Machine& m) noexcept {
  constexpr std::int64_t kSoonNs = 30'000;
  const auto pause = static_cast<std::int64_t>(m.walk_again_at - os::ticks());
  const std::int64_t pause_ns = pause > 0 ? pause * 1000 / static_cast<std::int64_t>(os::ticks_per_us()) : 0;
  m.hold.timer =
      os::signal_self_after(std::max(kSoonNs, pause_ns), m.hold.timer, scheduler.preempt_signal.load_relaxed(), &scheduler);
}

void hold_exile(Machine& m, const Goroutine* g, const void* ucontext) noexcept {
  constexpr std::size_t kPauseUs = 2;  // per walked frame: the exile gets on for half of the time
  if (g->no_preempt == 0 && os::ticks() < m.walk_again_at && !Unwinding::ended()) return ask_itself_again(m);
  const StackWalk walk = walk_if_possible(m, g, ucontext);
  if (may_stand_still(m, g, walk, ucontext)) return stay_while_held(m, ucontext);
  if (walk.clean) m.walk_again_at = os::ticks() + os::us_to_ticks(walk.frames * kPauseUs);
  const Refusal reason = g->no_preempt != 0         ? Refusal::kForbidden
                         : sleeps_in_call(ucontext) ? Refusal::kCall
                                                    : Refusal::kPlace;
  if (refuse_to_stay(m, reason)) ask_itself_again(m);
}

bool may_be_exiled(const Machine* m, const Goroutine* g, const Processor* p) noexcept {
  return g != nullptr && p != nullptr && m->p == p && g->status.load_relaxed() == GStatus::kRunning;
}

// Each exile keeps a thread, which another has to replace. Beyond this limit, goroutines that do not give way keep
// their Ps.
std::uint32_t exile_limit() noexcept { return settings.max_threads / 2; }

// Sanitizers put code of their own, with its own locks, between that of the user.
constexpr bool kMayInject = !WEFT_ASAN && !WEFT_TSAN;

bool may_inject(const Goroutine* g, const StackWalk& walk, const void* ucontext) noexcept {
  if (!kMayInject || g->preemptible == nullptr || !walk.own_code || ucontext == nullptr || !may_keep_thread())
    return false;
  const std::uintptr_t sp = arch::interrupted_stack_pointer(ucontext);
  return sp >= true_guard(g) && sp < reinterpret_cast<std::uintptr_t>(g);
}

[[noreturn]] void overflow(const Goroutine* g, std::uintptr_t sp, std::size_t need) noexcept {
  hooks.report_overflow(g, reinterpret_cast<const void*>(sp - need));
  std::abort();
}

// May switch. At a check of user code, which is about to use `need` bytes below sp.
void at_check(std::uintptr_t sp, std::size_t need) noexcept {
  Goroutine* g = os::current_g();
  if (g == nullptr) {  // g0 or a plain thread, with a guard that was left over
    arch::set_stack_guard(0);
    return;
  }
  if (sp < reinterpret_cast<std::uintptr_t>(g->stack_bottom) || sp >= reinterpret_cast<std::uintptr_t>(g)) return;
  if (need > sp || sp - need < true_guard(g)) overflow(g, sp, need);
  if (os::current_p() == nullptr && !look_at_frames(g).may_give_way())
    return;  // an exile comes back at a later check, outside such frames
  arch::set_stack_guard(guard_of(g));
  Processor* p = regain_processor();
  if (p == nullptr) return;
  if (const Control* own = own_control(); own != nullptr && p->attention.load_relaxed() == 0) {
    if (g->no_preempt == 0) own->check_point();
    return;
  }
  // An exile that has just come back with the P it had goes on here as well: it was asked to give that P up.
  if (p->attention.load_relaxed() == 0) {
    if (!settings.preempt_always) return;  // the request was for another goroutine
    if (settings.random_schedule && (p->random.next() & 1) != 0) return;
  }
  if (g->no_preempt != 0) {
    p->counters.bump(Counter::kPreemptsRefused);
    return;
  }
  const FramesOnStack frames = look_at_frames(g);
  if (!frames.may_give_way()) {
    p->counters.bump(Counter::kPreemptsRefused);
    return;
  }
  WEFT_DCHECK(!os::holds_any_rank(), "a goroutine gives way at a check holding none of the runtime's locks");
  p->counters.bump(Counter::kPreemptsDone);
  const ThreadKept kept(g, wants_thread_kept(g, frames));
  give_way();
}

}  // namespace

bool runs_goroutine(const Processor& p) noexcept {
  if (p.status() != PStatus::kRunning) return false;
  std::lock_guard guard(scheduler.machines_lock);
  const Machine* m = p.m;
  return m != nullptr && m->guard_slot != nullptr && m->current != nullptr && m->current->g != nullptr;
}

void ask_to_give_way(Processor& p) noexcept {
  // The lock keeps the thread from ending between the look and the store.
  std::lock_guard guard(scheduler.machines_lock);
  const Machine* m = p.m;  // racy: at worst the wrong M is asked, and finds nothing wanted of it
  if (m == nullptr || m->guard_slot == nullptr) return;
  *m->guard_slot = arch::kGiveWay;
  *m->preempt_flag = 1;
}

namespace {
// The system refuses the signal for good: warns, once, and sends none any more.
void give_signal_up(int signal, int error) noexcept {
  if (scheduler.preempt_signal.exchange_relaxed(0) != 0) hooks.warn_signal_refused(signal, error);
}

bool signal_machine_of(Processor& p, bool probe) noexcept {
  const int signal = scheduler.preempt_signal.load_relaxed();
  if (signal == 0 || scheduler.exiles.load_relaxed() >= exile_limit()) return false;
  int error = ESRCH;
  {
    std::lock_guard guard(scheduler.machines_lock);
    Machine* m = p.m;  // racy: at worst the wrong M is asked, and finds nothing wanted of it
    if (m != nullptr && m->guard_slot != nullptr) {
      if (probe) m->probed.store_relaxed(true);  // seen by the handler: the signal is ordered behind it
      error = send_preempt_signal(signal, m->tid);
    }
  }
  // ESRCH: the thread has ended. EAGAIN: too many signals are queued.
  const bool for_ever = error != 0 && error != ESRCH && error != EAGAIN;
  if (for_ever) give_signal_up(signal, error);
  return error == 0;
}
}  // namespace

bool ask_by_signal(Processor& p) noexcept { return signal_machine_of(p, false); }
bool probe_by_signal(Processor& p) noexcept { return signal_machine_of(p, true); }

// Several goroutines may be asked while there is room for one exile, so each counts itself in.
bool count_exile() noexcept {
  std::uint32_t count = scheduler.exiles.load_relaxed();
  do {
    if (count >= exile_limit()) return false;
  } while (!scheduler.exiles.cas_relaxed(count, count + 1));
  return true;
}

void on_preempt_signal(void* ucontext) noexcept {
  const os::KeepErrno keep;
  Machine* m = os::current_m();
  Goroutine* g = os::current_g();
  Processor* p = os::current_p();
  if (m == nullptr) return;
  const bool probed = m->probed.load_relaxed();
  if (probed) m->probed.store_relaxed(false);
  if (is_wanted_exile(*m, g, p)) return hold_exile(*m, g, ucontext);
  if (!may_be_exiled(m, g, p)) return;  // the signal came too late
  const bool asked = p->attention.load_relaxed() != 0;
  const arch::CallState call = arch::interrupted_call_state(ucontext);
  const bool asleep = call == arch::CallState::kInside, was_asleep = probed && call == arch::CallState::kBehind;
  if (!asked && !(probed && (asleep || was_asleep))) return;  // it computes, and was not asked to give way
  StackWalk walk = walk_if_possible(*m, g, ucontext);
  if (!walk.clean) {
    p->counters.bump(Counter::kPreemptsRefused);
    if ((p->attention.load_relaxed() & kAttentionStop) == 0) return;
    if (g->no_preempt == 0) return ask_itself_again(*m);
    m->hold.last_refusal.store_relaxed(Refusal::kForbidden);
    return;
  }
  if (asleep || was_asleep) learn_plain_call(g);
  if (!asked && was_asleep) return;  // its call is over
  if (!asleep && may_inject(g, walk, ucontext) && arch::inject_call(ucontext)) return;
  if (!count_exile()) {
    p->counters.bump(Counter::kPreemptsRefused);
    return;
  }
  p->counters.bump(Counter::kPreemptsDone);
  p->counters.bump(Counter::kExiles);
  m->hold.refusals.store_relaxed(0);
  m->exiled.store_relaxed(true);
  walk.user.asleep = asleep;
  m->interrupted = &walk.user;
  leave_processor_in_call(*m, g);
  m->interrupted = nullptr;
  arch::set_stack_guard(arch::kGiveWay);  // if there are checks after all, the next one is its return
  if (scheduler.exiting.load_acquire()) {  // the exit may have asked the exiles already; pairs: exiting
    m->hold.word.fetch_or_acq_rel(kHoldExit);  // pairs: hold.word
    return hold_exile(*m, g, ucontext);
  }
  hooks.poke_sysmon();
  // It was asked because others wait. Its next turn comes when sysmon finds room for it.
  if (!asleep && may_stand_still(*m, g, walk, ucontext)) stay_until_its_turn(*m, ucontext);
}

void request_preemption(Processor& p) noexcept {
  p.attention.fetch_or_acq_rel(kAttentionPreempt);  // pairs: attention
  ask_to_give_way(p);
}

void ask_for_loan(Processor& p) noexcept {
  scheduler.loan_wanted.store_relaxed(true);
  request_preemption(p);
}

std::int64_t cpu_time_of_machine(const Processor& p) noexcept {
  std::int32_t tid = 0;
  {
    // The lock is not kept during the system call. A goroutine that was just asked to give way may stop the world next:
    // it would wait for this lock, and its CPU would go to the goroutine that it wanted to ask.
    std::lock_guard guard(scheduler.machines_lock);
    const Machine* m = p.m;
    if (m == nullptr || m->guard_slot == nullptr) return -1;
    tid = m->tid;
  }
  return os::cpu_time_ns(tid);  // -1 if the thread has ended meanwhile
}

// May switch. An injected call (arch/inject.h): nothing of the runtime was on the stack, and the goroutine has its P.
extern "C" __attribute__((used)) void weft_at_injection() {
  Goroutine* g = os::current_g();
  arch::set_stack_guard(guard_of(g));
  os::current_p()->counters.bump(Counter::kPreemptsDone);
  os::current_p()->counters.bump(Counter::kInjections);
  const ThreadKept kept(g, true);
  give_way();
}

Processor* return_from_exile() noexcept {
  Machine* m = os::current_m();
  if (m == nullptr || !m->exiled.load_relaxed() || m->nested_calls > 0) return nullptr;
  WEFT_DCHECK(!os::holds_any_rank(), "who waits for a P holds none of the runtime's locks: who has the last one may want it");
  if (m->leased.load_relaxed()) {
    end_lease(*m);
    return os::current_p();
  }
  no_longer_exiled(*m);
  end_hold(*m);
  scheduler.exiles.fetch_add_relaxed(static_cast<std::uint32_t>(-1));
  Goroutine* g = os::current_g();
  const std::uint8_t long_calls = g->habits.long_calls;
  leave_call(true);
  g->habits.long_calls = long_calls;  // computing says nothing about its calls
  return os::current_p();
}

bool exile_enters_call() noexcept {
  Machine* m = os::current_m();
  if (m == nullptr || !m->exiled.load_relaxed() || m->nested_calls > 0) return false;
  if (m->leased.load_relaxed()) judge_lease(*m);
  no_longer_exiled(*m);
  end_hold(*m);
  scheduler.exiles.fetch_add_relaxed(static_cast<std::uint32_t>(-1));
  m->call_began = os::ticks();
  return true;
}

void offer_to_be_asked(Machine& m, volatile std::uint32_t* flag) noexcept {
  std::lock_guard guard(scheduler.machines_lock);
  m.preempt_flag = flag;
  m.guard_slot = arch::stack_guard_slot();
}

void withdraw_offer(Machine& m) noexcept {
  std::lock_guard guard(scheduler.machines_lock);
  m.guard_slot = nullptr;
  m.preempt_flag = nullptr;
  arch::set_stack_guard(0);  // the C library gives the thread's control block, as it is, to another thread
  os::delete_timer(std::exchange(m.hold.timer, os::kNoTimer));
}

// A no_preempt region ends. True: a signal came in it that another thread waits for: a stopping world's to code without
// checks, or one for an exile to stand still.
static bool was_refused_signal(Machine& m, const Processor* p) noexcept {
  if (WEFT_LIKELY(m.hold.last_refusal.load_relaxed() != Refusal::kForbidden)) return false;
  m.hold.last_refusal.store_relaxed(Refusal::kPlace);
  return p != nullptr ? (p->attention.load_relaxed() & kAttentionStop) != 0
                      : m.exiled.load_relaxed() && (m.hold.word.load_relaxed() & kHoldReasons) != 0;
}

void NonPreemptible::arm_again() noexcept {
  const Processor* p = os::current_p();
  if (p != nullptr && p->attention.load_relaxed() == 0) return;
  Machine* m = os::current_m();
  if (m != nullptr && was_refused_signal(*m, p)) send_preempt_signal(scheduler.preempt_signal.load_relaxed(), m->tid);
  if (p == nullptr) return;
  arch::set_stack_guard(arch::kGiveWay);
  if (m->preempt_flag != nullptr) *m->preempt_flag = 1;
}

void forbid_preemption() noexcept {
  regain_processor();  // an exile gets a P back first
  if (Goroutine* g = os::current_g()) ++g->no_preempt;
}
void allow_preemption() noexcept {
  Goroutine* g = os::current_g();
  if (g != nullptr && --g->no_preempt == 0) NonPreemptible::arm_again();
}

// --- called by checks ---

#if defined(__x86_64__)
namespace {
void say_that_checks_always_fire() noexcept {
  static constinit base::Atom<bool> said{false};
  if (said.load_relaxed() || said.exchange_relaxed(true)) return;
  const os::KeepErrno keep;
  constexpr std::string_view kText =
      "weft: the linker has made checks for preemption fire at every call, which slows the program down: link it with "
      "GNU ld, or compile it without -fsplit-stack (docs/preemption.md)\n";
  base::write_stderr(kText.data(), kText.size());
}
}  // namespace
#endif

// May switch. `frame`: of __morestack. [0] the caller's rbp, [1] where __morestack returns to, [2] the function's own
// return address. Below: what __morestack saved, r10 at [-8], r11 at [-9].
extern "C" __attribute__((used)) void weft_at_function_entry([[maybe_unused]] std::uintptr_t* frame) {
#if defined(__x86_64__)
  auto* resume = reinterpret_cast<const unsigned char*>(frame[1]);
  const auto entry_sp = reinterpret_cast<std::uintptr_t>(&frame[2]);
  if (*resume == 0xc3) ++resume;  // skip the `ret` that libgcc's __morestack comes back to
  // A variadic function computes next, from libgcc's frame, where its arguments are. Give it the right address in r11
  // and go on behind that instruction.
  const unsigned char* after_landing = resume;
  if (std::memcmp(after_landing, "\xf3\x0f\x1e\xfa", 4) == 0) after_landing += 4;  // endbr64
  if (std::memcmp(after_landing, "\x4c\x8d\x5d\x18", 4) == 0) {                    // lea 24(%rbp), %r11
    frame[-9] = entry_sp + 8;
    resume = after_landing + 4;
  }
  frame[1] = reinterpret_cast<std::uintptr_t>(resume);
  if (weft_vector_state.mask == 0) {  // the vector registers, with arguments in them, were not saved: keep them
    arch::set_stack_guard(0);
    return;
  }
  if (weft_checks_always_fire) say_that_checks_always_fire();
  at_check(entry_sp, frame[-8]);
#endif
}

// May switch. An allocation of `bytes` on the stack.
extern "C" __attribute__((used)) void weft_at_allocation(std::size_t bytes, std::uintptr_t* frame) {
  at_check(reinterpret_cast<std::uintptr_t>(frame), bytes);
}

#if defined(__x86_64__)
// Kept in every program with a runtime, because shared libraries look for these functions there.
extern "C" {
void weft_morestack();
void weft_morestack_allocate();
void weft_loop_check();
}
__attribute__((used)) void (*const kept_for_shared_libraries[])() = {weft_morestack, weft_morestack_allocate,
                                                                     weft_loop_check};
#endif

// May switch. A loop's back-edge (arch/preempt_check.h).
extern "C" __attribute__((used)) void weft_preempt_slow(void* sp) noexcept {
  at_check(reinterpret_cast<std::uintptr_t>(sp), 0);
}

}  // namespace weft::sched
