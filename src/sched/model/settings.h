// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>

// What the environment and tests choose, before the scheduler starts; only the slice changes later.
namespace weft::sched {

// To whom goroutines that go back to user code leave their P (lease.h): for tests and comparisons.
enum class Leases : std::uint8_t { kNever, kLearned, kAlways };
// When Ps retreat (retreat.h): the same.
enum class Retreats : std::uint8_t { kNever, kMeasured, kAlways };

struct Settings {
  std::uint32_t spin_us = 20;       // active looking before sleeping (A28)
  std::uint32_t productive_us = 5;  // R.4: a steal that lasted less was not worth it
  std::uint32_t long_us = 10;       // R.5: computing on for longer marks a long runner
  std::int64_t passive_first_ns = 50'000;
  std::int64_t passive_limit_ns = 4'000'000;
  std::uint32_t prompt_threads_per_p = 4;  // A55: k; beyond k * maxprocs threads come by timer
  std::int64_t thread_interval_ns = 1'000'000;
  std::uint32_t max_threads = 10'000;  // the cap queues work
  std::int64_t idle_thread_exit_ns = 10'000'000'000;
  std::int64_t slice_ns = 10'000'000;
  std::int64_t trim_interval_ns = 2'500'000'000;
  bool preempt = true;
  bool preempt_always = false;      // test: give way at every check
  bool wake_on_last_p = false;      // A53: WEFT_DEBUG=wake_place=last
  bool seed_search_order = false;   // K1: local, steal, global, network; WEFT_DEBUG=search_order=seed
  bool spawn_at_back = false;       // K5: WEFT_DEBUG=spawn_place=back
  bool prompt_park = false;         // the ladder: no spinning, active or passive
  bool random_schedule = false;     // tests: the slot is left out by a coin, deque and ring come in random order
  std::uint64_t random_seed = 0;    // of the Ps: which coin, which victim
  Leases leases = Leases::kLearned;
  Retreats retreats = Retreats::kMeasured;
  std::optional<bool> early_timers;  // os/early_timer.h; by default where it pays
};

inline constinit Settings settings;

}  // namespace weft::sched
