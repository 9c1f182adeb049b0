// SPDX-License-Identifier: MIT
#include "weft/runtime.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string>

#include "api/start.h"
#include "api/wait_facts.h"
#include "base/check.h"
#include "base/delay_site.h"
#include "os/affinity.h"
#include "os/clock.h"
#include "os/cpu_topology.h"
#include "os/instance.h"
#include "policy/one_lock.h"
#include "runtime/fallback.h"
#include "runtime/leaks.h"
#include "runtime/options.h"
#include "runtime/policies.h"
#include "sched/core/machines.h"
#include "sched/core/preempt.h"
#include "sched/model/gangs.h"
#include "sched/model/hooks.h"
#include "sched/observe/dump.h"
#include "sched/observe/dump_threads.h"
#include "sched/observe/leak_roots.h"
#include "sched/observe/roots.h"
#include "sched/state/batch_members.h"
#include "sched/state/process_end.h"
#include "sched/tracing/trace_points.h"
#include "sched/world/world.h"
#include "service/crash.h"
#include "service/deadlock.h"
#include "service/netpoll.h"
#include "service/partial_deadlock.h"
#include "service/preempt_signal.h"
#include "service/sysmon.h"
#include "service/thread_mutex_watch.h"
#include "trace/collector.h"
#include "weft/debug.h"
#include "weft/error.h"
#include "weft/go.h"

