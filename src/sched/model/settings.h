// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>

#include "sched/rule/wake_rule.h"

// What the environment and tests choose, before the scheduler starts; only the slice changes later.
namespace weft::sched {

// When a goroutine that goes back to user code leases its P (lease.h). kNever and kAlways: for tests and comparisons.
enum class Leases : std::uint8_t { kNever, kLearned, kAlways };
// When a P retreats (retreat.h). kNever and kAlways: for tests and comparisons.
enum class Retreats : std::uint8_t { kNever, kMeasured, kAlways };

struct Settings {
  // A spinner looks actively so long before it sleeps (A28: mostly passive spinning).
  std::uint32_t spin_us = rule::kSpinUs;
  std::uint32_t prompt_threads_per_p = 4;  // A55 (paced thread creation): k; beyond k * maxprocs, by timer
  std::int64_t thread_interval_ns = 1'000'000;
  std::uint32_t max_threads = 10'000;  // with so many, work waits in queues
  std::int64_t slice_ns = 10'000'000;
  bool preempt = true;
  bool preempt_always = false;      // tests: give way at every check
  bool wake_on_last_p = false;      // A53 (wake where it last ran): WEFT_DEBUG=wake_place=last
  bool seed_search_order = false;   // K1 (search order): local, steal, global, network; WEFT_DEBUG=search_order=seed
  bool spawn_at_back = false;       // K5 (spawn runs last): WEFT_DEBUG=spawn_place=back
  bool prompt_park = false;         // the benchmarks' ladder: no spinning, active or passive
  bool random_schedule = false;     // tests: a coin decides whether the slot is used; deque and ring in random order
  bool kroc_batches = false;        // the batch policy goes by the documents' own rules: WEFT_BATCH=kroc
  std::uint64_t random_seed = 0;    // seeds the Ps' random numbers: coins, victims
  Leases leases = Leases::kLearned;
  Retreats retreats = Retreats::kMeasured;
  std::optional<bool> early_timers;  // os/early_timer.h; not set: where it pays
};

inline constinit Settings settings;

}  // namespace weft::sched
