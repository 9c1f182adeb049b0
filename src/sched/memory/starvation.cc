// SPDX-License-Identifier: MIT
#include "sched/memory/starvation.h"

#include <time.h>
#include <algorithm>

#include "base/random.h"
#include "os/clock.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kShortestNs = 1'000'000;
constexpr std::uint32_t kDoublings = 11;  // to just under 2048 ms
constexpr std::uint32_t kOneIn = 16;
constexpr std::int64_t kShare = 5;  // sleeps may take one part in five of the time

}  // namespace

void Starvation::begin(std::uint64_t seed, std::int64_t now_ns) noexcept {
  drawn_.store_relaxed(seed << 32);
  begun_ns_ = now_ns;
  on_ = true;
}

std::int64_t Starvation::draw(std::int64_t now_ns) noexcept {
  base::Random random(drawn_.fetch_add_relaxed(1));
  random.next();  // neighbouring seeds differ little in the first number
  if (random.below(kOneIn) != 0) return 0;
  const std::int64_t shortest = kShortestNs << random.below(kDoublings);
  const std::int64_t wanted = shortest + random.below(static_cast<std::uint32_t>(shortest));
  const std::int64_t left = (now_ns - begun_ns_) / kShare - spent_ns_.load_relaxed();
  const std::int64_t length = std::min(wanted, left);
  if (length < kShortestNs) return 0;
  if (spent_ns_.fetch_add_relaxed(length) + length <= (now_ns - begun_ns_) / kShare) return length;
  spent_ns_.fetch_add_relaxed(-length);  // two threads drew at once, and there is not enough for both
  return 0;
}

void Starvation::visit() noexcept {
  const std::int64_t now_ns = os::now_ns();
  const std::int64_t length = draw(now_ns);
  if (length == 0) return;
  // An absolute deadline, because the runtime's own signal restarts the call (arch/restart_call.h), every millisecond
  // while the world is to stop. Another signal may end the sleep early; no caller relies on its length.
  const std::int64_t end_ns = now_ns + length;
  const timespec end{end_ns / 1'000'000'000, end_ns % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr);
}

}  // namespace weft::sched
