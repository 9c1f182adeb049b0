// SPDX-License-Identifier: MIT
// test-labels: no-asan no-tsan
#include <unistd.h>
#include <weft/trace.h>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <system_error>
#include <vector>

#include "support/runtime_test.h"

// What goroutines cost: no heap for small closures, 64 bytes until the first run, nothing left afterwards.
namespace {

std::atomic<long> allocations{0};
std::atomic<pid_t> failing_in{0}, failing_elsewhere{0};  // the thread; the one that is spared

void* allocate(std::size_t size, std::size_t alignment) {
  ++allocations;
  if (const pid_t thread = failing_in; thread != 0 && thread == gettid()) throw std::bad_alloc();
  if (const pid_t spared = failing_elsewhere; spared != 0 && spared != gettid()) throw std::bad_alloc();
  void* const memory = alignment <= alignof(std::max_align_t)
                           ? std::malloc(size)
                           : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Not inlined: g++ 12 would see malloc and delete, or new and free, and warn of a mismatch.
__attribute__((noinline)) void* operator new(std::size_t size) { return allocate(size, 1); }
__attribute__((noinline)) void* operator new[](std::size_t size) { return allocate(size, 1); }
__attribute__((noinline)) void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete[](void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace {

using namespace weft::test;

class Allocation : public RuntimeTest {
 protected:
  // Allocations of the body, once whatever it needs for the first time is there. Others may allocate now and then: the
  // smallest of several counts is the body's own.
  template <class Body>
  static long allocations_of(Body body) {
    for (int i = 0; i < 3; ++i) body();
    long least = LONG_MAX;
    for (int i = 0; i < 10; ++i) {
      const long before = allocations;
      body();
      least = std::min<long>(least, allocations - before);
    }
    return least;
  }
};
WEFT_AT_ALL_CONFIGURATIONS(Allocation);

TEST_P(Allocation, a_closure_of_up_to_six_words_needs_no_heap) {
  const auto cost = [] {
    struct Words {
      void* words[4];
    };
    return allocations_of([] {
      weft::wait_group group;
      std::atomic<int> sum{0};
      const Words words{};
      group.add(100);
      for (int i = 0; i < 100; ++i) {
        weft::go([words, &group, &sum] {  // six words
          sum += words.words[0] == nullptr ? 1 : 0;
          group.done();
        });
      }
      group.wait();
      EXPECT_EQ(sum, 100);
    });
  };
  EXPECT_EQ(cost(), 0) << "from a thread";
  EXPECT_EQ(weft::run(cost), 0) << "from a goroutine";
}

TEST_P(Allocation, a_larger_closure_needs_one_block) {
  const auto cost = [] {
    struct Words {
      void* words[6];
    };
    return allocations_of([] {
      weft::wait_group group;
      const Words words{};
      group.add(100);
      for (int i = 0; i < 100; ++i) {
        weft::go([words, &group] {  // seven words
          EXPECT_EQ(words.words[5], nullptr);
          group.done();
        });
      }
      group.wait();
    });
  };
  EXPECT_EQ(weft::run(cost), 100);
}

TEST_P(Allocation, waiting_needs_no_heap) {
  const long cost = weft::run([] {
    return allocations_of([] {
      weft::event event;
      weft::mutex lock;
      weft::task<int> task = weft::spawn([&] {
        const std::lock_guard guard(lock);
        weft::this_goroutine::sleep_for(10us);
        event.set();
        return 1;
      });
      {
        const std::lock_guard guard(lock);
        weft::this_goroutine::yield();
      }
      event.wait();
      EXPECT_FALSE(event.is_set() && event.wait_for(0s) == false);
      EXPECT_EQ(task.join(), 1);
      weft::blocking([] { return getppid(); });
    });
  });
  EXPECT_EQ(cost, 0);
}

TEST_P(Allocation, a_select_of_eight_tasks_futures_and_channels_needs_no_heap) {
  const long cost = weft::run([] {
    std::vector<weft::promise<int>> words(3);
    std::vector<weft::future<int>> futures;
    for (auto& word : words) futures.push_back(word.get_future());
    const weft::chan<int> silent;
    const weft::chan<int>::receiver in = silent;
    weft::chan<int> gate;
    std::vector<weft::task<void>> others;
    for (int i = 0; i < 3; ++i) others.push_back(weft::spawn([&] { gate.recv(); }));
    weft::selector s;
    for (auto& one : others) s.join(one);
    for (auto& one : futures) s.ready(one);
    const long found = allocations_of([&] {
      weft::task<int> ending = weft::spawn([] {
        weft::this_goroutine::sleep_for(10us);
        return 1;
      });
      EXPECT_EQ(weft::select(weft::on_join(others[0]), weft::on_join(others[1]), weft::on_join(others[2]),
                             weft::on_ready(futures[0]), weft::on_ready(futures[1]), weft::on_ready(futures[2]),
                             weft::on_recv(in), weft::on_join(ending)),
                7u);
      EXPECT_EQ(s.wait_for(10us), std::nullopt);
      EXPECT_EQ(weft::wait_any_for(10us, futures), std::nullopt);
      EXPECT_EQ(weft::wait_any_for(10us, others[0], futures[0]), std::nullopt);
    });
    gate.close();
    return found;
  });
  EXPECT_EQ(cost, 0);
}

TEST_P(Allocation, pending_goroutines_cost_64_bytes_each) {
  if (procs() != 1 || kSanitized) return;  // with several Ps some run at once; sanitizers count differently
  weft::run([] {
    const weft::no_preempt keep;
    constexpr int kCount = 1'000'000;
    std::atomic<int> ran{0};
    const std::size_t before = resident_bytes();
    for (int i = 0; i < kCount; ++i) weft::go([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
    const std::size_t after = resident_bytes();
    EXPECT_EQ(ran, 0);
    EXPECT_LE(after - before, 70'000'000u) << "one million goroutines that have not run yet";
    EXPECT_TRUE(spin_until([&] { return ran == kCount; }, 30s)) << ran;
  });
}

TEST_P(Allocation, goroutines_of_short_life_do_not_add_up) {
  if (kSanitized) return;
  weft::run([] {
    const auto burst = [] {
      weft::wait_group group;
      for (int i = 0; i < 20'000; ++i)
        group.go([i] {
          if (i % 4 == 0) weft::this_goroutine::yield();
        });
      group.wait();
    };
    for (int i = 0; i < 3; ++i) burst();
    const std::size_t before = resident_bytes();
    for (int i = 0; i < 10; ++i) burst();
    EXPECT_LT(resident_bytes(), before + before / 2 + 20'000'000);
  });
}

TEST_P(Allocation, no_heap_means_bad_alloc_at_the_call_and_nothing_else) {
  weft::run([] {
    struct Large {
      char bytes[200];
    };
    const Large large{};
    weft::wait_group group;
    std::atomic<int> ran{0};
    const std::size_t before = weft::runtime::num_goroutines();
    const weft::no_preempt on_this_thread;
    failing_in = gettid();
    const auto fails = [](auto&& start) {
      try {
        start();
        return false;
      } catch (const std::bad_alloc&) {
        return true;
      }
    };
    const bool go_failed = fails([&] { weft::go([large] { static_cast<void>(large); }); });
    const bool group_failed = fails([&] { group.go([large] { static_cast<void>(large); }); });
    const bool named_failed = fails([&] { weft::go(weft::go_options{.stack_size = 1 << 20}, [] {}); });
    const bool spawn_failed = fails([&] { static_cast<void>(weft::spawn([large] { return large; })); });
    failing_in = 0;
    EXPECT_TRUE(go_failed);
    EXPECT_TRUE(group_failed);
    EXPECT_TRUE(named_failed);
    EXPECT_TRUE(spawn_failed);
    group.wait();  // its count was taken back
    EXPECT_EQ(weft::runtime::num_goroutines(), before);
    group.go([&] { ++ran; });
    group.wait();
    EXPECT_EQ(ran, 1);
  });
}

// Its thread needs memory when a generation ends: then the trace ends, and the program does not.
TEST_P(Allocation, no_heap_for_the_tracer_ends_the_trace_and_nothing_else) {
  if (weft::trace::enabled()) GTEST_SKIP() << "a trace of the whole test is being written";
  const std::string path = testing::TempDir() + "weft-allocation-" + std::to_string(getpid()) + ".trace";
  const auto make_events = [] {
    weft::run([] {
      for (int i = 0; i < 100; ++i) weft::spawn([] {}).join();
    });
  };
  make_events();
  for (int i = 0; i < 3; ++i) {
    weft::trace::start(path);
    make_events();
    failing_elsewhere = gettid();
    bool told = false;
    try {
      weft::trace::stop();
    } catch (const std::system_error& error) {
      told = error.code() == std::errc::not_enough_memory;
    }
    failing_elsewhere = 0;
    EXPECT_TRUE(told);
    EXPECT_FALSE(weft::trace::enabled());
    EXPECT_EQ(std::filesystem::file_size(path), 16u) << "what was complete stays: the header";
    EXPECT_THROW(weft::trace::stop(), std::logic_error) << "it has ended already";
    make_events();
  }
  weft::trace::start(path);
  make_events();
  weft::trace::stop();
  EXPECT_GT(std::filesystem::file_size(path), 1000u);
  std::filesystem::remove(path);
}

}  // namespace
