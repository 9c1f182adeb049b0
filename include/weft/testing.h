// SPDX-License-Identifier: MIT
#pragma once
#include <sys/time.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/clock.h"

// Tests of concurrent code: a virtual clock, every schedule, replay. docs/testing.md has stories.
//   Bubble     f and all goroutines that it starts run one at a time, with a clock of their own, which stands still
//              while any of them can run, and jumps to the next timer when all of them wait.
//   Schedule   What the oracle of a bubble decides: who runs next, which case of a select is taken, where a goroutine
//              stops for another, what choose() returns.
//   Clock      std::chrono::steady_clock and system_clock, clock_gettime(), gettimeofday() and time() read the virtual
//              clock in a bubble: this header defines these functions for the program. What does not call them by name
//              (a static libc's own use of them, the time-stamp counter, other processes) reads the real time.
namespace weft::testing {

// What bubble() and replay() throw: a deadlock, goroutines that are left over, fail(), an access from outside.
class failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct bubble_options {
  std::uint64_t seed = 0;  // 0: goroutines run in the order in which they became runnable; otherwise at random
};

enum class strategy { random, pct, urw, dfs, portfolio };
enum class switch_points { operations, user_code };

struct explore_options {
  strategy how = strategy::portfolio;
  std::size_t schedules = 1000;
  std::chrono::nanoseconds budget = std::chrono::seconds(10);
  std::uint64_t seed = 0;
  switch_points at = switch_points::user_code;
  int depth = 3;  // pct: the number of priority changes plus one; dfs: the most preemptions
  bool stop_at_first = true;
};

struct explore_result {
  std::size_t schedules = 0, failures = 0;
  std::string message, replay, schedule;  // of the first failure
  explicit operator bool() const noexcept { return failures == 0; }
};

namespace detail {
using function = void (*)(void*);
void run_bubble(const bubble_options& options, function call, void* f);
explore_result run_explore(const explore_options& options, function call, void* f);
void run_replay(std::string_view schedule, function call, void* f);
void settle();
void sleep_and_settle(std::int64_t ns);
// Returns how many assertions of a test framework have failed so far.
bool count_assertions_by(int (*count)()) noexcept;

template <class F>
void* address_of(F& f) noexcept {
  if constexpr (std::is_function_v<F>) {
    return reinterpret_cast<void*>(&f);
  } else {
    return const_cast<void*>(static_cast<const volatile void*>(std::addressof(f)));
  }
}
template <class F>
void call(void* f) {
  using callable = std::remove_reference_t<F>;
  if constexpr (std::is_function_v<callable>) {
    (*reinterpret_cast<callable*>(f))();
  } else {
    (*static_cast<callable*>(f))();
  }
}
}  // namespace detail

// Runs f in a bubble, and returns when f and all goroutines that it started have ended. Rethrows the exception that
// leaves f or any of them. Throws failure if they wait for each other (deadlock) or, after f has returned, for
// anything at all: then the clock stands still, and what is left will never end. Those goroutines never run again.
// One bubble runs at a time in a process: the next waits for it.
template <class F>
void bubble(const bubble_options& options, F&& f) {
  detail::run_bubble(options, &detail::call<F>, detail::address_of(f));
}
template <class F>
void bubble(F&& f) {
  bubble(bubble_options{}, std::forward<F>(f));
}

// Inside a bubble.
// Waits until all other goroutines of the bubble wait (for whatever it is), without moving the clock.
inline void settle() { detail::settle(); }
// Moves the clock forward; what is due meanwhile runs at its time. Then settles.
template <class Rep, class Period>
void advance(std::chrono::duration<Rep, Period> duration) {
  detail::sleep_and_settle(weft::detail::to_ns(duration));
}
time_point now();
// Is the calling goroutine inside a bubble?
bool active() noexcept;
// The test has failed: its bubble ends, and throws failure with this text. Outside bubbles it throws at once.
[[noreturn]] void fail(std::string_view text);

// Calls f once for each schedule, in a bubble. A failure of a schedule is what bubble() throws for, and also an
// abort, a crash, and a failed assertion of GoogleTest. The first one is printed with a replay string and its shortest
// schedule. With WEFT_REPLAY in the environment only that schedule runs.
template <class F>
explore_result explore(const explore_options& options, F&& f) {
  return detail::run_explore(options, &detail::call<F>, detail::address_of(f));
}
template <class F>
explore_result explore(F&& f) {
  return explore(explore_options{}, std::forward<F>(f));
}
// The same schedule again. Throws what it throws.
template <class F>
void replay(std::string_view schedule, F&& f) {
  detail::run_replay(schedule, &detail::call<F>, detail::address_of(f));
}

// A number below n, as the schedule says; 0 outside bubbles.
std::size_t choose(std::size_t n);
// Shall this fault happen now? Never outside bubbles. A name is active in some schedules, and then now and then.
bool buggify(const char* name);
// Over all schedules of an exploration: a condition that was looked at and never held is a failure.
void sometimes(bool condition, const char* text);
// A condition that does not hold is a failure.
void always(bool condition, const char* text);
// The same as sometimes(true, text): the place was reached.
void reachable(const char* text);

namespace detail {
int read_clock(clockid_t clock, timespec* time) noexcept;

#if defined(GTEST_INCLUDE_GTEST_GTEST_H_) || defined(GOOGLETEST_INCLUDE_GTEST_GTEST_H_)
inline int count_gtest_failures() {
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  if (test == nullptr || test->result() == nullptr) return 0;
  int failed = 0;
  for (int i = 0, n = test->result()->total_part_count(); i < n; ++i)
    if (test->result()->GetTestPartResult(i).failed()) ++failed;
  return failed;
}
inline const bool counts_gtest_failures = count_assertions_by(&count_gtest_failures);
#endif
}  // namespace detail
}  // namespace weft::testing

// The program's own, found before those of the C library. Weak, because several files may include this one.
extern "C" {
__attribute__((weak, used)) int clock_gettime(clockid_t clock, timespec* time) noexcept {
  return weft::testing::detail::read_clock(clock, time);
}
__attribute__((weak, used)) int gettimeofday(timeval* __restrict time, void* __restrict) noexcept {
  timespec now;
  weft::testing::detail::read_clock(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = static_cast<suseconds_t>(now.tv_nsec / 1000);
  return 0;
}
__attribute__((weak, used)) time_t time(time_t* result) noexcept {
  timespec now;
  weft::testing::detail::read_clock(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}
}
