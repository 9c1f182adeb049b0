// SPDX-License-Identifier: MIT
// test-timeout: 240
// What weft records, read back: the oracle is replay(), and Go's own reader where it is installed.
#include "weft/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "trace/collector.h"
#include "trace_reader/analysis.h"
#include "trace_reader/recorded_trace.h"
#include "trace_reader/timeline.h"
#include "weft/chan.h"
#include "weft/go.h"
#include "weft/mutex.h"
#include "weft/runtime.h"
#include "weft/time.h"
#include "weft/wait_group.h"

#include "support/sanitizers.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using tools::Analysis;
using tools::Contents;
using tools::expect_go_reads;
using tools::GoSpan;
using tools::GoState;
using tools::kNoIndex;
using tools::RecordedTrace;
using tools::Timeline;

void expect_consistent() {
  EXPECT_EQ(trace::collector_counts().inconsistencies, 0u) << trace::collector_counts().last_inconsistency;
}

// A little of everything the scheduler does.
void work(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    chan<int> numbers(static_cast<std::size_t>(round % 3));
    mutex lock;
    int sum = 0;
    wait_group group;
    for (int i = 0; i < 4; ++i)
      group.go([&] {
        for (int n = 0; n < 25; ++n) numbers.send(n);
        const std::lock_guard guard(lock);
        this_goroutine::yield();
        ++sum;
      });
    group.go([&] {
      for (int n = 0; n < 100; ++n) static_cast<void>(numbers.recv());
    });
    group.go([] {
      lock_os_thread();
      this_goroutine::yield();
      blocking([] { usleep(50); });
      unlock_os_thread();
    });
    group.go([] { blocking([] { usleep(300); }); });
    group.go([] { this_goroutine::sleep_for(200us); });
    auto task = spawn([] { return 1; });
    group.wait();
    EXPECT_EQ(task.join(), 1);
    EXPECT_EQ(sum, 4);
  }
}

