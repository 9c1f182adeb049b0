// SPDX-License-Identifier: MIT
#include "api/testing_signals.h"

#include <ucontext.h>
#include <csignal>
#include <cstdint>

#include "api/testing_run.h"
#include "os/keep_errno.h"
#include "sched/state/scheduler.h"

namespace weft::api {
namespace {

constexpr int kSignals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr std::size_t kCount = sizeof kSignals / sizeof kSignals[0];
struct sigaction previous[kCount];
void (*dying_words)() noexcept = nullptr;

const char* name_of(int signal) noexcept {
  switch (signal) {
    case SIGABRT: return "it called abort()";
    case SIGSEGV: return "it crashed (SIGSEGV)";
    case SIGBUS:  return "it crashed (SIGBUS)";
    case SIGFPE:  return "it crashed (SIGFPE)";
    default:      return "it crashed (SIGILL)";
  }
}

// On the stack of the goroutine, as if the faulting instruction had called it.
template <int Signal>
void end_goroutine_here() noexcept {
  if (const sched::Control* own = sched::own_control()) own->die(name_of(Signal));
  raise(Signal);  // it was no goroutine that we can stop
}

using Function = void (*)() noexcept;
Function function_for(int signal) noexcept {
  switch (signal) {
    case SIGABRT: return end_goroutine_here<SIGABRT>;
    case SIGSEGV: return end_goroutine_here<SIGSEGV>;
    case SIGBUS:  return end_goroutine_here<SIGBUS>;
    case SIGFPE:  return end_goroutine_here<SIGFPE>;
    default:      return end_goroutine_here<SIGILL>;
  }
}

constexpr std::uintptr_t kBelow = 512;  // beyond the red zone

std::uintptr_t stack_pointer(const ucontext_t& context) noexcept {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
#else
  return context.uc_mcontext.sp;
#endif
}
void go_on_in(ucontext_t& context, Function function) noexcept {
  const std::uintptr_t sp = (stack_pointer(context) - kBelow) & ~std::uintptr_t{15};
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(sp - sizeof(void*));  // as after a call
  context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(function);
#else
  context.uc_mcontext.sp = sp;
  context.uc_mcontext.pc = reinterpret_cast<std::uintptr_t>(function);
#endif
}

bool can_be_stopped(const ucontext_t& context) noexcept {
  constexpr std::uintptr_t kNeeds = 48 * 1024;
  const sched::Goroutine* g = os::current_g();
  if (!sched::is_controlled(g) || sched::control.load_relaxed() == nullptr) return false;
  const std::uintptr_t sp = stack_pointer(context);
  return sp >= reinterpret_cast<std::uintptr_t>(g->stack_bottom) + kNeeds && sp < reinterpret_cast<std::uintptr_t>(g);
}

void on_fatal_signal(int signal, siginfo_t* info, void* context) {
  const os::KeepErrno keep;
  auto& interrupted = *static_cast<ucontext_t*>(context);
  if (can_be_stopped(interrupted)) return go_on_in(interrupted, function_for(signal));
  if (dying_words != nullptr) dying_words();
  for (std::size_t i = 0; i < kCount; ++i) {
    if (kSignals[i] != signal) continue;
    sigaction(signal, &previous[i], nullptr);
    if (info->si_code <= 0) raise(signal);  // there is no instruction to run again
  }
}

}  // namespace

void set_dying_words(void (*print)() noexcept) noexcept { dying_words = print; }

void catch_fatal_signals() noexcept {
  struct sigaction action{};
  action.sa_sigaction = on_fatal_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kCount; ++i) sigaction(kSignals[i], &action, &previous[i]);
}
void release_fatal_signals() noexcept {
  for (std::size_t i = 0; i < kCount; ++i) sigaction(kSignals[i], &previous[i], nullptr);
}

}  // namespace weft::api
