// SPDX-License-Identifier: MIT
// test-timeout: 180
// weft::preemptible: code without checks is stopped between any two instructions, goes on on its thread, and notices nothing.
#if defined(__x86_64__)  // nothing is injected elsewhere
#include <immintrin.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/weft.h>

#include "support/cases.h"

// check: not-in asan tsan aarch64
namespace {

using namespace weft::test;
using namespace std::chrono_literals;

// Kernels that keep something in every kind of register, and below the stack pointer.

__attribute__((noinline)) std::uint64_t carry_chain(std::uint64_t x, int turns) {
  std::uint64_t low = x, high = ~x;
  for (int i = 0; i < turns; ++i)  // the carry lives in the flags only
    asm volatile("addq %2, %0\n\tadcq %3, %1\n\tadcq $0, %0\n\trclq $1, %1"
                 : "+r"(low), "+r"(high)
                 : "r"(x), "r"(std::uint64_t{0x9e3779b97f4a7c15})
                 : "cc");
  return low ^ high;
}

__attribute__((noinline)) std::uint64_t red_zone(std::uint64_t x, int turns) {
  volatile std::uint64_t words[12];  // a leaf function's: below the stack pointer
  for (std::size_t i = 0; i < 12; ++i) words[i] = x + i;
  for (int i = 0; i < turns; ++i) words[i % 12] = words[i % 12] * 6364136223846793005u + words[(i + 5) % 12];
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 12; ++i) sum ^= words[i];
  return sum;
}

__attribute__((noinline)) std::uint64_t x87(std::uint64_t x, int turns) {
  long double a = static_cast<long double>(x % 1000) + 1.5L, b = 0.25L;
  for (int i = 0; i < turns; ++i) {
    b = (a + b) / 1.25L;
    a = a * 0.5L + b / 3.0L;
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, &a, sizeof bits);
  return bits;
}

__attribute__((noinline)) std::uint64_t sse(std::uint64_t x, int turns) {
  double a = static_cast<double>(x % 1000), b = 1.0, c = 0.125;
  for (int i = 0; i < turns; ++i) {
    a = a * 0.999 + b;
    b = b * 0.5 + c;
    c = c * 1.0001 - a * 1e-9;
  }
  std::uint64_t bits = 0;
  const double sum = a + b + c;
  std::memcpy(&bits, &sum, sizeof bits);
  return bits;
}

__attribute__((noinline, target("avx2"))) std::uint64_t avx(std::uint64_t x, int turns) {
  __m256i a = _mm256_set1_epi64x(static_cast<long long>(x)), b = _mm256_set_epi64x(1, 2, 3, 4);
  for (int i = 0; i < turns; ++i) {
    a = _mm256_add_epi64(_mm256_xor_si256(a, b), _mm256_slli_epi64(a, 3));
    b = _mm256_add_epi64(b, _mm256_srli_epi64(a, 7));
  }
  alignas(32) std::array<std::uint64_t, 4> out{};
  _mm256_store_si256(reinterpret_cast<__m256i*>(out.data()), _mm256_xor_si256(a, b));
  return out[0] ^ out[1] ^ out[2] ^ out[3];
}

__attribute__((noinline)) std::uint64_t strings(std::uint64_t x, int turns) {
  std::array<unsigned char, 4096> from{}, to{};
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(x + i * 7);
  for (int i = 0; i < turns / 256; ++i) {
    void* target = to.data();
    const void* source = from.data();
    std::size_t count = from.size();
    asm volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(count) : : "memory");
    target = from.data() + from.size() - 1;  // and backwards
    source = to.data() + to.size() - 1;
    count = from.size();
    asm volatile("std\n\trep movsb\n\tcld" : "+D"(target), "+S"(source), "+c"(count) : : "memory", "cc");
    ++from[static_cast<std::size_t>(i) % from.size()];
  }
  return std::accumulate(from.begin(), from.end(), std::uint64_t{0});
}

__attribute__((noinline)) int throws_at_depth(int depth) {
  if (depth == 0) throw std::out_of_range("bottom");
  return throws_at_depth(depth - 1) + 1;
}
__attribute__((noinline)) std::uint64_t library(std::uint64_t x,
                                                int turns) {  // allocation, exceptions: not stopped inside
  std::vector<std::string> words;
  for (int i = 0; i < turns / 2000; ++i) {
    words.push_back(std::to_string(x + static_cast<std::uint64_t>(i)));
    if (words.size() > 100) words.clear();
    try {
      throws_at_depth(i % 20);
    } catch (const std::out_of_range& error) {
      x += std::strlen(error.what());
    }
  }
  return x + words.size();
}

using Kernel = std::uint64_t (*)(std::uint64_t, int);
constexpr std::array<Kernel, 7> kKernels{carry_chain, red_zone, x87, sse, avx, strings, library};
constexpr int kTurns = 3'000'000;

