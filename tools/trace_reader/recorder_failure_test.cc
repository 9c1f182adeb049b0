// SPDX-License-Identifier: MIT
// test-timeout: 400
// Traces of processes that end badly, and of sinks that are slow or full: what was written must be readable.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "support/sanitizers.h"
#include "support/seccomp.h"
#include "support/waiting.h"
#include "trace/collector.h"
#include "trace/recorder.h"
#include "trace_reader/recorded_trace.h"
#include "weft/chan.h"
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

constexpr std::int64_t kShortGenerationNs = 5'000'000;

// Makes events until the condition holds. It makes fewer and fewer, because the condition may need another thread,
// which a busy machine keeps waiting, and all events are written and read afterwards.
template <class Condition>
void keep_busy_until(Condition&& done) {
  std::atomic<bool> over{false};
  wait_group group;
  chan<int> numbers;
  group.go([&] {
    for (int n = 0; !over; ++n) {
      numbers.send(n);
      if (n % 300 == 299) this_goroutine::sleep_for((1 + n / 1000) * 1ms);
    }
    numbers.close();
  });
  group.go([&] {
    for (int n : numbers)
      if (n % 100 == 0) blocking([] { usleep(10); });
  });
  while (!done()) this_goroutine::sleep_for(1ms);
  over = true;
  group.wait();
}

std::uint64_t generations() { return trace::collector_counts().generations; }

void expect_valid(const RecordedTrace& file, std::uint64_t at_least_generations) {
  const Contents result = file.check();
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_GE(result.generations, at_least_generations);
  EXPECT_GE(result.events, 5u);
  expect_go_reads(file);
}

class TraceOfTheEnd : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
using TraceOfTheEndDeathTest = TraceOfTheEnd;

TEST_F(TraceOfTheEndDeathTest, a_killed_process_leaves_whole_generations) {
  const RecordedTrace file("killed");
  EXPECT_EXIT(run([&] {
                trace::set_generation_ns(kShortGenerationNs);
                trace::start(file.path());
                keep_busy_until([] { return generations() >= 5; });
                raise(SIGKILL);
              }),
              testing::KilledBySignal(SIGKILL), "");
  const Contents result = file.check();
  EXPECT_GE(result.generations, 5u);
  if (result.ok()) expect_go_reads(file);  // else it died while it wrote the next one
}

TEST_F(TraceOfTheEndDeathTest, exit_completes_the_file) {
  const RecordedTrace file("exit");
  EXPECT_EXIT(run([&] {
                trace::start(file.path());
                go([] {
                  for (;;) this_goroutine::sleep_for(1ms);
                });
                this_goroutine::sleep_for(5ms);
                std::exit(3);
              }),
              testing::ExitedWithCode(3), "");
  expect_valid(file, 1);
}

TEST_F(TraceOfTheEndDeathTest, a_deadlock_leaves_a_snapshot) {
  const RecordedTrace file("deadlock");
  EXPECT_EXIT(run([&] {
                trace::flight_recorder recorder;
                recorder.snapshot_on_failure(file.path());
                keep_busy_until([n = 0]() mutable { return ++n == 5; });
                chan<int> never;
                static_cast<void>(never.recv());
              }),
              testing::ExitedWithCode(2), "flight recorder: wrote");
  expect_valid(file, 1);
}

TEST_F(TraceOfTheEndDeathTest, an_uncaught_exception_leaves_a_snapshot_and_the_file) {
  const RecordedTrace snapshot("thrown"), file("thrown-file");
  EXPECT_EXIT(run([&] {
                trace::start(file.path());
                trace::flight_recorder recorder;
                recorder.snapshot_on_failure(snapshot.path());
                keep_busy_until([n = 0]() mutable { return ++n == 5; });
                go([] { throw std::runtime_error("as expected"); });
                this_goroutine::sleep_for(1h);
              }),
              testing::KilledBySignal(SIGABRT), "flight recorder: wrote");
  expect_valid(snapshot, 1);
  expect_valid(file, 1);
}

TEST_F(TraceOfTheEndDeathTest, a_crash_leaves_a_snapshot) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizer has the signal";
  const RecordedTrace file("crash");
  EXPECT_EXIT(run([&] {
                trace::flight_recorder recorder;
                recorder.snapshot_on_failure(file.path());
                keep_busy_until([n = 0]() mutable { return ++n == 5; });
                *reinterpret_cast<volatile int*>(8) = 1;
              }),
              testing::KilledBySignal(SIGSEGV), "flight recorder: wrote");
  expect_valid(file, 1);
}

// Status 77: this system has no filters to deny a system call with.
auto ended_well_or_without_filters(bool& filters) {
  return [&filters](int status) {
    filters = !WIFEXITED(status) || WEXITSTATUS(status) != 77;
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || !filters);
  };
}

