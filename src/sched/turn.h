// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

// The turn of a chain: goroutines that wake each other through the slot run one after the other, before everything that waits in the queues.
//   Rule        The chain may go on for one turn of *time*, whatever its single runs last. Then it goes behind the others.
//               Counting runs instead starves the light: sixteen runs of a pair that chats are 40 us, of a pair that computes 16 ms.
//   Length      The time slice is shared by all that wait on this P: slice / (1 + waiting), but at least kShortest. So the last in the queue
//               is served after about one slice, however many chains there are.
//   Clock       Reading it at each run would cost a fifth of a switch. The owner grants itself a number of runs and looks when they are used up:
//               first after kFirstLook runs, so that a short chain never reads the clock, then as many as should fit into what is left of the turn, kMostRuns
//               at most. A chain of long runs is looked at after each.
//   Owner       the M of the P. Times are in any unit, the caller's.
namespace weft::sched {

class Turn {
 public:
  static constexpr std::uint32_t kFirstLook = 2, kMostRuns = 16;

  // Something else than the slot was chosen: whatever comes next is a new turn.
  void begin() noexcept {
    runs_left_ = kFirstLook;
    since_ = 0;
  }
  // Nobody waits behind the chain: it goes on, and the clock need not be read soon.
  void go_on_alone() noexcept {
    since_ = 0;
    timed_runs_ = 0;
    grant(kMostRuns);
  }
  // A run through the slot that needs no look at the clock. False: ask goes_on().
  bool has_run_left() const noexcept { return runs_left_ > 0; }
  void use_run() noexcept { --runs_left_; }

  // The granted runs are used up and there is another one: may it follow at once? Never for the first kFirstLook runs, which are not timed.
  bool goes_on(std::uint64_t now, std::uint64_t length) noexcept {
    if (since_ == 0) {
      since_ = now;
      timed_runs_ = 0;
      grant(kFirstLook);
      return true;
    }
    const std::uint64_t elapsed = now - since_, each = elapsed / timed_runs_ + 1;
    const std::uint64_t used = elapsed + each * kFirstLook;  // the runs before the first look were about as long
    if (used >= length) return false;
    grant(static_cast<std::uint32_t>(std::clamp<std::uint64_t>((length - used) / each, 1, kMostRuns)));
    return true;
  }

 private:
  void grant(std::uint32_t runs) noexcept {
    runs_left_ = runs - 1;  // one follows at once
    timed_runs_ += runs;
  }

  std::uint32_t runs_left_ = kFirstLook;
  std::uint32_t timed_runs_ = 0;  // from since_ to the next look
  std::uint64_t since_ = 0;       // 0: the clock has not been read in this turn
};

}  // namespace weft::sched
