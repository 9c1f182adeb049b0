// SPDX-License-Identifier: MIT
// What every C++ benchmark program shares: arguments, clocks, calibrated work and the JSON lines
// that the harness reads. Go and Rust have the same few helpers (go/bench, tokio/src/lib.rs).
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace bench {

[[noreturn]] inline void fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::fflush(stdout);
  _exit(1);
}

// A wrong result makes a time worthless, so every program checks what it computed.
inline void require(bool ok, const char* what) {
  if (!ok) fail(std::string("wrong result: ") + what);
}

// `--name value` pairs, integers only. report() refuses arguments that no get() asked for, so that
// a misspelt parameter cannot silently measure something else.
class Arguments {
 public:
  Arguments(int argc, char** argv) {
    for (int i = 1; i < argc; i += 2) {
      if (std::strncmp(argv[i], "--", 2) != 0 || i + 1 == argc)
        fail(std::string("usage: ") + argv[0] + " [--procs N] [--name value]...; stopped at " + argv[i]);
      values_[argv[i] + 2] = std::strtol(argv[i + 1], nullptr, 10);
    }
    current() = this;
  }
  ~Arguments() { current() = nullptr; }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  long get(const char* name, long fallback) {
    used_.insert(name);
    const auto found = values_.find(name);
    return found == values_.end() ? fallback : found->second;
  }
  int procs() { return static_cast<int>(get("procs", 1)); }

  void check_all_used() const {
    for (const auto& [name, value] : values_)
      if (!used_.contains(name)) fail("unknown argument --" + name);
  }
  static Arguments*& current() {
    static Arguments* arguments = nullptr;
    return arguments;
  }

 private:
  std::map<std::string, long> values_;
  std::set<std::string> used_;
};

inline void report(const char* metric, double value) {
  if (Arguments* arguments = Arguments::current()) arguments->check_all_used();
  std::printf("{\"metric\":\"%s\",\"value\":%.9g}\n", metric, value);
  std::fflush(stdout);
}

// For programs whose tasks never end by themselves.
[[noreturn]] inline void quit() {
  std::fflush(stdout);
  _exit(0);
}

inline double now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// User and system time of the whole process.
inline double cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// Of the calling thread alone.
inline double thread_cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// From its construction on: time and CPU time, each divided by the number of operations.
class Meter {
 public:
  void report_per(long operations) const {
    const double ns = now_ns() - start_ns_, cpu = cpu_ns() - start_cpu_ns_;
    report("ns", ns / static_cast<double>(operations));
    report("cpu_ns", cpu / static_cast<double>(operations));
  }

 private:
  double start_ns_ = now_ns(), start_cpu_ns_ = cpu_ns();
};

inline long resident_bytes() {
  long total = 0, resident = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * sysconf(_SC_PAGESIZE);
}

inline long voluntary_switches() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

// Blocks the calling thread, not the task: for harness threads and as "a blocking call".
inline void sleep_thread_us(long us) {
  timespec t{us / 1'000'000, us % 1'000'000 * 1000};
  nanosleep(&t, nullptr);
}

inline double percentile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// A chain of dependent multiplications: about one nanosecond a step, no memory, no calls, the same
// in every language. The empty assembly makes it impure: calls with equal arguments must not be merged.
[[gnu::noinline]] inline std::uint64_t spin(std::uint64_t steps) {
  asm volatile("" : "+r"(steps));
  std::uint64_t x = steps | 1;
  for (std::uint64_t i = 0; i < steps; ++i) x = x * 6364136223846793005ull + i;
  return x;
}

inline std::atomic<std::uint64_t> sink;  // keeps the compiler from dropping spin()

class Work {
 public:
  Work() {  // the fastest of twenty runs of about 100 us, so that an interruption does not count
    double best = 1e18;
    for (int i = 0; i < 20; ++i) {
      const double start = now_ns();
      sink.store(spin(100'000), std::memory_order_relaxed);
      best = std::min(best, now_ns() - start);
    }
    steps_per_us_ = 100'000 / (best / 1000);
  }
  void operator()(double us) const {
    sink.store(spin(static_cast<std::uint64_t>(us * steps_per_us_)), std::memory_order_relaxed);
  }

 private:
  double steps_per_us_;
};

// The same small generator in every language, so that the sleeps of task t are the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2654435761u + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  std::uint64_t state_;
};

// Number of tasks that fork-join fib(n) starts: one per call with n >= 2.
inline long fib_tasks(int n) { return n < 2 ? 0 : 1 + fib_tasks(n - 1) + fib_tasks(n - 2); }
inline long fib_value(int n) { return n < 2 ? n : fib_value(n - 1) + fib_value(n - 2); }

}  // namespace bench
