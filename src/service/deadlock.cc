// SPDX-License-Identifier: MIT
#include "service/deadlock.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/check.h"
#include "base/sanitizer.h"
#include "os/thread.h"
#include "sched/core/machines.h"
#include "sched/core/watcher.h"
#include "sched/observe/dump.h"
#include "sched/state/next_timer.h"
#include "sched/state/processor_work.h"
#include "sched/state/scheduler.h"

namespace weft::service {
namespace {

using sched::Counter;
using sched::scheduler;

constexpr std::int64_t kConfirmNs = 2'000'000;
constexpr int kSanitizerThreads = WEFT_TSAN;  // TSan has one thread of its own in every process

base::Atom<int> helper_threads{0};

bool nobody_can_run() {
  const sched::IdleView view = scheduler.idle.look();
  return view.idle() == sched::maxprocs() && view.spinning() == 0 && !scheduler.world_stopping.load_relaxed() &&
         !sched::work_exists(nullptr) && scheduler.in_call.load_relaxed() == 0 &&
         scheduler.network.waiting.load_relaxed() == 0 && sched::next_timer_ns() == sched::TimerHeap::kNever &&
         !scheduler.exiting.load_relaxed();
}

std::uint64_t progress() {
  std::uint64_t sum = 0;
  for (Counter counter : {Counter::kSpawns, Counter::kStarts, Counter::kFinished, Counter::kSwitches, Counter::kCalls,
                          Counter::kTimersFired})
    sum += sched::total(counter);
  return sum;
}

// Threads that are neither the runtime's nor asleep in one of weft's primitives could still wake a goroutine.
bool others_could_help() {
  const int threads = os::count_threads();
  if (threads < 0) return true;  // cannot tell: keep silent
  const std::int64_t accounted = std::int64_t{scheduler.threads.load_relaxed()} + helper_threads.load_relaxed() +
                                 scheduler.threads_waiting.load_relaxed() + kSanitizerThreads;
  return threads > accounted;
}

void write_out(void*, std::string_view text) { base::write_stderr(text.data(), text.size()); }

[[noreturn]] void report(std::string_view headline) {
  static constinit base::Atom<bool> reporting{false};
  if (reporting.exchange_relaxed(true))
    for (;;) os::Note().wait();  // another M is printing and will end the process
  base::write_stderr(headline.data(), headline.size());
  sched::dump_goroutines(write_out, nullptr, {.goroutines = 1000});
  base::run_last_words();
  std::_Exit(2);
}

[[noreturn]] void report_threads(std::int64_t waiting) {
  char headline[256];
  const int length = std::snprintf(
      headline, sizeof headline,
      "fatal error: all goroutines are asleep - deadlock!\n\n"
      "there is no goroutine; %lld plain %s for a channel or another primitive of weft, and nobody is left to wake "
      "%s\n",
      static_cast<long long>(waiting), waiting == 1 ? "thread waits" : "threads wait", waiting == 1 ? "it" : "them");
  report(std::string_view(headline, static_cast<std::size_t>(length)));
}

}  // namespace

void set_helper_threads(int count) { helper_threads.store_relaxed(count); }
void add_helper_thread() { helper_threads.fetch_add_relaxed(1); }
void end_helper_thread() { helper_threads.fetch_add_relaxed(-1); }

void check_for_deadlock() {
  if (scheduler.exiting.load_acquire()) {  // pairs: exiting
    // During exit sysmon calls this now and then. Static destructors run; goroutines do not run any more.
    if (scheduler.threads_waiting.load_relaxed() > 0 && !others_could_help())
      report(
          "fatal error: weft: a thread waits while the process exits, and no goroutine runs any more to wake it\n\n");
    return;
  }
  if (!nobody_can_run()) return;
  const std::uint64_t goroutines = sched::total(Counter::kSpawns) - sched::total(Counter::kFinished);
  const std::int64_t waiting_threads = scheduler.threads_waiting.load_relaxed();
  if (goroutines == 0 && waiting_threads == 0) return;
  base::full_fence();  // pairs: submit.retire
  if (others_could_help() || !nobody_can_run()) return;
  // The conditions are read one after the other and may never have been true together. In a deadlock they stay true,
  // and nothing moves.
  const std::uint64_t before = progress();
  os::Note().wait(os::now_ns() + kConfirmNs);
  if (others_could_help() || !nobody_can_run() || progress() != before) return;
  if (!scheduler.starved.empty())
    report(
        "fatal error: weft: no memory for goroutine stacks: every running goroutine waits, and those that could go on "
        "have no stack\n\n");
  if (goroutines == 0 && scheduler.main_exited.load_relaxed() > 0)
    report("fatal error: no goroutines (main called Goexit) - deadlock!\n\n");
  if (goroutines == 0) report_threads(waiting_threads);
  report("fatal error: all goroutines are asleep - deadlock!\n\n");
}

}  // namespace weft::service
