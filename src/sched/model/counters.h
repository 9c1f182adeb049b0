// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"

namespace weft::sched {

// What the runtime counts. Each P has its own set, which its owner bumps without a locked operation. The reader adds
// the sets up.
enum class Counter : std::uint8_t {
  kSpawns,
  kFinished,
  kSwitches,
  kStealsTried,
  kStealsWon,
  kGoroutinesStolen,
  kSlotsStolen,
  kGlobalGets,
  kOverflows,
  kParks,
  kUnparks,
  kSpins,
  kPassiveSleeps,
  kHandoffs,
  kCalls,
  kLongCalls,
  kRetakes,
  kPreemptsRequested,
  kPreemptsDone,
  kPreemptsRefused,
  kExiles,
  kLeases,
  kInjections,
  kNetpollWakeups,
  kTimersFired,
  kThreadsThrottled,
  kLastMachineHits,
  kLastMachineMisses,
  kMigrations,  // a goroutine runs on another P than the last time
  kIdleRuns,
  kLockedHandoffs,
  kStarts,
  kBatchJoins,    // a goroutine joined a batch of those it talks with (batch_members.h)
  kBatchSplits,   // the batch policy's
  kBatchesOffered,
  kBatchesStolen,
  kRetreats,  // a P gave its work to another, because they shared too closely
  kFallbacks,  // the runtime went to the global policy because of many locked goroutines
  kCount,
};

class CounterSet {
 public:
  // Owner of the P only.
  void bump(Counter counter, std::uint64_t by = 1) noexcept { at(counter).bump(by); }
  // Any thread.
  void add(Counter counter, std::uint64_t by = 1) noexcept { at(counter).fetch_add_relaxed(by); }
  std::uint64_t read(Counter counter) const noexcept {
    return values_[static_cast<std::size_t>(counter)].load_relaxed();
  }

 private:
  base::Atom<std::uint64_t>& at(Counter counter) noexcept { return values_[static_cast<std::size_t>(counter)]; }
  std::array<base::Atom<std::uint64_t>, static_cast<std::size_t>(Counter::kCount)> values_{};
};

}  // namespace weft::sched
