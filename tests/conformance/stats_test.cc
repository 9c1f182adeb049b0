// SPDX-License-Identifier: MIT
#include "support/runtime_test.h"

#include <atomic>
#include <cstdint>
#include <string>

// Counters: what they say, and when they may be read.
namespace {

using namespace weft::test;

class Stats : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Stats);

void expect_sane(const weft::stats& stats, int maxprocs) {
  const auto limit = static_cast<std::uint64_t>(maxprocs);
  EXPECT_LE(stats.running, limit);
  EXPECT_LE(stats.spinning, limit);
  EXPECT_LE(stats.idle_ps, limit);
  EXPECT_LE(stats.steals_won, stats.steals_tried);
  EXPECT_LE(stats.threads, stats.threads_created);
  EXPECT_LE(stats.stw_last_ns, stats.stw_max_ns);
  EXPECT_LE(stats.waiting, stats.goroutines);
  EXPECT_LE(stats.passive_sleeps, stats.parks);
}

TEST_P(Stats, counters_hold_what_they_say) {
  weft::run([&] {
    const weft::stats before = weft::runtime::read_stats();
    constexpr std::uint64_t kCount = 500;
    weft::event go_on;
    weft::wait_group group;
    for (std::uint64_t i = 0; i < kCount; ++i) group.go([&] { go_on.wait(); });
    EXPECT_TRUE(spin_until([&] { return weft::runtime::read_stats().waiting >= kCount; }));
    const weft::stats during = weft::runtime::read_stats();
    EXPECT_EQ(during.goroutines, before.goroutines + kCount);
    EXPECT_EQ(during.spawns, before.spawns + kCount);
    EXPECT_GE(during.waiting, kCount);
    EXPECT_GE(during.switches, before.switches);
    expect_sane(during, procs());
    go_on.set();
    group.wait();
    EXPECT_TRUE(spin_until([&] { return weft::runtime::read_stats().goroutines == before.goroutines; }));
    weft::runtime::stop_the_world([] { compute_for(1ms); });
    const weft::stats after = weft::runtime::read_stats();
    EXPECT_EQ(after.stw_count, during.stw_count + 1);
    EXPECT_GE(after.stw_last_ns, 1'000'000u);
    // Who is on the way from a queue to a P counts as waiting, too, and may have found the event set.
    EXPECT_GE(after.switches + static_cast<std::uint64_t>(procs()), during.switches + kCount);
    expect_sane(after, procs());
  });
}

// A thread that sleeps passively, because another P is busy, is parked as well as one that gave its P up.
TEST_P(Stats, parks_count_every_sleep_of_a_thread) {
  const weft::stats before = weft::runtime::read_stats();
  weft::run([&] {
    const auto slept = [&] {
      const weft::stats now = weft::runtime::read_stats();
      expect_sane(now, procs());
      return procs() == 1 ? now.parks > before.parks : now.passive_sleeps > before.passive_sleeps + 1;
    };
    weft::event over;
    weft::task<void> busy = weft::spawn([&] {
      while (!over.is_set()) weft::this_goroutine::yield();
    });
    if (procs() == 1) over.set();  // else nobody sleeps
    EXPECT_TRUE(spin_until([&] {
      weft::this_goroutine::sleep_for(2ms);
      return slept();
    }));
    over.set();
    busy.join();
  });
  const weft::stats after = weft::runtime::read_stats();
  EXPECT_GT(after.parks, before.parks);
}

TEST_P(Stats, counters_can_be_read_at_any_time) {
  std::atomic<bool> stop{false};
  weft::wait_group group;
  for (int i = 0; i < 10; ++i) {
    group.go([&, i] {
      while (!stop) {
        if (i % 2 == 0) {
          weft::spawn([] {}).join();
        } else {
          weft::this_goroutine::yield();
        }
        if (i == 1) weft::blocking([] { usleep(10); });
      }
    });
  }
  weft::stats last = weft::runtime::read_stats();
  for (int i = 0; i < scaled(300); ++i) {
    const weft::stats now = weft::runtime::read_stats();
    expect_sane(now, procs());
    EXPECT_GE(now.spawns, last.spawns);
    EXPECT_GE(now.switches, last.switches);
    EXPECT_GE(now.syscalls, last.syscalls);
    EXPECT_GE(now.steals_tried, last.steals_tried);
    EXPECT_GE(now.threads_created, last.threads_created);
    last = now;
    // What is read one after the other need not fit together, unless nothing moves meanwhile.
    if (i % 16 == 0) {
      weft::runtime::stop_the_world([&] {
        const weft::stats still = weft::runtime::read_stats();
        EXPECT_LE(still.running + still.idle_ps + still.in_syscall, static_cast<std::uint64_t>(procs()));
      });
    }
    weft::this_goroutine::sleep_for(20us);
  }
  stop = true;
  group.wait();
}

TEST_P(Stats, goroutines_of_short_life_leave_nothing_behind) {
  weft::run([&] {
    const std::size_t before = weft::runtime::num_goroutines();
    weft::wait_group group;
    for (int i = 0; i < scaled(100'000); ++i) group.go([] {});
    group.wait();
    EXPECT_TRUE(spin_until([&] { return weft::runtime::num_goroutines() == before; }))
        << weft::runtime::num_goroutines();
    EXPECT_EQ(occurrences(dump_text(), "goroutine "), occurrences(dump_text(), "\ngoroutine ") + 1);
    EXPECT_EQ(occurrences("\n" + dump_text(), "\ngoroutine "), before);
  });
}

}  // namespace
