// SPDX-License-Identifier: MIT
// test-labels: checks qemu
// Code compiled with checks at function entry gives way at the next one, and notices nothing of it.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <alloca.h>
#include <unistd.h>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

namespace {

using namespace weft::test;
using namespace std::chrono_literals;

class Checks : public RuntimeTest {};

__attribute__((noinline)) int step(int x) {
  asm volatile("");
  return static_cast<int>(static_cast<unsigned>(x) * 3 + 1);
}

__attribute__((noinline)) long sum_of(int count, ...) {
  va_list list;
  va_start(list, count);
  long sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(list, int);
  va_end(list);
  return sum;
}
__attribute__((noinline)) double mixed_sum_of(const char* kinds, ...) {
  va_list list;
  va_start(list, kinds);
  double sum = 0;
  for (; *kinds != 0; ++kinds) sum += *kinds == 'd' ? va_arg(list, double) : static_cast<double>(va_arg(list, long));
  va_end(list);
  return sum;
}

struct Large {
  long words[40];
};
__attribute__((noinline)) Large large_by_value(Large large, int add) {
  for (long& word : large.words) word += add;
  return large;
}
__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, long g, long h, double i, double j,
                                    double k, double l, double m, double n, double o, double p, double q, long r) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h +
         static_cast<long>(i + j + k + l + m + n + o + p + q) + r;
}
#if defined(__x86_64__)
bool has_vectors() { return __builtin_cpu_supports("avx"); }
__attribute__((noinline, target("avx"))) __m256d add_vectors(__m256d a, __m256d b) { return _mm256_add_pd(a, b); }
__attribute__((target("avx"))) double vector_sum(int i) {
  const __m256d sum = add_vectors(_mm256_set1_pd(i), _mm256_set_pd(1, 2, 3, 4));
  alignas(32) double out[4];
  _mm256_store_pd(out, sum);
  return out[0] + out[1] + out[2] + out[3];
}
#else
using Vector = double __attribute__((vector_size(16)));
bool has_vectors() { return true; }
__attribute__((noinline)) Vector add_vectors(Vector a, Vector b) { return a + b; }
double vector_sum(int i) {
  const Vector all{static_cast<double>(i), static_cast<double>(i)};
  const Vector sum = add_vectors(all, Vector{1, 2}) + add_vectors(all, Vector{3, 4});
  return sum[0] + sum[1];
}
#endif
__attribute__((noinline)) int with_alloca(std::size_t bytes, int fill) {
  auto* space = static_cast<volatile char*>(alloca(bytes));
  for (std::size_t i = 0; i < bytes; i += 64) space[i] = static_cast<char>(fill);
  return space[0];
}
__attribute__((noinline)) int with_large_frame(int fill) {
  volatile char space[3000];
  for (volatile char& byte : space) byte = static_cast<char>(fill);
  return space[2999];
}
__attribute__((noinline)) int throws_at_depth(int depth) {
  if (depth == 0) throw std::out_of_range("bottom");
  return throws_at_depth(depth - 1) + 1;
}
int caught_from(int depth) {
  try {
    return throws_at_depth(depth);
  } catch (const std::out_of_range& error) {
    try {
      throws_at_depth(3);
    } catch (const std::exception&) {
    }
    return std::string(error.what()) == "bottom" ? depth : -1;
  }
}
__attribute__((noinline)) int tail(int n, int sum) { return n == 0 ? sum : tail(n - 1, sum + n); }

