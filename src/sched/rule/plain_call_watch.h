// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Finds goroutines that block their thread in a system call they did not announce. There is one watch for each P, and
// sysmon looks at it.
//   Suspect   a P beside which work waits, and whose thread had the CPU for less than half of the time since the last
//             sample. That sample is at least 1 ms old, or the P has dispatched nothing since.
//   Probe     when the suspect then dispatches nothing, and its thread's CPU clock stands still, for kStillNs more. The
//             thread sleeps, or the kernel runs another thread on its CPU. Only the thread itself can tell which, so it
//             is asked by a signal (preempt.h). The signal asks nothing else of a goroutine that computes.
//   Price     Reading the CPU clock of another thread costs 200 ns, an extra look 20 us. Goroutines that compute cause
//             neither an extra look nor a signal. On a busy machine threads stand still because others run. So the
//             pause between two probes of a P doubles, up to kLongestPauseNs, until a probe has found a sleeper.
//   Rejected  /proc/self/task/T/stat and syscall: 1 to 2 us, and formatted text.
//             schedstat: it cannot tell a thread that sleeps from one that is preempted.
namespace weft::sched {

class PlainCallWatch {
 public:
  static constexpr std::int64_t kStillNs = 30'000;
  static constexpr std::int64_t kShortestPauseNs = 100'000, kLongestPauseNs = 10'000'000;

  enum class Advice : std::uint8_t { kNothing, kLookAgainSoon, kProbe };

  // At each look while the P runs. others_wait() says whether work waits for a P. cpu_time() is the CPU time of the P's
  // thread in ns, negative if it cannot be read.
  template <class OthersWait, class CpuTime>
  Advice look(std::uint32_t tick, std::int64_t now, OthersWait others_wait, CpuTime cpu_time) noexcept {
    const bool moved = tick != tick_;
    tick_ = tick;
    const bool window_is_short = now - sampled_ns_ < kSampleAfterNs;
    if (moved && !suspected_ && window_is_short) return Advice::kNothing;  // it dispatches: judged once a millisecond
    if (now < next_probe_ns_ || !others_wait()) {
      suspected_ = false;
      if (!window_is_short) sample(now, cpu_time());  // the next look compares with it
      return Advice::kNothing;
    }
    const std::int64_t cpu = cpu_time(), used = cpu - cpu_ns_, passed = now - sampled_ns_;
    const bool known = cpu >= 0 && cpu_ns_ >= 0, was_suspected = suspected_;
    if (was_suspected && !moved && known && used == 0) {
      if (passed < kStillNs) return Advice::kLookAgainSoon;
      probe(now);
      sample(now, cpu);
      return Advice::kProbe;
    }
    suspected_ = cpu >= 0 && (!known || used < passed / 2) && !(was_suspected && moved);
    sample(now, cpu);
    return suspected_ ? Advice::kLookAgainSoon : Advice::kNothing;
  }

  // A probe has found a sleeper, so probing pays: back to the shortest pause.
  void succeeded() noexcept {
    pause_ns_ = kShortestPauseNs;
    next_probe_ns_ = 0;
  }

 private:
  static constexpr std::int64_t kSampleAfterNs = 1'000'000;

  void probe(std::int64_t now) noexcept {
    suspected_ = false;
    next_probe_ns_ = now + pause_ns_;
    pause_ns_ = pause_ns_ < kLongestPauseNs / 2 ? pause_ns_ * 2 : kLongestPauseNs;
  }
  void sample(std::int64_t now, std::int64_t cpu) noexcept {
    sampled_ns_ = now;
    cpu_ns_ = cpu;
  }

  std::uint32_t tick_ = 0;
  bool suspected_ = false;
  std::int64_t sampled_ns_ = 0, cpu_ns_ = -1;
  std::int64_t next_probe_ns_ = 0, pause_ns_ = kShortestPauseNs;
};

}  // namespace weft::sched
