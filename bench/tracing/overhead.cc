// SPDX-License-Identifier: MIT
// What tracing costs while it is on: the same work with and without a trace being written, in turn.
//   bench/run tracing
//   pipeline   items through four stages of 5 us of computing each, over channels of 16: the shape of a server's day
//   ping-pong  two goroutines and two channels without a buffer: nothing but scheduling
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <weft/trace.h>
#include <weft/weft.h>

namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t steps_per_5us = 0;

std::uint64_t compute(std::uint64_t value) {
  for (std::uint64_t i = 0; i < steps_per_5us; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
  return value;
}

void calibrate() {
  steps_per_5us = 2'000'000;
  volatile std::uint64_t sink = compute(1);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto from = Clock::now();
    sink = compute(sink);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - from).count());
  }
  steps_per_5us = static_cast<std::uint64_t>(2'000'000 * 5e-6 / best);
}

void pipeline() {
  constexpr std::uint64_t kItems = 20'000;
  constexpr std::size_t kStages = 4;
  std::vector<weft::chan<std::uint64_t>> links;
  for (std::size_t i = 0; i <= kStages; ++i) links.emplace_back(16);
  weft::wait_group stages;
  for (std::size_t i = 0; i < kStages; ++i)
    stages.go([in = links[i], out = links[i + 1]] {
      for (std::uint64_t item : in) out.send(compute(item));
      out.close();
    });
  stages.go([out = links[0]] {
    for (std::uint64_t i = 0; i < kItems; ++i) out.send(i);
    out.close();
  });
  for ([[maybe_unused]] std::uint64_t item : links[kStages]) continue;
  stages.wait();
}

void ping_pong() {
  constexpr int kRounds = 1'000'000;  // some generations, and more than ending the trace takes
  weft::chan<int> there, back;
  auto other = weft::spawn([&] {
    for (int n : there) back.send(n);
  });
  for (int i = 0; i < kRounds; ++i) {
    there.send(i);
    static_cast<void>(back.recv());
  }
  there.close();
  other.join();
}

template <class F>
double seconds(F&& work) {
  const auto from = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - from).count();
}

// One line a round; who goes first changes from round to round. Until the file is complete is part of the traced time.
void compare(const char* name, void (*work)(), int rounds, const std::string& path) {
  const auto traced_work = [&] {
    work();
    weft::trace::stop();
  };
  for (int i = -1; i < rounds; ++i) {
    double off = 0;
    if (i % 2 == 0) off = seconds(work);
    weft::trace::start(path);
    const double traced = seconds(traced_work);
    if (i % 2 != 0) off = seconds(work);
    if (i < 0) continue;  // the first time reads the program's symbols
    std::printf("{\"workload\": \"%s\", \"procs\": %d, \"off_s\": %.9f, \"traced_s\": %.9f, \"bytes\": %ju}\n", name,
                weft::runtime::maxprocs(), off, traced, std::uintmax_t{std::filesystem::file_size(path)});
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  const std::string path = argc > 2 ? argv[2] : std::filesystem::temp_directory_path() / "weft-overhead.trace";
  calibrate();
  weft::run([&] {
    for (int processors : {1, 2}) {
      weft::runtime::set_maxprocs(processors);
      compare("pipeline", pipeline, rounds, path);
      compare("ping-pong", ping_pong, rounds, path);
    }
  });
  std::filesystem::remove(path);
}
