// SPDX-License-Identifier: MIT
// test-timeout: 1200
// test-labels: long serial no-asan no-tsan
// A million goroutines while a trace is written: it must hold them all, or say how much is missing.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "trace/collector.h"
#include "trace_reader/recorded_trace.h"
#include "weft/event.h"
#include "weft/go.h"
#include "weft/runtime.h"
#include "weft/time.h"
#include "weft/trace.h"
#include "weft/wait_group.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using tools::Contents;
using tools::expect_go_reads;
using tools::RecordedTrace;

constexpr int kCount = 1'000'000;
// A spawner that has just lost its P spawns like a plain thread, for which no creation is recorded.
constexpr std::uint64_t kMany = kCount - kCount / 100;

class TraceOfAMillion : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { runtime::set_maxprocs(GetParam()); }

  void expect_valid(const RecordedTrace& file, std::uint64_t blocked) {
    const Contents result = file.check();
    const trace::CollectorCounts counts = trace::collector_counts();
    std::printf("%ju events in %ju generations, %ju MB; %ju gaps, %ju events lost\n", std::uintmax_t{result.events},
                std::uintmax_t{result.generations}, std::uintmax_t{std::filesystem::file_size(file.path()) / 1'000'000},
                std::uintmax_t{result.gaps}, std::uintmax_t{counts.lost_events});
    EXPECT_TRUE(result.ok()) << result.error;
    EXPECT_EQ(result.gaps > 0, counts.lost_events > 0) << "a loss that is not told";
    if (result.gaps == 0) {
      EXPECT_GE(result.created, kMany);
      EXPECT_GE(result.started, std::uint64_t{kCount});
      EXPECT_GE(result.blocked, blocked);
    }
    EXPECT_EQ(counts.inconsistencies, 0u) << counts.last_inconsistency;
    expect_go_reads(file);
  }
};
INSTANTIATE_TEST_SUITE_P(Processors, TraceOfAMillion, testing::Values(1, 2, 4));

TEST_P(TraceOfAMillion, goroutines_one_after_the_other_is_valid) {
  const RecordedTrace file("million-short");
  run([&] {
    trace::start(file.path());
    std::atomic<int> ran{0};
    wait_group group;
    for (int i = 0; i < kCount; ++i) group.go([&] { ran.fetch_add(1, std::memory_order_relaxed); });
    group.wait();
    EXPECT_EQ(ran, kCount);
    trace::stop();
  });
  expect_valid(file, 0);
}

TEST_P(TraceOfAMillion, goroutines_that_wait_at_once_is_valid) {
  const RecordedTrace file("million-waiting");
  run([&] {
    trace::start(file.path());
    std::atomic<int> waiting{0};
    event go_on;
    wait_group group;
    for (int i = 0; i < kCount; ++i) {
      group.go([&] {
        waiting.fetch_add(1, std::memory_order_relaxed);
        go_on.wait();
      });
      if (i % 1000 == 0) this_goroutine::yield();
    }
    while (waiting != kCount) this_goroutine::sleep_for(1ms);
    go_on.set();
    group.wait();
    trace::stop();
  });
  expect_valid(file, kMany);
}

}  // namespace
}  // namespace weft
