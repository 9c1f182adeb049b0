// SPDX-License-Identifier: MIT
#include "service/crash.h"

#include <cxxabi.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <typeinfo>

#include "arch/interrupted_frame.h"
#include "base/check.h"
#include "base/sanitizer.h"
#include "os/backtrace.h"
#include "os/clock.h"
#include "os/note.h"
#include "os/symbolizer.h"
#include "os/thread.h"
#include "sched/observe/dump.h"
#include "sched/observe/goroutine_name.h"
#include "sched/state/control.h"
#include "sched/state/scheduler.h"

namespace weft::service {
namespace {

using sched::Goroutine;
using sched::scheduler;

constexpr std::size_t kFrames = 64;

struct sigaction previous_segv, previous_bus;
std::terminate_handler previous_terminate = nullptr;
base::Atom<pid_t> reporter{0};  // the thread that is reporting why it ends the process
constexpr std::int64_t kReportLimitNs = 10'000'000'000;
void (*quit_handler)() = nullptr;
void (*dump_handler)() = nullptr;

void print(const char* text, int length) {
  if (length > 0) base::write_stderr(text, static_cast<std::size_t>(length));
}

// The interrupted instruction. In a backtrace, the frames before it belong to the handler.
const void* interrupted_at(const void* context) { return arch::interrupted_frame(context).pc; }

// Prints the stack from the frame at `first` on; all of it, if there is no such frame. Frames are not skipped by
// number, because inlining changes the number.
void print_stack(const void* first) {
  void* frames[kFrames];
  const std::size_t count = os::capture_backtrace(frames, kFrames, 0);
  std::size_t skip = 0;
  while (skip < count && frames[skip] != first) ++skip;
  if (skip == count) skip = 0;
  os::write_frames(STDERR_FILENO, frames + skip, count - skip);
}

void print_overflow(const Goroutine* g, const void* address, const void* first_frame) {
  reporter.store_relaxed(os::thread_id());
  char who[128], text[512];
  sched::describe_goroutine(g, who, sizeof who);
  print(text,
        std::snprintf(text, sizeof text,
                      "fatal error: %s: stack overflow\n"
                      "  limit %u KiB, access at %p; give it more with go_options::stack_size or WEFT_STACK_SIZE\n",
                      who, (g->stack_bytes + 1023 + static_cast<unsigned>(sizeof(Goroutine))) / 1024, address));
  print_stack(first_frame);
}

[[maybe_unused]] void print_fault(const Goroutine* g, int signal, const void* address, const void* context) {
  char who[128], text[512];
  sched::describe_goroutine(g, who, sizeof who);
  print(text, std::snprintf(text, sizeof text, "fatal error: %s: %s at address %p\n", who,
                            signal == SIGBUS ? "SIGBUS" : "SIGSEGV", address));
  print_stack(interrupted_at(context));
}

[[maybe_unused]] bool is_handled(const struct sigaction& action) {
  if ((action.sa_flags & SA_SIGINFO) != 0) return action.sa_sigaction != nullptr;
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

void chain(int signal, siginfo_t* info, void* context, const struct sigaction& previous) {
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
    previous.sa_sigaction(signal, info, context);
    return;
  }
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN && previous.sa_handler != nullptr) {
    previous.sa_handler(signal);
    return;
  }
  // The default action: the faulting instruction runs again and ends the process with the right signal and core.
  struct sigaction by_default{};
  by_default.sa_handler = SIG_DFL;
  sigaction(signal, &by_default, nullptr);
  if (info->si_code <= 0) raise(signal);  // sent with kill(): there is no instruction to run again
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const struct sigaction& previous = signal == SIGBUS ? previous_bus : previous_segv;
  const Goroutine* g = os::current_g();
  const sched::StackPool::Place place = scheduler.stacks.find(info->si_addr);
  if (place.g != nullptr && place.in_guard && g == place.g) {
    print_overflow(g, info->si_addr, interrupted_at(context));
    base::run_last_words();
    struct sigaction by_default{};
    by_default.sa_handler = SIG_DFL;
    sigaction(signal, &by_default, nullptr);
    return;
  }
#if !WEFT_ASAN && !WEFT_TSAN  // sanitizers print their own, better report
  static constinit volatile sig_atomic_t reported = 0;
  if (g != nullptr && info->si_code > 0 && !reported) {
    reported = 1;
    if (!is_handled(previous)) reporter.store_relaxed(os::thread_id());
    print_fault(g, signal, info->si_addr, context);
    base::run_last_words();
  }
#endif
  errno = saved_errno;
  chain(signal, info, context, previous);
}

void on_quit_signal(int) {
  const int saved_errno = errno;
  quit_handler();
  errno = saved_errno;
}

void on_dump_signal(int) {
  const int saved_errno = errno;
  dump_handler();
  errno = saved_errno;
}

// True: this_goroutine::exit() has met a function that lets no exception out. It is a forced unwind, which has no
// exception type.
bool is_exit_refused(const Goroutine* g) {
  return (g->flags & sched::kGExits) != 0 && abi::__cxa_current_exception_type() == nullptr;
}

// what() may throw or be absent; the text is bounded.
void print_exception() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  char text[1024];
  if (type == nullptr) {
    print(text, std::snprintf(text, sizeof text, "  std::terminate was called without an exception\n"));
    return;
  }
  int status = 0;
  char* demangled = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  const char* name = status == 0 ? demangled : type->name();
  try {
    throw;
  } catch (const std::exception& error) {
    const char* what = "(what() threw)";
    try {
      what = error.what();
    } catch (...) {
    }
    print(text, std::snprintf(text, sizeof text, "  exception of type %s: %.600s\n", name, what));
  } catch (...) {
    print(text, std::snprintf(text, sizeof text, "  exception of type %s\n", name));
  }
  std::free(demangled);
}

