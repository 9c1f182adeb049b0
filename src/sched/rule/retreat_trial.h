// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

// Was it right that a P retreated? sharing_meter.h only suspects so, because what a meeting costs differs between machines and
// programs by a factor of ten. So each retreat is a trial, judged by what goroutines get done.
//   Measure  Uses of channels per second by all Ms: with the P, for at least kBeforeNs before it retreats; without it, for
//            kAfterNs, from kSettleNs after it retreated on (biases of locks have been revoked and given anew by then).
//   Verdict  The P comes back at once if the program did more than 1.25 times as much with it. A second core that brings less
//            costs more than 1.6 times the CPU time for the same work.
//   Pause    After a trial that was wrong no P retreats for kPauseNs, doubled each time up to kLongestPauseNs: a wrong trial
//            costs less than a millisecond, so trials cost less than 1 % of the time.
//   Unknown  Programs that meet at mutexes may use no channels at all. Then the meter is trusted.
//   Owner    sysmon. It alone has the time to look, whatever becomes of the M that held the P.
namespace weft::sched {

class RetreatTrial {
 public:
  static constexpr std::int64_t kBeforeNs = 300'000, kSettleNs = 200'000, kAfterNs = 400'000;
  static constexpr std::int64_t kPauseNs = 100'000'000, kLongestPauseNs = 3'200'000'000;
  static constexpr std::uint64_t kFewest = 100;  // uses; fewer say nothing

  // How much of something was done in a time.
  struct Work {
    std::uint64_t uses = 0;
    std::int64_t ns = 1;
  };

  enum class Verdict : std::uint8_t { kNone, kRight, kWrong };

  bool is_on() const noexcept { return began_ns_ != 0; }
  void begin(std::int64_t now_ns, Work before) noexcept {
    began_ns_ = now_ns;
    counts_ = false;
    before_ = before;
  }
  // While it is on: `uses` so far, which may wrap. kNone: look again at next_look_ns().
  Verdict look(std::int64_t now_ns, std::uint32_t uses) noexcept {
    if (now_ns < next_look_ns()) return Verdict::kNone;
    if (!counts_) {
      counts_ = true;
      since_ns_ = now_ns;
      uses_then_ = uses;
      return Verdict::kNone;
    }
    const Verdict verdict = judge(before_, {uses - uses_then_, now_ns - since_ns_});
    began_ns_ = 0;
    wrong_in_a_row_ = verdict == Verdict::kWrong ? wrong_in_a_row_ + 1 : 0;
    return verdict;
  }
  std::int64_t next_look_ns() const noexcept { return counts_ ? since_ns_ + kAfterNs : began_ns_ + kSettleNs; }
  // After a wrong one.
  std::int64_t pause_ns() const noexcept {
    return std::min(kPauseNs << std::min(wrong_in_a_row_ - 1, 10), kLongestPauseNs);
  }

  static Verdict judge(Work with, Work without) noexcept {
    if (with.uses < kFewest) return Verdict::kRight;
    // with.uses / with.ns > 5/4 * without.uses / without.ns
    const auto more = 4 * with.uses * static_cast<std::uint64_t>(without.ns);
    return more > 5 * without.uses * static_cast<std::uint64_t>(with.ns) ? Verdict::kWrong : Verdict::kRight;
  }

 private:
  std::int64_t began_ns_ = 0;  // 0: none is on
  bool counts_ = false;        // the P's goroutines have settled
  std::int64_t since_ns_ = 0;
  std::uint32_t uses_then_ = 0;
  Work before_;
  int wrong_in_a_row_ = 0;
};

}  // namespace weft::sched
