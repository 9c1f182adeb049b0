// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "sched/state/scheduler.h"

// Exiles count against maxprocs: sysmon lets as many of them compute as Ps are idle, and holds the rest
// (sched/core/hold.h). Only sysmon's thread calls this.
//   Turns     A turn lasts one time slice. The exile that has waited longest is next. It is let go when the exile
//             before it stands still, so that the two never compute together.
//   Account   The CPU time that Ps and exiles have used beyond maxprocs is a debt. While there is a debt, exiles are
//             held. A P counts as in use for the whole time between two looks. So the charge is limited to the CPU time
//             that the whole process has used. A P that is in use for moments (a ticker) must not hold up exiles: 1/20
//             of a CPU is given away for that.
//   Loan      If all Ps are in use while exiles wait, one P is asked for a loan. It lies idle for a slice from its next
//             scheduling point on, and an exile has that time. Between two loans the Ps' goroutines have their time, in
//             proportion to how many goroutines and how many exiles wait. A due timer ends a loan.
//   Escape    An exile may hold a lock that the goroutine on the last P waits for without giving way (no_preempt). So
//             at least every kLongestWaitNs one exile computes for kEscapeNs, whatever the account says. That is 0.04
//             CPUs (2 ms in 50 ms).
//   In calls  Exiles that sleep in system calls use no CPU. They are not held until they compute.
namespace weft::sched {

class ExileShares {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  // At each of sysmon's looks. Returns the time at which it wants the next one.
  std::int64_t look(std::int64_t now) noexcept;
  // Sysmon has taken p from a goroutine that does not give way. True: p becomes the loan, and this object has it now.
  bool keep(Processor& p, std::int64_t now) noexcept;
  bool wants_loan() const noexcept { return loan_asked_; }
  bool has_loan() const noexcept { return scheduler.lent.load_relaxed() != nullptr; }

 private:
  static constexpr std::size_t kMostSamples = 32;

  // The exiles at one look. waiting: held for their turn; asked: asked to stand still, and not held yet.
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
  std::int64_t used_ns_ = 0;    // CPU time of the sampled exiles since their last sample
  std::int64_t credit_ns_ = 0;  // CPU time; negative: a debt
  std::int64_t process_cpu_ns_ = 0;
  std::int64_t last_turn_ns_ = 0, escape_until_ns_ = 0;
  std::int64_t loan_since_ns_ = 0, next_loan_ns_ = 0;
  std::uint32_t lender_ = 0;
  bool loan_asked_ = false, loan_ends_ = false;
};

}  // namespace weft::sched
