// SPDX-License-Identifier: MIT
// test-timeout: 1200
// test-labels: serial no-asan no-tsan
#include <functional>
#include <memory>
#include <vector>

#include "support/runtime_test.h"

// A million goroutines, and the same thing again and again (F23, SC20, SC21, SC29, TM07, TM16).
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
    for (long i = 0; i < 10; ++i)
      children.push_back(weft::spawn([&, i] { return skynet(first + i * leaves / 10, leaves / 10); }));
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

TEST_P(Million, timers_of_nothing_fire_at_once) {  // TM07
  weft::run([] {
    weft::timer reused(1h);
    for (int i = 0; i < 1'000'000; ++i) {
      const Stopwatch watch;
      ASSERT_TRUE(i % 2 == 0 ? weft::after(0ns).recv().has_value()
                             : (reused.reset(0ns), reused.chan().recv()).has_value());
      ASSERT_LT(watch.elapsed(), 2s);
    }
  });
}

TEST_P(Million, timers_are_made_and_stopped_in_bounded_memory_and_time) {
  constexpr int kCount = 1'000'000;
  weft::run([] {
    std::atomic<int> fired{0};
    const std::size_t before = resident_bytes();
    const Stopwatch watch;
    std::vector<weft::timer> timers;
    timers.reserve(kCount);
    for (int i = 0; i < kCount; ++i)
      timers.push_back(weft::after_func(1h + std::chrono::microseconds(i * 7919LL % kCount), [&] { ++fired; }));
    const double each = static_cast<double>(resident_bytes() - before) / kCount;
    for (weft::timer& timer : timers) ASSERT_TRUE(timer.stop());
    std::printf("made and stopped in %.2f s, %.0f bytes each\n", watch.seconds(), each);
    EXPECT_LT(watch.elapsed(), 30s);
    EXPECT_LT(each, 400);
    EXPECT_EQ(fired, 0);
    timers.clear();
    // One after the other needs no more than a few.
    const std::size_t between = resident_bytes();
    for (int i = 0; i < kCount; ++i) {
      weft::timer timer = weft::after_func(1h, [&] { ++fired; });
      ASSERT_TRUE(timer.stop());
    }
    EXPECT_LT(resident_bytes(), between + 10'000'000) << megabytes(resident_bytes()) << " MB";
    EXPECT_EQ(fired, 0);
  });
}

TEST_P(Million, timers_fire_each_once) {
  constexpr int kCount = 1'000'000;
  weft::run([&] {
    std::atomic<int> fired{0};
    const Stopwatch watch;
    for (int i = 0; i < kCount; ++i)
      weft::after_func(std::chrono::milliseconds(i % 500), [&] { fired.fetch_add(1, std::memory_order_relaxed); });
    EXPECT_TRUE(spin_until([&] { return fired == kCount; }, 60s)) << fired;
    std::printf("made and fired in %.2f s\n", watch.seconds());
    weft::this_goroutine::sleep_for(20ms);
    EXPECT_EQ(fired, kCount) << "none fires twice";
  });
}

TEST_P(Million, channels_of_timers_are_abandoned_among_traffic) {  // TM16
  weft::run([] {
    const std::size_t before = resident_bytes();
    const Stopwatch watch;
    weft::chan<int> c(16);
    auto sender = weft::spawn([&] {
      for (int i = 0; i < 1'000'000; ++i) c.send(i);
      c.close();
    });
    int received = 0;
    for (bool open = true; open;)
      weft::select(weft::on_recv(c,
                                 [&](std::optional<int> value) {
                                   open = value.has_value();
                                   received += open ? 1 : 0;
                                 }),
                   weft::on_recv(weft::after(5s)));
    sender.join();
    EXPECT_EQ(received, 1'000'000);
    EXPECT_LT(watch.elapsed(), 60s);
    EXPECT_LT(resident_bytes(), before + 10'000'000) << megabytes(resident_bytes()) << " MB";
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
