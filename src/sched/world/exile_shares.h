// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "sched/state/scheduler.h"

// Exiles count against maxprocs: sysmon lets as many of them compute as Ps are idle, and holds the rest
// (sched/core/hold.h). Sysmon's alone.
//   Turns     of a slice each; who has waited longest is next. The next one is let go when the one before stands
//             still: never both.
//   Account   what Ps and exiles have used more than maxprocs, in CPU time, is a debt: while there is one, exiles are
//             held. Ps are only looked at now and then, so no more is charged than the whole process has used. A P
//             that is in use for moments (a ticker) holds up nobody: a twentieth of a CPU is given away for that.
//   Loan      with all Ps in use, and exiles waiting: a P lies idle for a slice, at its next scheduling point, and an
//             exile has that time. In between the Ps' goroutines have theirs, in proportion to how many wait on
//             either side. A due timer ends a loan.
//   Escape    an exile may have a lock that the user of the last P waits for without giving way (no_preempt). So one
//             of them computes for a while at least every kLongestWaitNs, whatever the account says: kEscapeNs in
//             that time is 0.04 CPUs.
//   In calls  exiles that sleep in system calls use nothing: they are let be until they compute.
namespace weft::sched {

class ExileShares {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  // At each look around. Returns when it wants the next one.
  std::int64_t look(std::int64_t now) noexcept;
  // Sysmon has taken p from a hog: true: it lies idle for an exile now, in this object's hands.
  bool keep(Processor& p, std::int64_t now) noexcept;
  bool wants_loan() const noexcept { return loan_asked_; }
  bool has_loan() const noexcept { return scheduler.lent.load_relaxed() != nullptr; }

 private:
  static constexpr std::size_t kMostSamples = 32;

  // What there is at a look.
  struct Census {
    std::uint32_t waiting = 0, asked = 0, computing = 0, sleeping = 0;
    Machine* longest_wait = nullptr;
    Machine* longest_turn = nullptr;
    std::uint32_t running() const noexcept { return computing + asked; }
  };
  struct Sample {
    Machine* m;
    std::int32_t thread;
  };

  void count(std::int64_t now, Census& census) noexcept;
  void count_one(Machine& m, std::int64_t now, Census& census) noexcept;
  void sample(std::int64_t now, Census& census) noexcept;
  void settle(std::int64_t passed) noexcept;
  void act(std::int64_t now, const Census& census) noexcept;
  bool should_hold(std::int64_t now, const Census& census, std::int64_t room) const noexcept;
  void see_to_loan(std::int64_t now, const Census& census, std::int64_t room) noexcept;
  void request_loan() noexcept;
  void end_loan() noexcept;
  void hold_one(Machine* m, std::int64_t now) noexcept;
  void release_one(Machine* m, std::int64_t now) noexcept;

  Sample samples_[kMostSamples];
  std::size_t sample_count_ = 0, skip_ = 0;
  std::int64_t looked_ns_ = 0;
  std::int64_t used_ns_ = 0;    // by exiles, since the last look
  std::int64_t credit_ns_ = 0;  // of CPU time; negative: a debt
  std::int64_t process_cpu_ns_ = 0;
  std::int64_t last_turn_ns_ = 0, escape_until_ns_ = 0;
  std::int64_t loan_since_ns_ = 0, next_loan_ns_ = 0;
  std::uint32_t lender_ = 0;
  bool loan_asked_ = false, loan_ends_ = false;
};

}  // namespace weft::sched