// Where the kernel has no barrier for the whole process, each section begins with a fence.
TEST_F(TraceOfTheEndDeathTest, without_the_kernels_barrier_a_trace_is_valid) {
  const RecordedTrace file("no-barrier");
  bool filters = true;
  EXPECT_EXIT(
      {
        if (!test::deny({{SYS_membarrier, ENOSYS}})) std::_Exit(77);
        run([&] {
          trace::set_generation_ns(kShortGenerationNs);
          trace::start(file.path());
          keep_busy_until([] { return generations() >= 5; });
          trace::stop();
        });
        std::_Exit(trace::collector_counts().inconsistencies == 0 ? 0 : 1);
      },
      ended_well_or_without_filters(filters), "");
  if (!filters) GTEST_SKIP() << "no system call filters";
  expect_valid(file, 5);
}

TEST_F(TraceOfTheEndDeathTest, losing_the_kernels_barrier_on_the_way_leaves_a_valid_trace) {
  const RecordedTrace file("lost-barrier");
  bool filters = true;
  EXPECT_EXIT(
      {
        run([&] {
          trace::set_generation_ns(kShortGenerationNs);
          trace::start(file.path());
          keep_busy_until([] { return generations() >= 3; });
          if (!test::deny({{SYS_membarrier, EPERM}})) std::_Exit(77);
          const std::uint64_t before = generations();
          keep_busy_until([&] { return generations() >= before + 5; });
          trace::stop();
        });
        std::_Exit(trace::collector_counts().inconsistencies == 0 ? 0 : 1);
      },
      ended_well_or_without_filters(filters), "");
  if (!filters) GTEST_SKIP() << "no system call filters";
  expect_valid(file, 8);
}

TEST(FlightRecorder, writes_a_snapshot_when_the_signal_comes) {
  const RecordedTrace file("signal");
  run([&] {
    trace::flight_recorder recorder;
    recorder.snapshot_on_failure(file.path(), SIGUSR1);
    keep_busy_until([n = 0]() mutable { return ++n == 5; });
    const std::uint64_t before = generations();
    kill(getpid(), SIGUSR1);
    keep_busy_until([&] { return generations() > before; });
    recorder.snapshot(file.path() + ".later");  // served after the snapshot before is complete
    keep_busy_until([&] { return blocking([&] { return !file.bytes().empty(); }); });
  });
  std::signal(SIGUSR1, SIG_DFL);
  std::remove((file.path() + ".later").c_str());
  expect_valid(file, 1);
}

TEST(TraceSink, that_is_slow_leaves_a_gap_that_says_how_much_is_missing) {
  const RecordedTrace fifo("fifo"), file("slow");
  ASSERT_EQ(mkfifo(fifo.path().c_str(), 0600), 0);
  std::atomic<bool> read{false};
  std::thread reader([&] {
    std::ifstream from(fifo.path(), std::ios::binary);
    std::ofstream to(file.path(), std::ios::binary);
    char bytes[trace::format::kHeaderSize];
    from.read(bytes, sizeof bytes);
    to.write(bytes, from.gcount());
    while (!read) std::this_thread::sleep_for(1ms);
    to << from.rdbuf();
  });
  trace::recorder.set_limit(512 * 1024);
  run([&] {
    trace::set_generation_ns(kShortGenerationNs);
    trace::start(fifo.path());
    keep_busy_until([] { return trace::recorder.is_suspended(); });
    read = true;
    const std::uint64_t before = generations();
    keep_busy_until([&] { return generations() > before + 3; });
    trace::stop();
    trace::set_generation_ns(1'000'000'000);
  });
  trace::recorder.set_limit(trace::Recorder::kDefaultLimit);
  reader.join();
  const Contents result = file.check();
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_GE(result.gaps, 1u);
  EXPECT_GT(trace::collector_counts().lost_events, 0u);
  EXPECT_EQ(trace::collector_counts().inconsistencies, 0u) << trace::collector_counts().last_inconsistency;
  expect_go_reads(file);
}

TEST(TraceSink, that_fills_up_keeps_whole_generations) {
  const RecordedTrace file("full");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{500'000, before.rlim_max};  // room for several generations
  run([&] {
    trace::set_generation_ns(kShortGenerationNs);
    trace::start(file.path());
    setrlimit(RLIMIT_FSIZE, &small);
    keep_busy_until([] { return !trace::enabled(); });
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_THROW(trace::stop(), std::system_error);
    trace::set_generation_ns(1'000'000'000);
  });
  std::signal(SIGXFSZ, SIG_DFL);
  expect_valid(file, 1);
}

}  // namespace
}  // namespace weft
