// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/queue/idle_word.h"

// Rule R: when is another core worth waking, and how does an M without work wait?
//   Cost   Waking a sleeping core takes 20 to 50 us and costs the waker several us; a switch costs 15 ns. So weft is
//          work conserving within a bound (kPassiveLimitNs), not at once.
//   R1     Next. What is put into the slot of the waker's P runs there next. It wakes no core while an M spins, or
//          while no P is idle. Otherwise it wakes one, unless the waker is known to run briefly (R5).
//   R2     Offered. Work that thieves can take wakes the passive spinner if there is one. Otherwise it wakes one M if a
//          P is idle and no M spins: one spinner suffices (A30).
//   R3     Replaced. A spinner that leaves with work while a P is idle wakes its successor (A22), unless that work is
//          brief (R7).
//   R4     Thieves. A thief that runs dry within kProductiveUs of its steal got crumbs. After two such steals in a row
//          it does not spin, and sleeps suppressed, longer each time (thief_record.h).
//   R5     Runners. A goroutine that computes on for more than kLongUs after it woke another one is a long runner: what
//          it wakes goes to where thieves see it. One that gives way sooner is a short runner (run_habits.h).
//   R6     Passive. A spinner looks for kSpinUs. Then one M sleeps as the passive spinner, kPassiveFirstNs doubling to
//          kPassiveLimitNs, and at each look takes what has not moved since the look before (pause.h).
//   R7     Brief. Sleepers that together run for less than kBriefTogetherUs, beside no other new work, wake no second
//          thread, and no M spins after them (brief_sleepers.h).
//   R8     Recall. A suppressed spinner is woken only for a backlog that costs more than a wake: kLargeBacklog
//          goroutines, or kLongUs of work. A P that has retreated is recalled only for work that outweighs sharing
//          (state/apart.h).
//   R9     Last. The last spinner retires only when every other P is idle (W2 in idle_word.h). R1 relies on it.
//   Pure   Functions of facts that the mechanism reads: no clock, no thread, no global. arrivals.cc asks when work
//          comes, search.cc and passive_watch.cc when an M looks for it.
namespace weft::sched::rule {

// --- all numbers of rule R ---
inline constexpr std::uint32_t kSpinUs = 20;           // R6: about the price of a wake, so at most twice that is lost
inline constexpr std::uint32_t kProductiveUs = 5;      // R4: about what moving a goroutine and its data costs
inline constexpr std::uint32_t kFruitlessLimit = 2;    // R4: steals in a row; a single one may be bad luck
inline constexpr std::uint32_t kFruitlessMost = 10;    // R4: more are not counted
inline constexpr std::uint32_t kMostSuppressions = 8;  // R4: the longest takes 12.8 ms, 50 us doubled eight times
inline constexpr std::int64_t kForgottenNs = 10'000'000;    // R4: so long after one the next suppression is short again
inline constexpr std::uint32_t kLongUs = 10;                // R5, R8: half of the least price of a wake
inline constexpr std::uint64_t kLargeBacklog = 128;         // R8: goroutines, however short their runs
inline constexpr std::int64_t kPassiveFirstNs = 50'000;     // R6: the kernel's timer slack for a thread
inline constexpr std::int64_t kPassiveLimitNs = 4'000'000;  // R6: less than half a time slice
inline constexpr std::int64_t kSuppressedLookNs = 200'000;  // R6: a suppressed M looks around so often
inline constexpr std::int64_t kApartLookNs = 1'000'000;     // R6: the first pause of an M whose P has retreated
inline constexpr std::uint64_t kAgedUs = 3;  // R6: a slot whose P has not dispatched for so long may be robbed
// R5, R7: a shorter run is brief. To wake another thread for it, which would come in between, costs half of that.
inline constexpr std::uint32_t kBriefUs = 50;
inline constexpr std::uint64_t kBriefTogetherUs = 200;  // R7: a measured run is now and then three times the usual one

// R1, R2: a P is idle and no M looks for work.
constexpr bool lacks_spinner(IdleView view) noexcept { return view.idle() > 0 && view.spinning() == 0; }

enum class Wake : std::uint8_t { kNone, kPassive, kOne };

// R2: whom work that was offered wakes, if the passive spinner is not suppressed.
constexpr Wake whom_to_wake(IdleView view) noexcept {
  if (view.passive()) return Wake::kPassive;
  return lacks_spinner(view) ? Wake::kOne : Wake::kNone;
}

// R3: the caller was a spinner and leaves with work. `before`: the idle word until then.
constexpr bool needs_successor(IdleView before) noexcept { return before.spinning() == 1 && before.idle() > 0; }

// What waits, and how long it will take if goroutines go on to run for as long as they have.
struct Backlog {
  std::uint64_t goroutines;
  std::uint32_t average_ns;
  constexpr std::uint64_t ns() const noexcept { return goroutines * average_ns; }
};

// R8: is it worth waking a thief whose last steals were worthless?
constexpr bool worth_recalling(Backlog backlog) noexcept {
  return backlog.goroutines >= kLargeBacklog || backlog.ns() >= std::uint64_t{kLongUs} * 1000;
}

// R4: would a steal from there be worth it?
constexpr bool worth_stealing(Backlog backlog) noexcept { return backlog.ns() >= std::uint64_t{kProductiveUs} * 1000; }

}  // namespace weft::sched::rule