class Trace : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { runtime::set_maxprocs(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Processors, Trace, testing::Values(1, 2, 4));

TEST_P(Trace, of_everything_is_valid) {
  const RecordedTrace file("everything");
  run([&] {
    work(2);
    trace::start(file.path());
    EXPECT_TRUE(trace::enabled());
    work(20);
    trace::stop();
    EXPECT_FALSE(trace::enabled());
    work(2);
  });
  const Contents result = file.check();
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_GT(result.created, 20u * 8);
  EXPECT_GT(result.blocked, 20u);
  EXPECT_GE(result.calls, 20u * 2);
  EXPECT_EQ(result.gaps, 0u);
  expect_consistent();
  expect_go_reads(file);
}

TEST_P(Trace, follows_resizing_policies_and_stopped_worlds) {
  const RecordedTrace file("world");
  run([&] {
    std::atomic<bool> over{false};
    wait_group busy;
    for (int i = 0; i < 3; ++i)
      busy.go([&] {
        while (!over) work(1);
      });
    trace::set_generation_ns(3'000'000);
    trace::start(file.path());
    for (int i = 0; i < 30; ++i) {
      runtime::set_maxprocs(1 + i % 4);
      runtime::set_policy(i % 2 == 0 ? policy_kind::global : policy_kind::classic);
      runtime::stop_the_world([] {});
      this_goroutine::sleep_for(500us);
    }
    trace::stop();
    trace::set_generation_ns(1'000'000'000);
    over = true;
    busy.wait();
    runtime::set_policy(policy_kind::classic);
  });
  const Contents result = file.check();
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_GE(result.stops, 30u);
  EXPECT_GT(result.generations, 1u);
  expect_consistent();
  expect_go_reads(file);
}

TEST_P(Trace, starts_and_stops_under_load) {
  run([&] {
    std::atomic<bool> over{false};
    wait_group busy;
    for (int i = 0; i < 4; ++i)
      busy.go([&] {
        while (!over) work(1);
      });
    const RecordedTrace file("again");
    for (int i = 0; i < 340 && !testing::Test::HasFailure(); ++i) {
      trace::start(file.path());
      if (i % 4 != 0) this_goroutine::sleep_for(std::chrono::microseconds(i % 7 * 100));
      trace::stop();
      const Contents result = blocking([&] { return file.check(); });
      EXPECT_TRUE(result.ok()) << "trace " << i << ": " << result.error;
      if (i % 100 == 99) blocking([&] { expect_go_reads(file); });
    }
    over = true;
    busy.wait();
  });
  expect_consistent();
}

TEST_P(Trace, in_short_generations_is_valid) {
  const RecordedTrace file("generations");
  trace::set_generation_ns(1'000'000);
  std::size_t generations = 0;
  // On a busy machine the collector does not run every millisecond.
  for (std::chrono::milliseconds length(50); generations <= 5 && length < std::chrono::seconds(5); length *= 2) {
    run([&] {
      trace::start(file.path());
      for (const auto end = std::chrono::steady_clock::now() + length; std::chrono::steady_clock::now() < end;)
        work(60);
      trace::stop();
    });
    const Contents result = file.check();
    EXPECT_TRUE(result.ok()) << result.error;
    generations = result.generations;
  }
  trace::set_generation_ns(1'000'000'000);
  EXPECT_GT(generations, 5u);
  expect_consistent();
  expect_go_reads(file);
}

TEST_P(Trace, introduces_whoever_was_there_before) {
  const RecordedTrace file("before");
  run([&] {
    chan<int> gate;
    wait_group sleepers;
    for (int i = 0; i < 100; ++i) sleepers.go([&] { static_cast<void>(gate.recv()); });
    while (runtime::read_stats().waiting < 100) this_goroutine::yield();
    trace::start(file.path());
    for (int i = 0; i < 50; ++i) gate.send(i);
    trace::stop();
    gate.close();
    sleepers.wait();
  });
  const Contents result = file.check();
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_GE(result.goroutines.size(), 50u);  // includes those that were not woken
  EXPECT_GE(result.unblocked, 50u);
  expect_go_reads(file);
}

TEST_P(Trace, snapshot_of_the_last_moments_is_valid) {
  const RecordedTrace first("flight1"), second("flight2");
  trace::set_generation_ns(2'000'000);
  run([&] {
    chan<int> gate;
    wait_group sleepers;
    for (int i = 0; i < 10; ++i) sleepers.go([&] { static_cast<void>(gate.recv()); });
    trace::flight_recorder recorder(20ms);
    // On a busy machine hardly anything may have happened in the last 20 ms: then it tries again.
    const auto snapshot = [&](const RecordedTrace& file) {
      std::uint64_t events = 0;
      for (int attempt = 0; attempt < 20 && events <= 100; ++attempt) {
        work(40);
        recorder.snapshot(file.path());
        const Contents result = file.check();
        ASSERT_TRUE(result.ok()) << result.error;
        events = result.events;
      }
      EXPECT_GT(events, 100u);
    };
    snapshot(first);
    work(40);
    gate.close();
    sleepers.wait();
    snapshot(second);
  });
  trace::set_generation_ns(1'000'000'000);
  for (const RecordedTrace* file : {&first, &second}) expect_go_reads(*file);
  expect_consistent();
}

TEST_P(Trace, of_plain_threads_is_valid) {
  const RecordedTrace file("threads");
  trace::set_generation_ns(2'000'000);
  trace::start(file.path());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int n = 0; n < 50; ++n) {
        chan<int> answers(1);
        go([&] { answers.send(1); });
        static_cast<void>(answers.recv());
        EXPECT_EQ(run([] { return 2; }), 2);
      }
    });
  for (std::thread& thread : threads) thread.join();
  trace::stop();
  trace::set_generation_ns(1'000'000'000);
  const Contents result = file.check();
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_GE(result.started, 400u);
  expect_consistent();
  expect_go_reads(file);
}

TEST_P(Trace, holds_tasks_regions_logs_and_names) {
  const RecordedTrace file("user");
  run([&] {
    trace::start(file.path());
    this_goroutine::set_name("the \"boss\" <b>");
    const trace::task job("job");
    const trace::task part("part", job);
    {
      const trace::region outer("outer");
      const trace::region inner(job, "inner");
      trace::log("key", "text");
      trace::log(part, "long", std::string(5000, 'x'));
    }
    go({.name = "named"}, [] {});
    this_goroutine::sleep_for(1ms);
    trace::stop();
  });
  const std::string bytes = file.bytes();
  for (const char* text : {"the \"boss\" <b>", "job", "part", "outer", "inner", "key", "text", "named"})
    EXPECT_NE(bytes.find(text), std::string::npos) << text;
  EXPECT_EQ(bytes.find(std::string(1025, 'x')), std::string::npos);  // readers refuse longer ones
  const Contents result = file.check();
  EXPECT_TRUE(result.ok()) << result.error;
  expect_go_reads(file);
}

// Each spawn is on one line, because a statement of several lines has several line numbers.
TEST_P(Trace, names_the_users_line_of_each_spawn) {
  const RecordedTrace file("spawns");
  std::set<std::string> expected;
  const auto expect_line = [&](unsigned line) { expected.insert("recorder_test.cc:" + std::to_string(line)); };
  run([&] {
    trace::start(file.path());
    wait_group group;
    group.add(2);
    // clang-format off
    go([&] { group.done(); }); expect_line(__LINE__);
    go({.name = "with options"}, [&] { group.done(); }); expect_line(__LINE__);
    group.go([] {}); expect_line(__LINE__);
    auto task = spawn([] {}); expect_line(__LINE__);
    // clang-format on
    group.wait();
    task.join();
    trace::stop();
  });
  const Contents result = file.check();
  EXPECT_TRUE(result.ok()) << result.error;
  for (const std::string& line : expected) {
    EXPECT_TRUE(result.spawn_lines.contains(line))
        << line << " is not where anybody spawned, but " << testing::PrintToString(result.spawn_lines);
    EXPECT_TRUE(result.first_lines.contains(line))
        << line << " is nobody's first frame, but " << testing::PrintToString(result.first_lines);
  }
}

// Code without checks that never gives way; a goroutine queued behind it sets the flag.
__attribute__((noinline)) void compute_until(const std::atomic<bool>& flag) {
  while (!flag.load(std::memory_order_relaxed)) asm volatile("");
}

TEST_P(Trace, shows_a_hog_that_lost_its_processor_as_computing_without_it) {
  const RecordedTrace file("hogs");
  run([&] {
    trace::start(file.path());
    std::atomic<bool> over{false};
    const std::uint64_t exiles_before = runtime::read_stats().exiles;
    wait_group hogs;
    for (int i = 0; i < GetParam(); ++i) hogs.go([&] { compute_until(over); });
    while (runtime::read_stats().exiles == exiles_before) this_goroutine::sleep_for(1ms);
    this_goroutine::sleep_for(20ms);  // at least that long in exile
    hogs.go([&] { over = true; });
    hogs.wait();
    trace::stop();
  });
  const Contents result = file.check();
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_GE(result.steals, 1u);
  const bool named = std::any_of(result.call_functions.begin(), result.call_functions.end(),
                                 [](const std::string& name) { return name.find("compute_until") != name.npos; });
  EXPECT_TRUE(named) << "no call shows where the hog computed";
  const std::string bytes = file.bytes();
  const Timeline line =
      tools::make_timeline(tools::read_trace({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()}));
  const Analysis analysis = analyse(line);
  EXPECT_GE(analysis.exiled, 10'000'000);
  EXPECT_LE(analysis.busy + analysis.covered, analysis.p_time);
  for (const GoSpan& span : line.spans) {
    const std::string& at = span.stack != kNoIndex && !line.stacks[span.stack].empty()
                                ? line.text(line.stacks[span.stack].front().function)
                                : line.text(0);
    EXPECT_TRUE(span.state != GoState::kInCall || at.find("compute_until") == at.npos) << "a hog is in no call";
  }
  EXPECT_TRUE(line.messages.empty()) << "the mark of an exile is no message of the program";
  expect_consistent();
  expect_go_reads(file);
}

TEST_P(Trace, shows_who_gave_way_at_a_check_as_preempted) {
  const RecordedTrace file("preempted");
  run([&] {
    trace::start(file.path());
    const auto at_checks = [] {
      const stats now = runtime::read_stats();
      return now.preempts_done - now.exiles - now.injections;
    };
    const auto before = at_checks();
    std::atomic<bool> over{false};
    wait_group group;
    for (int i = 0; i < GetParam(); ++i)
      group.go([&] {
        while (!over) preempt_point();
      });
    while (at_checks() == before) preempt_point();  // there is one goroutine more than there are Ps
    over = true;
    group.wait();
    trace::stop();
  });
  const Contents result = file.check();
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_TRUE(result.reasons.contains("preempted"));
  expect_consistent();
  expect_go_reads(file);
}

TEST_P(Trace, holds_samples_of_where_the_time_goes) {
  const RecordedTrace file("samples");
  run([&] {
    trace::sample_cpu(1000);
    trace::start(file.path());
    std::atomic<bool> over{false};
    wait_group group;
    for (int i = 0; i < GetParam(); ++i) group.go([&] { compute_until(over); });
    group.go([&] {
      while (!over) preempt_point();
    });
    this_goroutine::sleep_for(50ms);
    over = true;
    group.wait();
    trace::stop();
    trace::sample_cpu(0);
  });
  const Contents result = file.check();
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_GE(result.samples, 3u);
  const bool named = std::any_of(result.sampled_functions.begin(), result.sampled_functions.end(),
                                 [](const std::string& name) { return name.find("compute_until") != name.npos; });
  EXPECT_TRUE(named) << "no sample is in the function that computes";
  expect_consistent();
  expect_go_reads(file);
}

TEST(TraceOfMany, many_goroutines_is_valid) {
  const RecordedTrace file("many");
  constexpr int kGoroutines = test::scaled(100'000);
  runtime::set_maxprocs(2);
  run([&] {
    trace::start(file.path());
    std::atomic<int> ran{0};
    wait_group group;
    for (int i = 0; i < kGoroutines; ++i) group.go([&] { ran.fetch_add(1, std::memory_order_relaxed); });
    group.wait();
    EXPECT_EQ(ran, kGoroutines);
    trace::stop();
  });
  const Contents result = file.check();
  EXPECT_TRUE(result.ok()) << result.error;
  if (result.gaps == 0) {
    // Not each one: a spawner that has just lost its P to the signal spawns like a plain thread,
    // for which no creation is recorded.
    EXPECT_GE(result.created, static_cast<std::uint64_t>(kGoroutines - kGoroutines / 100));
    EXPECT_GE(result.started, static_cast<std::uint64_t>(kGoroutines));
  }
  expect_consistent();
  expect_go_reads(file);
}

TEST(TraceErrors, are_told_at_once) {
  EXPECT_THROW(trace::start("/nowhere/at/all"), std::system_error);
  EXPECT_THROW(trace::stop(), logic_error);
  const RecordedTrace file("twice"), other("other");
  trace::start(file.path());
  EXPECT_THROW(trace::start(other.path()), logic_error);
  trace::stop();
  EXPECT_TRUE(file.check().ok()) << file.check().error;
  EXPECT_THROW(trace::flight_recorder(0s), logic_error);
}

TEST(TraceErrors, a_full_disk_ends_the_trace_and_nothing_else) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  EXPECT_THROW(trace::start("/dev/full"), std::system_error);
  EXPECT_FALSE(trace::enabled());
}

}  // namespace
}  // namespace weft