bool has(std::size_t kernel) { return kKernels[kernel] != avx || __builtin_cpu_supports("avx2"); }

}  // namespace

// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 --case=same_results
// check: stdout ^all the same$
// check: within 60
// check: run WEFT_MAXPROCS=2 WEFT_SLICE=1 --case=same_results
// check: stdout ^all the same$
// check: within 60
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global WEFT_SLICE=1 --case=same_results
// check: stdout ^all the same$
// check: within 60
WEFT_CASE(same_results) {
  std::array<std::uint64_t, kKernels.size()> expected{};
  for (std::size_t i = 0; i < kKernels.size(); ++i)
    if (has(i)) expected[i] = kKernels[i](i, kTurns);
  weft::run([&] {
    std::atomic<int> wrong{0}, moved{0};
    const auto enough = [] { return weft::runtime::read_stats().injections >= 300; };
    const auto end = std::chrono::steady_clock::now() + 40s;
    weft::wait_group group;
    for (std::size_t i = 0; i < kKernels.size(); ++i)
      if (has(i))
        group.go([&, i] {
          while (!enough() && std::chrono::steady_clock::now() < end) {
            const weft::preemptible scope;
            const pid_t before = gettid();
            if (kKernels[i](i, kTurns) != expected[i]) ++wrong;
            if (gettid() != before && kKernels[i] != library) ++moved;
          }
        });
    group.wait();
    std::fprintf(stderr, "%llu injections, %llu exiles\n",
                 static_cast<unsigned long long>(weft::runtime::read_stats().injections),
                 static_cast<unsigned long long>(weft::runtime::read_stats().exiles));
    if (!enough()) say("hardly ever stopped");
    if (moved > 0) say("resumed on another thread");
    say(wrong == 0 ? "all the same" : "different");
  });
  return 0;
}

// A scope's goroutine gives its processor up for good until it is its turn again: at one P nobody computes beside another.
// check: run WEFT_MAXPROCS=1 --case=takes_turns
// check: stdout ^took turns$
WEFT_CASE(takes_turns) {
  weft::run([] {
    std::atomic<int> ran{0};
    std::atomic<bool> stop{false};
    auto hog = weft::spawn([&] {
      const weft::preemptible scope;
      errno = 77;
      while (!stop.load(std::memory_order_relaxed)) {
      }
      return errno;
    });
    for (int i = 0; i < 20; ++i) {
      weft::this_goroutine::sleep_for(1ms);
      ++ran;
    }
    stop = true;
    WEFT_EXPECT(hog.join() == 77);
    const auto stats = weft::runtime::read_stats();
    WEFT_EXPECT(stats.injections > 0);
    WEFT_EXPECT(stats.exiles == 0);
    say("took turns");
  });
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=no_preempt_wins
// check: stdout ^kept its processor$
WEFT_CASE(no_preempt_wins) {
  weft::run([] {
    std::atomic<bool> ran{false};
    auto other = weft::spawn([&] { ran = true; });
    const weft::preemptible scope;
    {
      const weft::no_preempt region;
      const auto end = std::chrono::steady_clock::now() + 60ms;
      while (std::chrono::steady_clock::now() < end) {
      }
      WEFT_EXPECT(!ran);
    }
    while (!ran.load(std::memory_order_relaxed)) {
    }
    other.join();
    say("kept its processor");
  });
  return 0;
}

// Stopped by a stopping world, ended by exit(), on a locked thread, nested, and on a plain thread.
// check: run WEFT_MAXPROCS=2 --case=everywhere
// check: stdout ^done$
WEFT_CASE(everywhere) {
  const weft::preemptible on_a_thread;
  weft::run([] {
    std::atomic<bool> stop{false};
    std::vector<weft::task<void>> hogs;
    for (int i = 0; i < 4; ++i)
      hogs.push_back(weft::spawn([&, i] {
        if (i % 2 == 0) weft::lock_os_thread();
        const weft::preemptible outer;
        const pid_t thread = gettid();
        {
          const weft::preemptible inner;
          while (!stop.load(std::memory_order_relaxed)) {
          }
        }
        WEFT_EXPECT(gettid() == thread);
        weft::this_goroutine::exit();
      }));
    for (int i = 0; i < 20; ++i) weft::runtime::stop_the_world([] {});
    weft::this_goroutine::sleep_for(30ms);
    WEFT_EXPECT(weft::runtime::read_stats().injections > 0);
    stop = true;
    for (auto& hog : hogs) {
      try {
        hog.join();
        say("did not exit");
      } catch (const weft::goroutine_exited&) {
      }
    }
  });
  say("done");
  return 0;
}

#else
#include <cstdio>
int main() {
  std::puts("skipped: goroutines are not stopped between any two instructions on this processor");
  return 77;
}
#endif
