// SPDX-License-Identifier: MIT
// test-timeout: 1200
// test-labels: serial no-asan no-tsan
#include <functional>
#include <memory>
#include <vector>

#include "support/runtime_test.h"

// A million goroutines, and the same thing again and again (F23, SC20, SC21, SC29).
namespace {

using namespace weft::test;

class Million : public RuntimeTest {
 protected:
  Million() : RuntimeTest(600) {}
};
WEFT_AT_ALL_CONFIGURATIONS(Million);

double megabytes(std::size_t bytes) { return static_cast<double>(bytes) / 1e6; }

TEST_P(Million, goroutines_wait_at_once) {
  constexpr int kCount = 1'000'000;
  const std::size_t before = resident_bytes();
  weft::event go_on;
  std::atomic<int> waiting{0}, ended{0};
  const Stopwatch creation;
  weft::run([&] {
    for (int i = 0; i < kCount; ++i) {
      weft::go([&] {
        waiting.fetch_add(1, std::memory_order_relaxed);
        go_on.wait();
        ended.fetch_add(1, std::memory_order_relaxed);
      });
      if (i % 1000 == 0) weft::this_goroutine::yield();
    }
    EXPECT_TRUE(spin_until([&] { return waiting == kCount; }, 60s)) << waiting;
  });
  const double seconds = creation.seconds();
  const std::size_t during = resident_bytes();
  const double each = static_cast<double>(during - before) / kCount;
  std::printf("created in %.2f s, %.0f bytes each\n", seconds, each);
  EXPECT_LT(seconds, 30);
  EXPECT_LT(each, 8 * 1024);
  const Stopwatch dump;
  weft::runtime::stop_the_world([] {});
  go_on.set();
  EXPECT_TRUE(spin_until([&] { return ended == kCount; }, 60s)) << ended;
  EXPECT_TRUE(spin_until([&] { return resident_bytes() < 200'000'000; }, 20s)) << megabytes(resident_bytes()) << " MB";
  std::printf("ended and given back in %.2f s, %.0f MB left\n", dump.seconds(), megabytes(resident_bytes()));
}

TEST_P(Million, leaves_of_a_tree_ten_times_in_the_same_memory) {
  std::function<long(long, long)> skynet = [&](long first, long leaves) -> long {
    if (leaves == 1) return first;
    std::vector<weft::task<long>> children;
    children.reserve(10);
    for (long i = 0; i < 10; ++i) children.push_back(weft::spawn([&, i] { return skynet(first + i * leaves / 10, leaves / 10); }));
    long sum = 0;
    for (auto& child : children) sum += child.join();
    return sum;
  };
  std::size_t first = 0;
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(weft::run([&] { return skynet(0, 1'000'000); }), 499'999'500'000);
    if (round == 0) first = resident_bytes();
  }
  EXPECT_LE(resident_bytes(), 2 * first) << megabytes(first) << " MB after the first round";
}

TEST_P(Million, spawns_wait_in_64_bytes_each) {
  if (procs() != 1) return;
  weft::run([] {
    const weft::no_preempt keep;
    constexpr int kCount = 5'000'000;
    std::atomic<int> ran{0};
    const std::size_t before = resident_bytes();
    for (int i = 0; i < kCount; ++i) weft::go([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
    EXPECT_LE(resident_bytes() - before, 350'000'000u);
    EXPECT_TRUE(spin_until([&] { return ran == kCount; }, 60s)) << ran;
  });
}

TEST_P(Million, changes_of_maxprocs_and_stops_of_the_world) {
  std::atomic<bool> stop{false};
  weft::mutex lock;
  long counter = 0;
  std::atomic<long> rounds{0};
  weft::wait_group group;
  for (int i = 0; i < 1000; ++i) {
    group.go([&, i] {
      while (!stop) {
        ++rounds;
        if (i % 3 == 0) weft::this_goroutine::sleep_for(std::chrono::microseconds(i));
        if (i % 3 == 1) weft::spawn([] {}).join();
        weft::this_goroutine::yield();
        const std::lock_guard guard(lock);
        ++counter;
      }
    });
  }
  weft::run([] {
    std::uint32_t random = 1;
    for (int i = 0; i < 1000; ++i) {
      random = random * 1664525 + 1013904223;
      weft::runtime::set_maxprocs(static_cast<int>(1 + (random >> 24) % 8));
      weft::runtime::stop_the_world([] {});
      weft::this_goroutine::yield();
    }
    weft::runtime::set_maxprocs(procs());
  });
  stop = true;
  group.wait();
  EXPECT_EQ(rounds, counter);
}

}  // namespace
