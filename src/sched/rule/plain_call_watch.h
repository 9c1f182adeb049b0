// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Finds goroutines that block their thread in a system call they did not announce. One for each P, looked through by sysmon.
//   Suspect   Others wait, and since the last look, a millisecond ago at least or without a dispatch, its thread has had the CPU for less than half
//             of the time.
//   Probe     Then it dispatches nothing and its CPU clock stands still for kStillNs more: the thread sleeps, or the kernel runs another one on its CPU. Only the thread itself can
//             tell: a signal asks it (preempt.h). A goroutine that computes is not asked for anything else.
//   Price     The CPU clock of another thread costs 200 ns, an extra look 20 us. Computing goroutines cost neither an extra look nor a signal. On a busy
//             machine, where threads stand still because others run, the pause between two probes of a P doubles up to kLongestPauseNs until one has
//             found a sleeper.
//   Rejected  /proc/self/task/T/stat and syscall (1 to 2 us, formatted text), schedstat (cannot tell asleep from preempted).
namespace weft::sched {

class PlainCallWatch {
 public:
  static constexpr std::int64_t kStillNs = 30'000;
  static constexpr std::int64_t kShortestPauseNs = 100'000, kLongestPauseNs = 10'000'000;

  enum class Advice : std::uint8_t { kNothing, kLookAgainSoon, kProbe };

  // At each look while the P runs. others_wait() says whether anybody needs the P; cpu_time() is the CPU time of its thread in ns, negative if
  // that is not to be known.
  template <class OthersWait, class CpuTime>
  Advice look(std::uint32_t tick, std::int64_t now, OthersWait others_wait, CpuTime cpu_time) noexcept {
    const bool moved = tick != tick_;
    tick_ = tick;
    const bool window_is_short = now - sampled_ns_ < kSampleAfterNs;
    if (moved && !suspected_ && window_is_short) return Advice::kNothing;  // dispatches: judged once a millisecond
    if (now < next_probe_ns_ || !others_wait()) {
      suspected_ = false;
      if (!window_is_short) sample(now, cpu_time());  // to compare with next time
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

  // A probe has found a sleeper: probing pays.
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
