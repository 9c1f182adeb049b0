// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

// Was it right that a P retreated? sharing_meter.h can only suspect that it shares too closely, because the cost of a
// meeting differs by a factor of ten between machines and programs. So each retreat is a trial. It is judged by how
// much the goroutines get done.
//   Measure  uses of channels per second by all Ms. With the P: for at least kBeforeNs before it retreats. Without it:
//            for kAfterNs, beginning kSettleNs after it retreated (by then the biases of locks are revoked and given
//            anew).
//   Verdict  The P comes back at once if the program did more than 1.25 times as much with it. A second core that
//            brings less than that costs more than 1.6 times the CPU time for the same work.
//   Pause    After a wrong trial no P retreats for kPauseNs, which doubles with each further wrong one up to
//            kLongestPauseNs. A wrong trial costs less than 1 ms, so trials cost less than 1 % of the time.
//   Unknown  Programs that meet at mutexes may use no channels at all. Then the meter is trusted.
//   Owner    sysmon. Only it has the time to look, whatever becomes of the M that held the P.
namespace weft::sched {

class RetreatTrial {
 public:
  static constexpr std::int64_t kBeforeNs = 300'000, kSettleNs = 200'000, kAfterNs = 400'000;
  static constexpr std::int64_t kPauseNs = 100'000'000, kLongestPauseNs = 3'200'000'000;
  static constexpr std::uint64_t kFewest = 100;  // uses: fewer prove nothing

  // How often all Ms used channels in a time.
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
  // While the trial is on. `uses` counts the uses by all Ms so far, and may wrap. kNone: look again at next_look_ns().
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
  // After a wrong trial.
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
  std::int64_t began_ns_ = 0;  // 0: no trial is on
  bool counts_ = false;        // the P's goroutines have settled, so uses are counted from since_ns_ on
  std::int64_t since_ns_ = 0;
  std::uint32_t uses_then_ = 0;
  Work before_;
  int wrong_in_a_row_ = 0;
};

}  // namespace weft::sched
