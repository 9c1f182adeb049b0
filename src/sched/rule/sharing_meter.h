// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/atomic.h"
#include "sched/rule/retreat_trial.h"

// Is a P worth its core? Goroutines that share channels and locks can be slower on two Ps than on one.
//   Loss        A *meeting* is the use of a lock that another M used last. The lock's cache lines come from the other
//               core, and no M can keep a bias on it. One meeting costs 0.15 to 0.9 us (rows `count` to `banking` of
//               bench/run: CPU time at P = 2 less that at P = 1, divided by the number of meetings). Waiting for a
//               lock, or for its bias to be revoked, is added as measured.
//   Rule        A P that seems to lose more than a quarter of its time for a while *retreats*: it gives its goroutines
//               to another busy P and stays apart. Whether that was right shows in how much gets done then
//               (retreat_trial.h).
//   Return      after 10 ms. If the P has to retreat again less than kLongestNs after its return, that retreat lasts
//               40 ms, and the next one 160 ms: each return revokes biases, which takes milliseconds to mend. After a
//               wrong retreat the next one lasts 10 ms again.
//   Owner       the M of the P. Others may read until_ns, and sysmon takes a wrong retreat back by writing it.
//   Rejected    judging by dispatches per second with one P and with two: buffered channels need more dispatches for
//               the same work on two.
//               counting migrations: a stolen goroutine that shares nothing afterwards was worth stealing.
namespace weft::sched {

class SharingMeter {
 public:
  static constexpr std::int64_t kMeetingNs = 500;
  static constexpr std::int64_t kJudgedNs = 32 * kMeetingNs;  // ns lost: time to look at the clock
  static constexpr std::int64_t kMostLost = 4;                // one ns of this many may be lost
  static constexpr int kTooOften = 3;                         // windows in a row that lost more; on trial one is enough

  // Both return true when so much is lost that the caller should ask judge().
  bool meet() noexcept { return lose(kMeetingNs); }
  bool lose(std::int64_t ns) noexcept { return (lost_ns_ += ns) >= kJudgedNs; }

  // Ends the window. True: too much was lost in each of the last kTooOften windows (on trial: in this one).
  bool judge(std::int64_t now_ns, bool on_trial) noexcept {
    const bool too_much = lost_ns_ * kMostLost > now_ns - since_ns_;
    since_ns_ = now_ns;
    lost_ns_ = 0;
    in_a_row_ = too_much ? in_a_row_ + 1 : 0;
    if (!too_much) suspected_ns_ = 0;
    return in_a_row_ >= (on_trial ? 1 : kTooOften);
  }

  // The time of suspect(), if every window since has lost too much; otherwise 0.
  std::int64_t suspected_ns() const noexcept { return suspected_ns_; }
  // How often all Ms had used channels at that time.
  std::uint32_t uses_then() const noexcept { return uses_then_; }
  void suspect(std::int64_t now_ns, std::uint32_t uses) noexcept {
    suspected_ns_ = now_ns;
    uses_then_ = uses;
  }
  void forget() noexcept {
    in_a_row_ = 0;
    suspected_ns_ = 0;
  }

 private:
  std::int64_t lost_ns_ = 0;
  std::int64_t since_ns_ = 0;  // when the window began
  int in_a_row_ = 0;
  std::int64_t suspected_ns_ = 0;  // 0: not suspected
  std::uint32_t uses_then_ = 0;
};

class Retreat {
 public:
  static constexpr std::int64_t kShortestNs = 10'000'000, kLongestNs = 160'000'000, kFactor = 4;

  RetreatTrial::Work before;  // what all Ms did before the retreat; published by Scheduler::retreat_on_trial

  void begin(std::int64_t now_ns) noexcept {
    length_ns_ = was_just_on(now_ns) ? std::min(kFactor * length_ns_, kLongestNs) : kShortestNs;
    until_ns_.store_relaxed(now_ns + length_ns_);
  }
  void end(std::int64_t now_ns) noexcept {
    if (is_on(now_ns)) end_at(now_ns);
  }
  // The retreat was wrong: it ends now, and the next one is short again.
  void take_back(std::int64_t now_ns) noexcept { end_at(now_ns - kLongestNs); }
  void end_at(std::int64_t then_ns) noexcept { until_ns_.store_relaxed(then_ns); }
  bool is_on(std::int64_t now_ns) const noexcept { return now_ns < until_ns(); }
  // The P has retreated, or came back less than kLongestNs ago. Then judge() takes it as on trial, so that a P that
  // shared too closely before is found out soon.
  bool was_just_on(std::int64_t now_ns) const noexcept { return now_ns < until_ns() + kLongestNs; }
  std::int64_t until_ns() const noexcept { return until_ns_.load_relaxed(); }
  // Needs no look at the clock.
  bool was_never_on() const noexcept { return length_ns_ == 0; }

 private:
  base::Atom<std::int64_t> until_ns_{-2 * kLongestNs};
  std::int64_t length_ns_ = 0;
};

}  // namespace weft::sched