// The standard library's own handler prints type and text once more, however long.
bool says_the_same_again([[maybe_unused]] std::terminate_handler handler) {
#ifdef __GLIBCXX__
  return handler == __gnu_cxx::__verbose_terminate_handler;
#else
  return false;
#endif
}

[[noreturn]] void on_terminate() {
  const Goroutine* g = os::current_g();
  if (const sched::Control* own = sched::own_control())
    own->die(is_exit_refused(g) ? "this_goroutine::exit() cannot end it" : nullptr);
  pid_t nobody = 0;
  if (g != nullptr && reporter.cas_relaxed(nobody, os::thread_id())) {
    char who[128], text[256];
    sched::describe_goroutine(g, who, sizeof who);
    if (is_exit_refused(g)) {
      print(text, std::snprintf(text, sizeof text, "fatal error: %s: this_goroutine::exit() cannot end it\n", who));
      print(text, std::snprintf(text, sizeof text,
                                "  std::terminate was called while it unwound the stack: a noexcept function or a "
                                "stop_callback lets nothing out\n"));
    } else {
      print(text, std::snprintf(text, sizeof text, "fatal error: %s: uncaught exception\n", who));
      print_exception();
    }
    print_stack(nullptr);
    base::run_last_words();
  }
  let_report_end();  // abort() would end the process in the middle of the report
  if (previous_terminate != nullptr && !(g != nullptr && says_the_same_again(previous_terminate))) previous_terminate();
  std::abort();
}

void install(int signal, struct sigaction& previous) {
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  sigaction(signal, &action, &previous);
}

}  // namespace

void let_report_end() noexcept {
  const pid_t thread = reporter.load_relaxed();
  if (thread != 0 && thread != os::thread_id()) os::Note().wait(os::now_ns() + kReportLimitNs);
}

void report_overflow(const Goroutine* g, const void* address) { print_overflow(g, address, nullptr); }

bool dump_on_signal(int signal, void (*on_dump)()) {
  dump_handler = on_dump;
  struct sigaction existing{};
  if (sigaction(signal, nullptr, &existing) != 0) return false;
  const bool is_weft_own = signal == SIGQUIT && existing.sa_handler == on_quit_signal;
  if (!is_weft_own && ((existing.sa_flags & SA_SIGINFO) != 0 ||
                       (existing.sa_handler != SIG_DFL && existing.sa_handler != SIG_IGN)))
    return false;
  struct sigaction action{};
  action.sa_handler = on_dump_signal;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  return sigaction(signal, &action, nullptr) == 0;
}

void install_crash_reports(void (*on_quit)()) {
  os::warm_up_unwinder();
  install(SIGSEGV, previous_segv);
  install(SIGBUS, previous_bus);
  previous_terminate = std::set_terminate(on_terminate);
  quit_handler = on_quit;
  // Ignored counts as free, as in Go: a shell ignores SIGQUIT for each `server &` of a script, without being asked to.
  struct sigaction existing{};
  if (sigaction(SIGQUIT, nullptr, &existing) == 0 && (existing.sa_flags & SA_SIGINFO) == 0 &&
      (existing.sa_handler == SIG_DFL || existing.sa_handler == SIG_IGN)) {
    struct sigaction action{};
    action.sa_handler = on_quit_signal;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(SIGQUIT, &action, nullptr);
  }
}

}  // namespace weft::service
