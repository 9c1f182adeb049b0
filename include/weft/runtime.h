// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/detail/errno.h"
#include "weft/detail/goroutine_id.h"

// The runtime: one per process, started at first use.
namespace weft {

enum class policy_kind { classic, global, batch, matrix };

// The environment overrides these: WEFT_MAXPROCS, WEFT_POLICY, WEFT_STACK_SIZE, WEFT_MAX_THREADS, ...
struct options {
  int maxprocs = 0;  // 0: the CPUs this process may use (affinity, cgroup quota); changes are followed live
  policy_kind policy = policy_kind::classic;
  std::size_t stack_size = 0;   // bytes; 0: 1 MiB (run(): 8 MiB), or 256 KiB where address space is scarce
  std::size_t max_threads = 0;  // 0: 10,000. At the cap, work waits for a thread; nothing fails
};

struct stats {
  std::uint64_t goroutines = 0, runnable = 0, running = 0, waiting = 0, in_syscall = 0;
  std::uint64_t spawns = 0, switches = 0;
  std::uint64_t steals_tried = 0, steals_won = 0, goroutines_stolen = 0;
  std::uint64_t global_gets = 0, overflows = 0;
  std::uint64_t parks = 0, unparks = 0, spinning = 0, spinning_max = 0, idle_ps = 0;
  std::uint64_t threads = 0, threads_created = 0, threads_throttled = 0;
  std::uint64_t handoffs = 0, syscalls = 0, retakes = 0;
  std::uint64_t preempts_requested = 0, preempts_done = 0, preempts_refused = 0;
  std::uint64_t netpoll_wakeups = 0, timers_fired = 0;
  std::uint64_t stw_count = 0, stw_last_ns = 0, stw_max_ns = 0;
  // How long task forces ran together, added up: all members at once, or one on each P (policy_kind::matrix).
  std::uint64_t corun_ns = 0;
  // How often many locked goroutines made the runtime go to the global policy (WEFT_LOCKED_FALLBACK).
  std::uint64_t fallbacks = 0;
  // Not part of the contract: these show the scheduler's optimisations at work.
  std::uint64_t same_thread = 0, other_thread = 0;  // a P got the M it last ran with, or another
  std::uint64_t same_processor = 0;                 // a goroutine was resumed on the P it last ran on
  std::uint64_t slots_stolen = 0, idle_runs = 0, locked_handoffs = 0, long_calls = 0, passive_sleeps = 0, spins = 0,
                starts = 0;
  std::uint64_t exiles = 0;  // of preempts_done: a signal took the P, and the goroutine computed on without it
  // How often a goroutine that blocks its thread in plain calls went back to user code, its P up for others.
  std::uint64_t leases = 0;
  std::uint64_t retreats = 0;    // a P gave its goroutines to another, because sharing channels or locks cost too much
  std::uint64_t injections = 0;  // of preempts_done: stopped by a signal between two instructions (preemptible)
  // How many batches there are now (runtime::batches), and how often a goroutine joined one.
  std::uint64_t batches = 0, batch_joins = 0;
  // The batch policy: runs that ended with a split, and batches that thieves could see or have taken.
  std::uint64_t batch_splits = 0, batches_offered = 0, batches_stolen = 0;
  std::uint64_t migrations = 0;    // a goroutine was resumed on another P than the one it last ran on
  std::uint64_t same_p_wakes = 0;  // a goroutine was resumed on the P it last ran on
};

// Goroutines that talk with each other, as the batch policy has seen them wake each other through channels.
struct batch_info {
  std::uint64_t id = 0;
  std::vector<goroutine_id> members;
  std::vector<std::string> channels;  // through which they met: the names, or "chan" and the address; the first six
  std::uint64_t meetings = 0;
  int processor = 0;  // where they met last
};

namespace runtime {

int maxprocs();
int set_maxprocs(int n);  // returns the old value; n < 1 or > 1024 throws logic_error
std::size_t num_goroutines();
stats read_stats();  // without stopping the world
// Writes what every goroutine and thread does. Stops the world meanwhile.
void dump(std::ostream& out);
// A goroutine that waits for what nothing alive can reach any more: it would wait for ever.
struct leak {
  goroutine_id id;
  std::string name, reason, object;  // reason: such as "chan send"
  std::string started_at;            // file:line, or the function where the line is not known
  std::vector<std::string> stack;    // innermost first: function file:line
};
// Stops the world for the time it takes to fork a copy of the process, which is searched (docs/debugging.md). A pointer
// that is hidden (written in another form, or kept outside the process) is not seen.
std::vector<leak> find_leaks();
policy_kind policy();
// Stops the world for the change. Throws std::invalid_argument for a policy that is not available.
void set_policy(policy_kind kind);
// The batches of at least two goroutines; none under other policies than batch. Stops the world meanwhile.
std::vector<batch_info> batches();

namespace detail {
void stop();
void start() noexcept;
}  // namespace detail

// Runs f while every other goroutine stands still: at a safe point, or in the middle of code that never gives way.
// Goroutines in weft::blocking go on until their call ends. f must not take a lock that goroutines lock outside
// no_preempt regions, because its holder may stand still; malloc and stdio work as usual. Returns what f returns, even
// a reference.
template <class F>
decltype(auto) stop_the_world(F&& f) {
  static_assert(std::is_invocable_v<F>,
                "weft::runtime::stop_the_world: the function must be callable without arguments: "
                "capture what it needs in a lambda");
  if constexpr (std::is_invocable_v<F>) {
    struct guard {
      guard() { detail::stop(); }
      ~guard() { detail::start(); }
    } stopped;
    return std::invoke(std::forward<F>(f));
  }
}

// Memory in which goroutines may keep pointers, for garbage collectors: their stacks, and the closures of goroutines
// that have not started yet.
struct root_range {
  const void* begin;
  const void* end;
  // Not 0: the goroutine is in a call on this thread, which may change the range, and keeps more pointers in its
  // registers.
  int thread;
};

namespace detail {
void visit_roots(void (*visit)(void* context, const root_range& root), void* context) noexcept;
}  // namespace detail

// Calls visit(root) for each root; inside stop_the_world. visit must not allocate where that may wait for a goroutine,
// because the goroutines in calls may have been stopped, too.
template <class F>
void for_each_root(F&& visit) {
  detail::visit_roots(
      [](void* context, const root_range& root) { (*static_cast<std::remove_reference_t<F>*>(context))(root); },
      std::addressof(visit));
}

}  // namespace runtime

namespace detail {
// The outermost run() has returned: goroutines that still run are to be stopped before static destructors run.
void run_returned() noexcept;
}  // namespace detail

}  // namespace weft
