// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

// The turn of a chain. A chain is goroutines that wake each other through the slot. They run one after the other,
// before all work that waits in the queues.
//   Rule     A chain goes on for one turn of *time*, however long its single runs are. Then it goes behind the others.
//            Rejected: counting runs. That would starve the light chain, because sixteen runs of a pair that chats take
//            40 us, of a pair that computes 16 ms.
//   Length   The chain and all that wait on this P share the time slice: slice / (1 + waiting), but at least
//            kShortestTurnUs (classic.cc). So the last in the queue is served after about one slice, however many
//            chains there are, unless so many wait that the minimum applies.
//   Clock    Reading it at each run would cost a fifth of a switch. Instead runs are granted, and the clock is read
//            when they are used up. The first grant is kFirstLook runs, so that a short chain never reads the clock.
//            The second is one run, the first that is timed. Later grants are as many runs as should fit into the rest
//            of the turn, kMostRuns at most. For a chain of long runs that is one, so the clock is read after each.
//   Owner    The M of the P, which counts the granted runs (Processor::slot_runs). Times are in any unit of the caller.
namespace weft::policy {

class Turn {
 public:
  static constexpr std::uint32_t kFirstLook = 4, kMostRuns = 16;

  // The P takes its work from the queues, not from the slot, so the next chain begins a turn. Returns the runs it is
  // granted.
  std::uint32_t begin() noexcept {
    if (since_ != 0) since_ = 0;  // saves a store, for which the locked operation that follows would wait
    return kFirstLook;
  }
  // Nothing waits behind the chain, so it goes on and the clock need not be read soon. Returns the runs it is granted.
  std::uint32_t go_on_alone() noexcept {
    since_ = 0;
    timed_runs_ = 0;
    return grant(kMostRuns);
  }
  // The granted runs are used up, and the slot holds another goroutine. Returns the runs that the chain is granted,
  // with that goroutine's as the first; 0: the turn is over. The first call after begin() never returns 0, because the
  // first kFirstLook runs are not timed.
  std::uint32_t go_on(std::uint64_t now, std::uint64_t length) noexcept {
    if (since_ == 0) {
      since_ = now;
      timed_runs_ = 0;
      return grant(1);
    }
    const std::uint64_t elapsed = now - since_, each = elapsed / timed_runs_ + 1;
    const std::uint64_t used = elapsed + each * kFirstLook;  // the runs before the first look were about as long
    if (used >= length) return 0;
    return grant(static_cast<std::uint32_t>(std::clamp<std::uint64_t>((length - used) / each, 1, kMostRuns)));
  }

 private:
  std::uint32_t grant(std::uint32_t runs) noexcept {
    timed_runs_ += runs;
    return runs;
  }

  std::uint32_t timed_runs_ = 0;  // from since_ to the next look
  std::uint64_t since_ = 0;       // 0: the clock has not been read in this turn
};

}  // namespace weft::policy