// One round of everything an entry check might disturb.
void round_of_calls(int i) {
  ASSERT_EQ(sum_of(12, i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), i + 77);
  ASSERT_EQ(
      mixed_sum_of("dlldlldddddldlld", 1.5, 2L, 3L, 4.5, 5L, 6L, 7.5, 8.5, 9.5, 10.5, 11.5, 12L, 13.5, 14L, 15L, 16.5),
      1.5 + 2 + 3 + 4.5 + 5 + 6 + 7.5 + 8.5 + 9.5 + 10.5 + 11.5 + 12 + 13.5 + 14 + 15 + 16.5);
  Large large;
  std::iota(std::begin(large.words), std::end(large.words), i);
  const Large changed = large_by_value(large, 5);
  for (int k = 0; k < 40; ++k) ASSERT_EQ(changed.words[k], i + k + 5);
  ASSERT_EQ(many(1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, i), 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 45 + i);
  if (has_vectors()) {
    ASSERT_EQ(vector_sum(i), 4.0 * i + 10);
  }
  ASSERT_EQ(with_alloca(static_cast<std::size_t>(100 + i % 1000), i % 100), i % 100);
  ASSERT_EQ(with_alloca(30'000, 3), 3);
  ASSERT_EQ(with_large_frame(i % 100), i % 100);
  ASSERT_EQ(caught_from(i % 10), i % 10);
  ASSERT_EQ(tail(20, i), i + 210);
  const std::function<int(int)> recursive = [&](int n) { return n == 0 ? i : recursive(n - 1) + 1; };
  ASSERT_EQ(recursive(10), i + 10);
  char text[64];
  std::snprintf(text, sizeof text, "%d %.2f %s", i, i * 0.5, "x");
  ASSERT_EQ(std::string(text).rfind(std::to_string(i) + " ", 0), 0u);
}

TEST_P(Checks, let_a_computing_goroutine_give_way) {
  weft::run([] {
    const auto by_checks = [] {
      const auto stats = weft::runtime::read_stats();
      return stats.preempts_done - stats.exiles;  // a signal would do it too, later
    };
    const auto before = by_checks();
    std::atomic<bool> stop{false};
    std::atomic<int> ran{0};
    weft::wait_group group;
    for (int i = 0; i < 2 * procs(); ++i)
      group.go([&] {
        for (int x = 0; !stop.load(std::memory_order_relaxed);) x = step(x);
      });
    for (int i = 0; i < 50; ++i) group.go([&] { ++ran; });
    while (ran < 50 || by_checks() == before) weft::this_goroutine::sleep_for(1ms);
    stop = true;
    group.wait();
  });
}

TEST_P(Checks, disturb_nothing_a_function_has_been_given) {
  weft::run([] {
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int g = 0; g < 4; ++g)
      group.go([&, g] {
        for (int i = 0; i < 300 && !HasFatalFailure(); ++i) round_of_calls(1000 * g + i);
        stop = true;
      });
    group.go([&] {
      while (!stop) {
        weft::runtime::stop_the_world([] {});  // asks everybody, again and again
        weft::this_goroutine::yield();
      }
    });
    group.wait();
  });
}

TEST_P(Checks, wait_for_the_end_of_a_no_preempt_region) {
  weft::runtime::set_maxprocs(1);
  weft::run([] {
    std::atomic<bool> ran{false};
    auto other = weft::spawn([&] { ran = true; });
    const auto refused = weft::runtime::read_stats().preempts_refused;
    {
      const weft::no_preempt region;
      const auto end = std::chrono::steady_clock::now() + 200ms;
      int x = 0;
      while (weft::runtime::read_stats().preempts_refused == refused && std::chrono::steady_clock::now() < end)
        x = step(x);
      EXPECT_GT(weft::runtime::read_stats().preempts_refused, refused);
      EXPECT_FALSE(ran);
    }
    for (int x = 0; !ran.load(std::memory_order_relaxed);) x = step(x);
    other.join();
  });
  weft::runtime::set_maxprocs(procs());
}

// A handler compiled with checks, on the alternate stack, sees a guard that is not its stack's.
std::atomic<int> handled{0};
void handler(int) { handled += step(1) > 0; }

TEST_P(Checks, are_harmless_in_signal_handlers) {
  struct sigaction action{}, old{};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(SIGUSR1, &action, &old);
  handled = 0;
  weft::run([] {
    std::atomic<bool> stop{false};
    auto other = weft::spawn([&] {
      while (!stop) {
        weft::runtime::stop_the_world([] {});
        weft::this_goroutine::yield();
      }
    });
    for (int i = 0; i < 500; ++i) {
      raise(SIGUSR1);
      ASSERT_EQ(tail(10, i), i + 55);
    }
    stop = true;
    other.join();
  });
  EXPECT_EQ(handled, 500);
  sigaction(SIGUSR1, &old, nullptr);
}

// A signal to every thread, also to those that are choosing what to run next: no goroutine, and the guard of the last one.
TEST_P(Checks, are_harmless_on_the_stacks_of_the_scheduler) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  handled = 0;
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    const int self = gettid();
    while (!stop) {
      for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        const int thread = std::atoi(entry.path().filename().c_str());
        if (thread != self) tgkill(getpid(), thread, SIGUSR1);
      }
      usleep(50);
    }
  });
  weft::run([] {
    weft::wait_group group;
    std::atomic<int> sum{0};
    for (int i = 0; i < 4; ++i)
      group.go([&] {
        for (int round = 0; round < 200; ++round) {
          weft::this_goroutine::sleep_for(std::chrono::microseconds(20));
          sum += tail(10, round) - round - 54;
        }
      });
    for (int i = 0; i < 50; ++i) {
      weft::runtime::stop_the_world([] {});
      weft::this_goroutine::yield();
    }
    group.wait();
    EXPECT_EQ(sum, 800);
  });
  EXPECT_TRUE(spin_until([] { return handled > 0; }));
  stop = true;
  sender.join();
  signal(SIGUSR1, SIG_IGN);  // not the default: one may still be on its way
}

TEST_P(Checks, leave_plain_threads_alone) {
  // Threads inherit nothing: their guard is 0, also when they reuse the control block of one of the runtime's threads.
  weft::run([] {
    weft::wait_group group;
    for (int i = 0; i < 20; ++i)
      group.go([] {
        weft::lock_os_thread();  // its thread ends with it
        weft::this_goroutine::yield();
      });
    group.wait();
  });
  for (int i = 0; i < 50; ++i) std::thread([i] { EXPECT_EQ(tail(10, i), i + 55); }).join();
}

TEST_P(Checks, are_not_taken_while_an_element_moves_through_a_channel) {
  struct Slow {
    int value = 0;
    Slow() = default;
    explicit Slow(int v) : value(v) {}
    Slow(const Slow& other) : value(step(other.value) - step(other.value) + other.value) {}
    Slow(Slow&& other) noexcept : value(step(other.value) - step(other.value) + other.value) {}
    Slow& operator=(Slow&& other) noexcept {
      value = other.value;
      return *this;
    }
  };
  weft::run([] {
    weft::chan<Slow> channel(4);
    std::atomic<bool> stop{false};
    auto stopper = weft::spawn([&] {
      while (!stop) {
        weft::runtime::stop_the_world([] {});
        weft::this_goroutine::yield();
      }
    });
    auto sender = weft::spawn([&] {
      for (int i = 0; i < 2000; ++i) channel.send(Slow(i));
      channel.close();
    });
    int expected = 0;
    while (auto received = channel.recv()) ASSERT_EQ(received->value, expected++);
    EXPECT_EQ(expected, 2000);
    stop = true;
    sender.join();
    stopper.join();
  });
}

WEFT_AT_ALL_CONFIGURATIONS(Checks);

}  // namespace