// The composition root: reads the environment, picks policy and services, wires them, and takes them down.
namespace weft {
namespace {

using sched::Counter;
using sched::scheduler;

constexpr std::int64_t kExitLimitNs = 150'000'000;
constexpr std::int64_t kTraceLimitNs = 10'000'000'000;  // a running trace is worth waiting for
constexpr std::int64_t kCrashTraceLimitNs = 3'000'000'000;

os::RankedMutex<base::Rank::kRuntimeStart> start_lock;
options first_options;                    // of the first run(), read by start_locked()
constinit runtime::Settings environment;  // valid once started
pid_t owner_pid = 0;

policy_kind kind_of(runtime::PolicyName name) {
  switch (name) {
    case runtime::PolicyName::kClassic: return policy_kind::classic;
    case runtime::PolicyName::kGlobal:  return policy_kind::global;
    case runtime::PolicyName::kBatch:   return policy_kind::batch;
    case runtime::PolicyName::kMatrix:  return policy_kind::matrix;
  }
  return policy_kind::classic;
}

void require_valid_maxprocs(int n) {
  if (n < 1 || n > static_cast<int>(sched::kMaxProcessors))
    throw logic_error("weft: maxprocs must be between 1 and 1024, not " + std::to_string(n));
}

// --- process end and fork ---

void end_cpu_profile() noexcept;

void stop_at_exit() {
  if (getpid() != owner_pid || scheduler.exiting.load_acquire()) return;  // pairs: exiting
  end_cpu_profile();
  sched::stop_the_world_for_exit(kExitLimitNs);
  service::let_report_end();
  if (environment.leaks) runtime::report_leaks_at_exit(*environment.leaks);
  sched::show_stacks_to_leak_checkers();
  trace::finish(trace::Ending::kExit, kTraceLimitNs);
}

void before_fork() { scheduler.machines_lock.lock(); }
void after_fork_in_parent() { scheduler.machines_lock.unlock(); }
void after_fork_in_child() {
  scheduler.machines_lock.unlock();
  trace::forget_collector_in_child();
  service::netpoll().forget_after_fork();
  sched::forked_in_child();
}

// --- hooks ---

void warn_thread_refused(int error) {
  char text[256];
  const int length = std::snprintf(
      text, sizeof text,
      "weft: the system refuses another thread (%s); goroutines go on with the %u there are, blocking calls queue\n",
      std::strerror(error), scheduler.threads.load_relaxed());
  base::write_stderr(text, static_cast<std::size_t>(length));
}

std::size_t describe_thread(char* buffer, std::size_t size) noexcept {
  const sched::Goroutine* g = os::current_g();
  const sched::Machine* m = os::current_m();
  const sched::Processor* p = os::current_p();
  if (m == nullptr) return 0;
  const int length = std::snprintf(
      buffer, size, "  on goroutine %llu, M %u, P %d, policy %s, idle %u, spinning %u\n",
      static_cast<unsigned long long>(g != nullptr ? g->id : 0), m->id, p != nullptr ? static_cast<int>(p->id) : -1,
      sched::policy().name().data(), scheduler.idle.look().idle(), scheduler.idle.look().spinning());
  return length < 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(length), size);
}

void thread_started() {
  trace::prepare_thread();
  service::allow_preempt_signal();
  sched::offer_to_be_asked(*os::current_m(), &detail::preempt_requested);
}
void thread_ending() { sched::withdraw_offer(*os::current_m()); }

// --- tracing ---

void set_up_tracing() {
  trace::CollectorSetup setup;
  setup.reasons = sched::trace_reasons();
  setup.for_each_waiting = sched::trace_waiting;
  setup.thread_started = service::add_helper_thread;
  trace::set_up_collector(std::move(setup));
  base::set_last_words([]() noexcept { trace::finish(trace::Ending::kCrash, kCrashTraceLimitNs); });
}

// %p stands for the process id. Without it, a process that starts others would find its file overwritten by theirs.
std::string with_process_id(std::string path) {
  for (std::size_t at = 0; (at = path.find("%p", at)) != std::string::npos;)
    path.replace(at, 2, std::to_string(owner_pid));
  return path;
}

void trace_to(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int error = fd < 0 ? errno : trace::start_file(fd);
  if (error != 0)
    base::fatal_exit(2, "weft: WEFT_TRACE=%s: cannot be written (%s); give the path of a file that can be",
                     runtime::quote_for_message(path).c_str(), std::strerror(error));
}

// --- CPU profile of the whole program ---

bool profiles_cpu = false;

void profile_cpu_to(const std::string& path) {
  try {
    debug::start_cpu_profile(path);
    profiles_cpu = true;
  } catch (const std::exception& error) {
    base::fatal_exit(2, "weft: WEFT_CPUPROFILE=%s: %s", runtime::quote_for_message(path).c_str(), error.what());
  }
}

void end_cpu_profile() noexcept {
  if (!std::exchange(profiles_cpu, false)) return;
  try {
    debug::stop_cpu_profile();
  } catch (const logic_error&) {
    // The program has ended it by stop_cpu_profile().
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s (WEFT_CPUPROFILE)\n", error.what());
  }
}

// --- debug server ---

void serve_on(const std::string& address) {
  try {
    static const auto* server = new debug::server(debug::serve(address));  // for the rest of the process's life
    static_cast<void>(server);
  } catch (const std::exception& error) {
    base::fatal_exit(2, "weft: WEFT_DEBUG_ADDR=%s: %s", runtime::quote_for_message(address).c_str(), error.what());
  }
}

// --- start ---

void refuse_second_copy() {
  os::mark_instance_started();
  if (const char* other = os::other_started_instance())
    base::fatal_exit(
        2, "weft: two copies of the runtime in one process; the other is in %s. Link weft into one shared object only",
        other);
}

// WEFT_DEBUG=ladder: the scheduler as it was after one step of the original plan. What a step brings is measured by
// leaving out the steps after it. V1, Ps without anything on them, is V0 here, because weft has Ps throughout.
void step_down_to(unsigned step) {
  if (step < 2) {  // V2: free lists on the Ps
    scheduler.records.keep_no_caches();
    scheduler.stacks.keep_no_caches();
  }
  sched::settings.prompt_park = step < 5;  // V5: spinning
}

// V3: queues on the Ps, under one lock; V4: without it.
sched::Policy& policy_of_step(unsigned step) {
  static policy::OneLock one_lock;
  if (step == 3) return one_lock;
  return runtime::policy_of(step < 3 ? policy_kind::global : policy_kind::classic);
}

// Without a seed the runtime takes one and prints it, so that a failure can be reproduced.
std::uint64_t seed_of(const char* key, const runtime::Seeded& seeded) {
  if (seeded.seed) return *seeded.seed;
  const std::uint64_t seed = os::ticks() % 1'000'000;
  std::fprintf(stderr, "weft: WEFT_DEBUG=%s=%llu\n", key, static_cast<unsigned long long>(seed));
  return seed;
}

void apply_debug(const runtime::DebugSettings& debug) {
  sched::Settings& settings = sched::settings;
  if (debug.spin_us) settings.spin_us = *debug.spin_us;
  if (debug.randsched.on) {
    settings.random_schedule = true;
    settings.random_seed = seed_of("randsched", debug.randsched);
  }
  if (debug.starve.on) scheduler.starvation.begin(seed_of("starve", debug.starve), os::now_ns());
  settings.preempt_always = debug.preempt;
  settings.seed_search_order = debug.seed_search_order.value_or(false);
  settings.spawn_at_back = debug.spawn_at_back.value_or(false);
  settings.wake_on_last_p = debug.wake_on_last_p.value_or(false);
  settings.early_timers = debug.early_timers;
  if (debug.retreats) settings.retreats = *debug.retreats ? sched::Retreats::kAlways : sched::Retreats::kNever;
  if (debug.leases) settings.leases = *debug.leases ? sched::Leases::kAlways : sched::Leases::kNever;
  scheduler.sites_block.store_relaxed(settings.leases == sched::Leases::kAlways);
  if (debug.buggify) base::set_delay_seed(*debug.buggify | 1);
#if !WEFT_DEBUG_CHECKS
  if (debug.buggify) std::fputs("weft: WEFT_DEBUG: buggify has no effect in a build without debug checks\n", stderr);
#endif
  if (debug.ladder) step_down_to(*debug.ladder);
}

void apply_settings() {
  sched::Settings& settings = sched::settings;
  if (environment.preempt) settings.preempt = *environment.preempt;
  if (environment.slice_ms) settings.slice_ns = *environment.slice_ms * 1'000'000ll;
  apply_debug(environment.debug);
  settings.kroc_batches = environment.kroc_batches;
  if (environment.max_threads)
    settings.max_threads = static_cast<std::uint32_t>(*environment.max_threads);
  else if (first_options.max_threads != 0)
    settings.max_threads = static_cast<std::uint32_t>(std::min<std::size_t>(first_options.max_threads, 1'000'000));
  scheduler.stacks.set_default_size(environment.stack_size.value_or(first_options.stack_size));
  const std::size_t room = scheduler.stacks.least_room();
  scheduler.guard_distance = settings.preempt_always ? 0 : room - std::min(room / 4, sched::kGuardSlack);
}

void start_locked() {
  if (scheduler.forked.load_relaxed()) sched::refuse_in_forked_child();
  environment = runtime::settings_from_environment_or_exit();
  refuse_second_copy();
  owner_pid = getpid();
  os::calibrate_ticks();
  os::refresh_allowed_cpus();
  apply_settings();
  base::set_describe_thread(describe_thread);
  sched::hooks.warn_thread_refused = warn_thread_refused;
  sched::hooks.warn_signal_refused = service::say_that_signal_is_refused;
  sched::hooks.poke_sysmon = service::poke_sysmon;
  sched::hooks.all_idle = service::check_for_deadlock;
  sched::hooks.watch_locks = service::look_for_partial_deadlocks;
  if (environment.deadlock == runtime::PartialDeadlock::kFatal) service::make_partial_deadlocks_fatal();
  sched::hooks.thread_started = thread_started;
  sched::hooks.thread_ending = thread_ending;
  sched::hooks.report_overflow = service::report_overflow;
  sched::hooks.tell_wait = api::tell_wait;
  sched::hooks.tell_meeting = api::tell_meeting;
  sched::hooks.tell_wakers = api::tell_wakers;
  service::install_crash_reports(service::request_dump_and_exit);
  if (environment.dump_signal && !service::dump_on_signal(*environment.dump_signal, service::request_dump))
    base::fatal_exit(2, "weft: WEFT_DUMP_SIGNAL=%d: this signal is in use, or cannot be handled; choose another one",
                     *environment.dump_signal);
  service::watch_thread_mutexes();
  if (sched::settings.preempt)
    scheduler.preempt_signal.store_relaxed(service::install_preempt_signal(environment.preempt_signal.value_or(0)));

  const int by_hand = environment.maxprocs.value_or(first_options.maxprocs);
  const int maxprocs = by_hand != 0 ? by_hand : os::default_maxprocs();
  sched::Policy* policy;
  try {
    policy = environment.debug.ladder
                 ? &policy_of_step(*environment.debug.ladder)
                 : &runtime::policy_of(environment.policy ? kind_of(*environment.policy) : first_options.policy);
  } catch (const std::invalid_argument& error) {
    base::fatal_exit(2, "%s", error.what());
  }
  sched::start_scheduler(*policy, static_cast<std::uint32_t>(maxprocs));
  service::SysmonOptions sysmon;
  sysmon.schedtrace_ns = environment.schedtrace_ms.value_or(0) * 1'000'000ll;
  sysmon.follow_cpu_limits = by_hand == 0;
  sysmon.most_locked = environment.locked_fallback.value_or(std::nullopt);
  sysmon.fallback = {runtime::fallback_is_in_force, runtime::begin_fallback, runtime::end_fallback};
  service::set_helper_threads(1);
  if (!service::start_sysmon(sysmon))
    base::fatal_exit(2,
                     "weft: the system refuses to create the first thread of the runtime (%s); raise the limit on "
                     "threads (ulimit -u, pids.max)",
                     std::strerror(errno));
  set_up_tracing();
  if (environment.trace_path) trace_to(with_process_id(*environment.trace_path));
  if (environment.debug_address) serve_on(*environment.debug_address);
  if (environment.cpu_profile_path) profile_cpu_to(with_process_id(*environment.cpu_profile_path));
  std::atexit(stop_at_exit);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace

void api::start_runtime() {
  std::lock_guard guard(start_lock);
  if (!scheduler.started.load_acquire()) start_locked();  // pairs: started
}

namespace detail {

void apply_options(const options& wanted) {
  if (wanted.maxprocs != 0) require_valid_maxprocs(wanted.maxprocs);
  if (!scheduler.started.load_acquire()) {                                 // pairs: started
    runtime::policy_of(wanted.policy);  // throws if it is not available
    {
      std::lock_guard guard(start_lock);
      if (!scheduler.started.load_acquire()) {  // pairs: started
        first_options = wanted;
        start_locked();
        return;
      }
    }
  }
  if (wanted.maxprocs != 0 && !environment.maxprocs && wanted.maxprocs != runtime::maxprocs())
    runtime::set_maxprocs(wanted.maxprocs);
  if (wanted.policy != runtime::policy() && !environment.policy && wanted.policy != policy_kind::classic)
    runtime::set_policy(wanted.policy);
}

void run_returned() noexcept {
  // Registered again, because objects with static storage constructed since
  // the last time are destroyed before an older handler runs.
  static base::Atom<int> registered{0};
  if (os::current_g() == nullptr && registered.fetch_add_relaxed(1) < 1000) std::atexit(stop_at_exit);
}

}  // namespace detail

namespace runtime {

int maxprocs() {
  api::ensure_started();
  return static_cast<int>(sched::maxprocs());
}

int set_maxprocs(int n) {
  require_valid_maxprocs(n);
  api::ensure_started();
  service::set_follow_cpu_limits(false);
  sched::stop_the_world();
  const auto old = static_cast<int>(sched::maxprocs());
  if (n != old) sched::resize(static_cast<std::uint32_t>(n));
  sched::start_the_world();
  return old;
}

policy_kind policy() {
  api::ensure_started();
  return kind_of(sched::policy());
}

void set_policy(policy_kind kind) {
  sched::Policy& wanted = policy_of(kind);
  api::ensure_started();
  sched::stop_the_world();
  runtime::forget_fallback();
  if (&wanted != &sched::policy()) sched::change_policy(wanted);
  sched::start_the_world();
}

std::size_t num_goroutines() {
  // Finished is read first: a goroutine that ends in between is counted once too often,
  // and the result is never negative.
  const std::uint64_t finished = sched::total(Counter::kFinished);
  return sched::total(Counter::kSpawns) - finished;
}

void detail::stop() {
  api::ensure_started();
  sched::stop_the_world();
}
void detail::start() noexcept { sched::start_the_world(); }

void detail::visit_roots(void (*visit)(void* context, const root_range& root), void* context) noexcept {
  struct Visitor {
    void (*visit)(void* context, const root_range& root);
    void* context;
  } visitor{visit, context};
  sched::visit_roots(
      [](void* raw, const sched::Root& root) {
        const auto& to = *static_cast<Visitor*>(raw);
        to.visit(to.context, {root.begin, root.end, root.thread});
      },
      &visitor);
}

void dump(std::ostream& out) {
  stop_the_world([&] {
    const auto sink = [](void* context, std::string_view text) { *static_cast<std::ostream*>(context) << text; };
    sched::dump_goroutines(sink, &out);
    sched::dump_threads(sink, &out);
  });
}

stats read_stats() {
  api::ensure_started();
  stats result;
  result.goroutines = num_goroutines();
  result.spawns = sched::total(Counter::kSpawns);
  result.switches = sched::total(Counter::kSwitches);
  result.steals_tried = sched::total(Counter::kStealsTried);
  result.steals_won = sched::total(Counter::kStealsWon);
  result.goroutines_stolen = sched::total(Counter::kGoroutinesStolen);
  result.global_gets = sched::total(Counter::kGlobalGets);
  result.overflows = sched::total(Counter::kOverflows);
  result.passive_sleeps = sched::total(Counter::kPassiveSleeps);
  result.parks = sched::total(Counter::kParks) + result.passive_sleeps;  // a passive spinner sleeps, too
  result.unparks = sched::total(Counter::kUnparks);
  const sched::IdleView view = scheduler.idle.look();
  result.spinning = view.spinning();
  result.spinning_max = scheduler.spinning_max.load_relaxed();
  result.idle_ps = view.idle();
  result.threads_created = scheduler.threads_created.load_relaxed();
  // A thread that is just being created counts in scheduler.threads already.
  result.threads = std::min<std::uint64_t>(scheduler.threads.load_relaxed(), result.threads_created);
  result.threads_throttled = sched::total(Counter::kThreadsThrottled);
  result.handoffs = sched::total(Counter::kHandoffs);
  result.syscalls = sched::total(Counter::kCalls);
  result.retakes = sched::total(Counter::kRetakes);
  result.preempts_requested = sched::total(Counter::kPreemptsRequested);
  result.preempts_done = sched::total(Counter::kPreemptsDone);
  result.preempts_refused = sched::total(Counter::kPreemptsRefused);
  result.netpoll_wakeups = sched::total(Counter::kNetpollWakeups);
  result.timers_fired = sched::total(Counter::kTimersFired);
  result.stw_count = scheduler.stw_count.load_relaxed();
  result.stw_last_ns = scheduler.stw_last_ns.load_relaxed();
  result.stw_max_ns = scheduler.stw_max_ns.load_relaxed();
  result.fallbacks = sched::total(Counter::kFallbacks);
  result.corun_ns = sched::gangs.together_ns();
  result.same_thread = sched::total(Counter::kLastMachineHits);
  result.other_thread = sched::total(Counter::kLastMachineMisses);
  const std::uint64_t migrations = sched::total(Counter::kMigrations);
  result.same_processor = result.switches > migrations ? result.switches - migrations : 0;  // read at two moments
  result.slots_stolen = sched::total(Counter::kSlotsStolen);
  result.idle_runs = sched::total(Counter::kIdleRuns);
  result.locked_handoffs = sched::total(Counter::kLockedHandoffs);
  result.long_calls = sched::total(Counter::kLongCalls);
  result.spins = sched::total(Counter::kSpins);
  result.starts = sched::total(Counter::kStarts);
  result.exiles = sched::total(Counter::kExiles);
  result.leases = sched::total(Counter::kLeases);
  result.retreats = sched::total(Counter::kRetreats);
  result.batches = sched::batch_members.count();
  result.batch_joins = sched::total(Counter::kBatchJoins);
  result.batch_splits = sched::total(Counter::kBatchSplits);
  result.batches_offered = sched::total(Counter::kBatchesOffered);
  result.batches_stolen = sched::total(Counter::kBatchesStolen);
  result.migrations = migrations;
  result.same_p_wakes = result.same_processor;
  result.injections = sched::total(Counter::kInjections);
  std::uint64_t runnable = scheduler.inject.size() + scheduler.idle_priority.size() + scheduler.starved.size();
  for (std::uint32_t i = 0; i < sched::maxprocs(); ++i) {
    const sched::Processor& p = *scheduler.processors[i];
    runnable += sched::policy().load(p).all();
    if (p.slot.look()) ++runnable;
    if (sched::runs_goroutine(p)) ++result.running;
    if (p.status() == sched::PStatus::kInCall) ++result.in_syscall;
  }
  result.in_syscall += static_cast<std::uint64_t>(std::max<std::int64_t>(scheduler.in_call.load_relaxed(), 0));
  result.runnable = runnable;
  const std::uint64_t active = result.runnable + result.running + result.in_syscall;
  result.waiting = result.goroutines > active ? result.goroutines - active : 0;
  return result;
}

}  // namespace runtime
}  // namespace weft
