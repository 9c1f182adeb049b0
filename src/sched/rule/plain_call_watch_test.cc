// SPDX-License-Identifier: MIT
#include "sched/rule/plain_call_watch.h"

#include <gtest/gtest.h>

namespace weft::sched {
namespace {

using Advice = PlainCallWatch::Advice;
constexpr std::int64_t kUs = 1'000, kMs = 1'000'000;

// A P as sysmon sees it: its last dispatch and its thread's CPU time. Counts how often that CPU clock was read.
struct Seen {
  PlainCallWatch watch;
  std::uint32_t tick = 1;
  std::int64_t now = 100 * kMs, cpu = 5 * kMs;
  bool others_wait = true;
  int clock_reads = 0;

  Advice look_after(std::int64_t passed, std::int64_t used) {
    now += passed;
    cpu += used;
    return watch.look(
        tick, now, [&] { return others_wait; },
        [&] {
          ++clock_reads;
          return cpu;
        });
  }
};

TEST(PlainCallWatch, probes_a_thread_whose_clock_stands_still_at_the_second_look) {
  Seen p;
  p.look_after(0, 0);
  EXPECT_EQ(p.look_after(5 * kMs, 10 * kUs), Advice::kLookAgainSoon);
  EXPECT_EQ(p.look_after(PlainCallWatch::kStillNs / 2, 0), Advice::kLookAgainSoon) << "too soon to tell";
  EXPECT_EQ(p.look_after(PlainCallWatch::kStillNs, 0), Advice::kProbe);
}

TEST(PlainCallWatch, leaves_computing_threads_alone) {
  Seen p;
  p.look_after(0, 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(p.look_after(5 * kMs, 5 * kMs), Advice::kNothing);
}

TEST(PlainCallWatch, believes_a_clock_that_moves_again) {
  Seen p;
  p.look_after(0, 0);
  EXPECT_EQ(p.look_after(5 * kMs, 1 * kMs), Advice::kLookAgainSoon) << "has slept for most of the time";
  EXPECT_EQ(p.look_after(PlainCallWatch::kStillNs, PlainCallWatch::kStillNs), Advice::kNothing) << "computes now";
}

// One short call after the other: the P dispatches between any two looks, but its thread hardly uses the CPU.
TEST(PlainCallWatch, suspects_those_that_dispatch_and_sleep_in_turn) {
  Seen p;
  p.look_after(0, 0);
  p.look_after(5 * kMs, 5 * kMs);
  ++p.tick;
  EXPECT_EQ(p.look_after(5 * kMs, 100 * kUs), Advice::kLookAgainSoon);
  EXPECT_EQ(p.look_after(PlainCallWatch::kStillNs, 0), Advice::kProbe);
  ++p.tick;
  EXPECT_EQ(p.look_after(5 * kMs, 100 * kUs), Advice::kLookAgainSoon);
  ++p.tick;
  EXPECT_EQ(p.look_after(PlainCallWatch::kStillNs, 0), Advice::kNothing) << "it dispatches: not now";
}

TEST(PlainCallWatch, asks_nobody_who_dispatches_and_computes_or_whom_nobody_waits_for) {
  Seen p;
  for (int i = 0; i < 100; ++i) {
    ++p.tick;
    EXPECT_EQ(p.look_after(20 * kUs, 20 * kUs), i == 0 ? Advice::kLookAgainSoon : Advice::kNothing) << i;
  }
  EXPECT_LE(p.clock_reads, 6) << "a look at a P that moves costs no system call";
  p.others_wait = false;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(p.look_after(5 * kMs, 0), Advice::kNothing);
}

// The kernel runs other threads on the CPUs, so the P's thread stands still without sleeping.
TEST(PlainCallWatch, probes_ever_more_seldom_until_one_succeeds) {
  const auto probes_in = [](Seen& p, std::int64_t time) {
    int probes = 0;
    for (const std::int64_t end = p.now + time; p.now < end;)
      probes += p.look_after(PlainCallWatch::kStillNs, 0) == Advice::kProbe ? 1 : 0;
    return probes;
  };
  Seen p;
  p.look_after(0, 0);
  EXPECT_LE(probes_in(p, 100 * kMs), 20);
  p.watch.succeeded();
  EXPECT_GE(probes_in(p, kMs), 3);
}

TEST(PlainCallWatch, does_without_a_clock_that_cannot_be_read) {
  Seen p;
  p.cpu = -1;
  p.look_after(0, 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(p.look_after(5 * kMs, 0), Advice::kNothing);
}

}  // namespace
}  // namespace weft::sched
