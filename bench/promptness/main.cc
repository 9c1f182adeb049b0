// SPDX-License-Identifier: MIT
// promptness tick KIND PROCS HOGS SECONDS: lateness of a goroutine that wakes every millisecond, beside hogs.
// promptness stop KIND PROCS HOGS SECONDS: how long it takes to stop the world with that many hogs.
// KIND: none, calls, loops, zlib, sort. Prints percentiles in milliseconds.
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "hogs.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

double ms(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

// As a ticker's: due at fixed times; those that pass while it is late for one are dropped.
std::vector<double> tick(Clock::time_point end) {
  std::vector<double> late;
  for (auto due = Clock::now() + 1ms; due < end; due += 1ms) {
    weft::this_goroutine::sleep_until(due);
    const auto now = Clock::now();
    late.push_back(ms(now - due));
    while (due + 1ms <= now) due += 1ms;
  }
  return late;
}

std::vector<double> stop_the_world(Clock::time_point end) {
  std::vector<double> took;
  while (Clock::now() < end) {
    const auto begin = Clock::now();
    took.push_back(weft::runtime::stop_the_world([&] { return ms(Clock::now() - begin); }));
    weft::this_goroutine::sleep_for(5ms);
  }
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(const std::atomic<bool>&)> kinds{
      {"calls", hog_with_calls}, {"loops", hog_without_calls}, {"zlib", hog_in_zlib}, {"sort", hog_in_sort}};
  const std::string what = argc == 6 ? argv[1] : "", kind = argc == 6 ? argv[2] : "";
  if ((what != "tick" && what != "stop") || (kind != "none" && !kinds.contains(kind))) {
    std::fprintf(stderr, "usage: promptness tick|stop none|calls|loops|zlib|sort PROCS HOGS SECONDS\n");
    return 64;
  }
  const int procs = std::atoi(argv[3]), hogs = kind == "none" ? 0 : std::atoi(argv[4]), seconds = std::atoi(argv[5]);
  weft::run({.maxprocs = procs}, [&] {
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int i = 0; i < hogs; ++i) group.go([&] { kinds.at(kind)(stop); });
    weft::this_goroutine::sleep_for(200ms);  // what they prepare is over
    const auto before = weft::runtime::read_stats();
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    std::vector<double> values = what == "tick" ? tick(end) : stop_the_world(end);
    const auto after = weft::runtime::read_stats();
    stop = true;
    group.wait();
    std::sort(values.begin(), values.end());
    const auto at = [&](double part) {
      return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
    };
    std::printf(
        "%-4s %-5s P=%d %d hogs: p50 %.3f p90 %.3f p99 %.3f max %.3f ms (n %zu, preemptions %llu, exiles %llu)\n",
        what.c_str(), kind.c_str(), procs, hogs, at(.5), at(.9), at(.99), values.back(), values.size(),
        static_cast<unsigned long long>(after.preempts_done - before.preempts_done),
        static_cast<unsigned long long>(after.exiles));
  });
}
