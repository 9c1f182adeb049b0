// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The WEFT_* environment.
//   Job       Turn variables into settings, or say in one line what is wrong and what would be right.
//   Rule      A value that cannot be used stops the program at start (exit status 2). It is never silently ignored. The
//             one exception is WEFT_DEBUG, where an unknown key or a missing value is a warning and the rest still
//             counts. A variable that begins with WEFT_ and that neither the runtime nor weft's tools know is a
//             warning, too, because it is probably a typo.
//   Numbers   plain base 10: no sign, no space, no 0x, no exponent, no overflow.
namespace weft::runtime {

enum class PolicyName { kClassic, kGlobal, kBatch, kMatrix };

enum class PartialDeadlock { kReport, kFatal };
enum class LeakCheck { kReport, kFail };

// A debugging aid that draws random numbers; without a seed the runtime takes one and prints it.
struct Seeded {
  bool on = false;
  std::optional<std::uint64_t> seed;
};

struct DebugSettings {
  Seeded randsched;                      // randomise scheduling decisions
  Seeded starve;                         // stop Ms for a while when they look for work
  std::optional<std::uint64_t> buggify;  // seed of the delays at named sites
  std::optional<unsigned> spin_us;       // how long an idle M spins
  bool preempt = false;                  // give way at every compiled-in check
  std::optional<unsigned> ladder;        // 0..5: a step of the original plan instead of the whole scheduler
  std::optional<bool> seed_search_order;  // search_order=seed: steal, global queue, network; go127: the default
  std::optional<bool> spawn_at_back;      // spawn_place=back: a new goroutine runs after those that wait; next: default
  std::optional<bool> wake_on_last_p;     // wake_place=last: the P where it ran before; here: default, the waker's P
  std::optional<bool> early_timers;       // os/early_timer.h; by default where they pay
  std::optional<bool> leases;             // leases=off: none; always: every goroutine; by default those that block
  std::optional<bool> retreats;           // retreats=off: none; always: wherever Ps share; default: if that costs much
};

// What the environment says; nullopt: the variable is not set.
struct Settings {
  std::optional<int> maxprocs;            // WEFT_MAXPROCS    1..1024
  std::optional<PolicyName> policy;       // WEFT_POLICY      classic | global | batch | matrix
  bool kroc_batches = false;              // WEFT_BATCH       kroc | own
  std::optional<std::size_t> stack_size;  // WEFT_STACK_SIZE  bytes, 16K..1G; not yet rounded to pages
  std::optional<bool> preempt;            // WEFT_PREEMPT     on | off
  std::optional<int> preempt_signal;      // WEFT_PREEMPT_SIGNAL  1..64
  std::optional<int> slice_ms;            // WEFT_SLICE       1..10000
  std::optional<int> schedtrace_ms;       // WEFT_SCHEDTRACE  1..3600000
  std::optional<std::string> trace_path;  // WEFT_TRACE; %p: the process id
  std::optional<std::string> cpu_profile_path;  // WEFT_CPUPROFILE; %p: the process id
  std::optional<std::string> debug_address;     // WEFT_DEBUG_ADDR host:port
  std::optional<std::string> debug_token;       // WEFT_DEBUG_TOKEN; read by insight/server.cc
  std::optional<int> max_threads;         // WEFT_MAX_THREADS 4..1000000
  std::optional<std::optional<std::uint32_t>> locked_fallback;  // WEFT_LOCKED_FALLBACK  1..1000000 | off (nullopt)
  std::optional<PartialDeadlock> deadlock;  // WEFT_DEADLOCK  report | fatal
  std::optional<int> dump_signal;         // WEFT_DUMP_SIGNAL 1..64
  std::optional<LeakCheck> leaks;         // WEFT_LEAKS       report | fail
  DebugSettings debug;                    // WEFT_DEBUG       key[=value],...
};

struct Parsed {
  Settings settings;                  // meaningful when ok()
  std::vector<std::string> warnings;  // each one line without its newline
  std::string error;                  // the same; empty when all values can be used
  bool ok() const noexcept { return error.empty(); }
};

// Returns the value of a variable, or null when it is not set.
using Lookup = std::function<const char*(const char* name)>;

// A pure function of its arguments: prints nothing, ends nothing.
// `names` are those of all variables that begin with WEFT_.
Parsed parse_environment(const Lookup& lookup, const std::vector<std::string>& names = {});

// Reads the process's environment. Warnings and errors go to standard error. An error ends the process with status 2 at
// once, without destructors, because other threads may be running. A set-user-id program takes nothing from its
// environment.
Settings settings_from_environment_or_exit();

// The value as it may be shown in a message: quoted, at most 60 characters long. Control characters, quotes and invalid
// UTF-8 become escapes; a cut value is followed by its size.
std::string quote_for_message(std::string_view value);

}  // namespace weft::runtime
