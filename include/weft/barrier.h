// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/wait_queue.h"

namespace weft {

namespace detail {

[[noreturn]] void throw_negative_barrier();

class barrier_core {
 public:
  constexpr barrier_core(std::ptrdiff_t expected, const char* name)
      : queue_(name), expected_(expected), missing_(expected) {
    if (expected < 0) throw_negative_barrier();
  }
  barrier_core(const barrier_core&) = delete;

  struct arrival {
    std::uint64_t phase;
    bool is_last;  // this arrival completes the phase
  };
  arrival arrive(std::ptrdiff_t n, std::ptrdiff_t dropped);
  void complete() noexcept;
  bool wait(std::uint64_t phase, std::int64_t deadline_ns) noexcept;

 private:
  friend struct inspector;
  // For TSan: the token of a phase. Two tokens alternate, because some participants may already be in the next phase.
  const void* word_of(std::uint64_t phase) const noexcept {
    return phase % 2 == 0 ? static_cast<const void*>(&expected_) : static_cast<const void*>(&missing_);
  }
  wait_queue queue_;  // its lock guards the rest
  std::ptrdiff_t expected_, missing_;
  std::uint64_t phase_ = 0;
};

struct no_completion {
  void operator()() const noexcept {}
};

}  // namespace detail

// Phases that all participants complete together. The last participant to arrive runs the completion function before
// any participant goes on.
template <class CompletionFunction = detail::no_completion>
class barrier {
 public:
  class [[nodiscard]] arrival_token {
   public:
    arrival_token(arrival_token&&) noexcept = default;
    arrival_token& operator=(arrival_token&&) noexcept = default;

   private:
    friend barrier;
    explicit arrival_token(std::uint64_t phase) noexcept : phase_(phase) {}
    std::uint64_t phase_;
  };

  constexpr explicit barrier(std::ptrdiff_t expected, CompletionFunction completion = CompletionFunction(),
                             const char* name = nullptr)
      : core_(expected, name), completion_(std::move(completion)) {}

  static constexpr std::ptrdiff_t max() noexcept { return std::numeric_limits<std::ptrdiff_t>::max(); }

  // Arrives without waiting. Throws logic_error, and changes nothing, if n is not positive or more than are still
  // missing.
  arrival_token arrive(std::ptrdiff_t n = 1) { return arrival_token(arrive_and_complete(n, 0).phase); }
  // Blocks until the phase of the token is complete.
  void wait(arrival_token&& token) const { core_.wait(token.phase_, detail::forever); }
  // False: the phase is not complete at the time limit.
  template <class Rep, class Period>
  bool wait_for(const arrival_token& token, std::chrono::duration<Rep, Period> limit) const {
    return core_.wait(token.phase_, detail::deadline_in(limit));
  }
  template <class Clock, class Duration>
  bool wait_until(const arrival_token& token, std::chrono::time_point<Clock, Duration> limit) const {
    return detail::wait_by_clock(
        limit, [&](std::int64_t deadline_ns) { return core_.wait(token.phase_, deadline_ns); });
  }
  void arrive_and_wait() {
    const detail::barrier_core::arrival arrival = arrive_and_complete(1, 0);
    // The participant that completes the phase does not wait, because the others may have destroyed the barrier.
    if (!arrival.is_last) core_.wait(arrival.phase, detail::forever);
  }
  // Arrives, and is not expected in later phases.
  void arrive_and_drop() { arrive_and_complete(1, 1); }

 private:
  detail::barrier_core::arrival arrive_and_complete(std::ptrdiff_t n, std::ptrdiff_t dropped) {
    const detail::barrier_core::arrival arrival = core_.arrive(n, dropped);
    if (arrival.is_last) complete();
    return arrival;
  }
  void complete() noexcept {  // an exception would leave the others waiting for ever
    completion_();
    core_.complete();
  }
  mutable detail::barrier_core core_;
  [[no_unique_address]] CompletionFunction completion_;
};

}  // namespace weft
