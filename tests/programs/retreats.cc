// SPDX-License-Identifier: MIT
// Ps give their goroutines to each other all the time (src/sched/core/retreat.h): no goroutine is lost or waits for ever, and
// a locked one stays on its thread.
// test-timeout: 180
// check: run WEFT_DEBUG=retreats=always WEFT_MAXPROCS=2
// check: stdout ^all sums are right, Ps retreated
// check: within 60
// check: run WEFT_DEBUG=retreats=always WEFT_MAXPROCS=4
// check: stdout ^all sums are right, Ps retreated
// check: within 60
// check: run WEFT_DEBUG=retreats=always,starve=7 WEFT_MAXPROCS=3
// check: stdout ^all sums are right, Ps
// check: within 60
// check: run WEFT_DEBUG=retreats=off WEFT_MAXPROCS=2
// check: stdout ^all sums are right, Ps stayed
// check: within 60
#include <weft/weft.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "support/expect.h"

namespace {

using namespace std::chrono_literals;

// Everybody sends to everybody.
void crowd() {
  constexpr int kTasks = 40, kMessages = 500;
  std::vector<weft::chan<int>> boxes;
  for (int i = 0; i < kTasks; ++i) boxes.emplace_back(static_cast<std::size_t>(2 * kTasks));
  std::atomic<long> sum{0};
  weft::wait_group readers, writers;
  for (int i = 0; i < kTasks; ++i) {
    readers.go([&, i] {
      while (const auto message = boxes[static_cast<std::size_t>(i)].recv()) sum += *message;
    });
    writers.go([&, i] {
      for (int m = 0; m < kMessages; ++m) boxes[static_cast<std::size_t>((i * 7 + m) % kTasks)].send(1);
    });
  }
  writers.wait();
  for (auto& box : boxes) box.close();
  readers.wait();
  WEFT_EXPECT(sum == long{kTasks} * kMessages);
}

// Tokens in a ring of unbuffered channels: a goroutine that is lost stops it for ever.
void ring() {
  constexpr long kMembers = 32, kTokens = 5, kLaps = 200;
  std::vector<weft::chan<long>> links(kMembers);
  weft::wait_group group;
  for (std::size_t i = 0; i + 1 < links.size(); ++i) {
    group.go([in = links[i], out = links[i + 1]] {
      while (const auto token = in.recv()) out.send(*token + 1);
      out.close();
    });
  }
  weft::go([&] {
    for (long i = 0; i < kTokens; ++i) links.front().send(0);
  });
  long sum = 0;
  for (long hops = 0; hops < kTokens * kLaps; ++hops) {
    const long token = *links.back().recv();
    if (hops >= kTokens * (kLaps - 1))
      sum += token;
    else
      links.front().send(token);
  }
  links.front().close();
  group.wait();
  WEFT_EXPECT(sum == kTokens * (kMembers - 1) * kLaps);
}

// A goroutine that keeps its thread, sleepers and a plain thread take part.
void strangers() {
  weft::chan<int> box(8);
  std::atomic<long> sum{0};
  weft::wait_group senders;
  weft::wait_group reader;
  reader.go([&] {
    while (const auto message = box.recv()) sum += *message;
  });
  senders.go([&] {
    weft::lock_os_thread();
    const auto thread = std::this_thread::get_id();
    for (int i = 0; i < 2'000; ++i) {
      box.send(1);
      WEFT_EXPECT(std::this_thread::get_id() == thread);
    }
    weft::unlock_os_thread();
  });
  for (int task = 0; task < 8; ++task) {
    senders.go([&] {
      for (int i = 0; i < 100; ++i) {
        if (i % 10 == 0) weft::this_goroutine::sleep_for(100us);
        box.send(1);
      }
    });
  }
  std::thread plain([&] {
    for (int i = 0; i < 1'000; ++i) box.send(1);
  });
  senders.wait();
  weft::blocking([&] { plain.join(); });
  box.close();
  reader.wait();
  WEFT_EXPECT(sum == 2'000 + 8 * 100 + 1'000);
}

void contended() {
  weft::mutex mutex;
  long sum = 0;
  weft::wait_group group;
  for (int task = 0; task < 8; ++task) {
    group.go([&] {
      for (int i = 0; i < 5'000; ++i) {
        std::lock_guard lock(mutex);
        ++sum;
      }
    });
  }
  group.wait();
  WEFT_EXPECT(sum == 8 * 5'000);
}

}  // namespace

int main() {
  return weft::run([] {
    const auto start = std::chrono::steady_clock::now();
    do {
      crowd();
      ring();
      strangers();
      contended();
    } while (std::chrono::steady_clock::now() - start < 2s);
    std::printf("all sums are right, Ps %s\n", weft::runtime::read_stats().retreats > 0 ? "retreated" : "stayed");
    return 0;
  });
}
