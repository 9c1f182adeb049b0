// SPDX-License-Identifier: MIT
// Forced preemptions by the million in code of every kind that a switch between two checks might disturb, on several threads,
// under a rain of signals and stops of the world. Every result must be, bit by bit, what an undisturbed thread computed before.
//   preemption_soak --preemptions=N
// test-labels: checks qemu
// test-timeout: 300
#include <alloca.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/weft.h>

#include "support/sanitizers.h"

// Each check gives way (WEFT_DEBUG=preempt), or those that come next after a request: of a stopping world, of a slice of 1 ms.
// check: stdout ^all the same: \d+ preemptions
// check: within 120
// check: run WEFT_MAXPROCS=2 WEFT_DEBUG=preempt --preemptions=100000
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global WEFT_SLICE=1 --preemptions=2000
// check: run WEFT_MAXPROCS=1 WEFT_DEBUG=preempt --preemptions=1000000
// check: long
// check: within 900
// check: run WEFT_MAXPROCS=2 WEFT_DEBUG=preempt --preemptions=2000000
// check: long
// check: within 900
// check: run WEFT_MAXPROCS=4 WEFT_DEBUG=preempt WEFT_POLICY=global --preemptions=1000000
// check: long
// check: within 900
// check: run WEFT_MAXPROCS=4 WEFT_SLICE=1 --preemptions=50000
// check: long
// check: within 900
namespace {

using namespace std::chrono_literals;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}
std::uint64_t mix(std::uint64_t hash, double value) { return mix(hash, std::bit_cast<std::uint64_t>(value)); }

// --- exceptions: thrown, caught, thrown again, in flight while destructors run, carried in pointers ---

struct Unwound {
  std::uint64_t& hash;
  int depth;
  ~Unwound() {
    hash = mix(hash, static_cast<std::uint64_t>(depth) * 8 + static_cast<std::uint64_t>(std::uncaught_exceptions()));
    try {  // one beside the one in flight
      if (depth % 3 == 0) throw depth;
    } catch (int inner) {
      hash = mix(hash, static_cast<std::uint64_t>(inner));
    }
  }
};
__attribute__((noinline)) void throw_from(int depth, std::uint64_t& hash) {
  const Unwound unwound{hash, depth};
  if (depth == 0) throw std::out_of_range("bottom " + std::to_string(hash % 1000));
  try {
    throw_from(depth - 1, hash);
  } catch (const std::out_of_range& error) {
    if (depth % 2 == 0) throw;
    throw std::runtime_error(std::string(error.what()) + "+" + std::to_string(depth));
  } catch (const std::runtime_error& error) {
    throw std::out_of_range(std::string(error.what()) + "-" + std::to_string(depth));
  }
}
std::uint64_t exceptions(std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (int depth = 0; depth < 8; ++depth) {
    std::exception_ptr kept;
    try {
      throw_from(depth, hash);
    } catch (...) {
      kept = std::current_exception();
    }
    hash = mix(hash, static_cast<std::uint64_t>(std::uncaught_exceptions()));
    try {
      std::rethrow_exception(kept);
    } catch (const std::exception& error) {
      for (const char* c = error.what(); *c != 0; ++c) hash = mix(hash, static_cast<std::uint64_t>(*c));
    }
  }
  return hash;
}

// --- variable arguments: in registers, on the stack, handed on ---

__attribute__((noinline)) std::uint64_t take(const char* kinds, ...) {
  va_list list;
  va_start(list, kinds);
  std::uint64_t hash = 1;
  for (; *kinds != 0; ++kinds) {
    switch (*kinds) {
      case 'd': hash = mix(hash, va_arg(list, double)); break;
      case 'i': hash = mix(hash, static_cast<std::uint64_t>(va_arg(list, int))); break;
      case 'e': hash = mix(hash, static_cast<double>(va_arg(list, long double))); break;
      default:  hash = mix(hash, va_arg(list, std::uint64_t)); break;
    }
  }
  va_end(list);
  return hash;
}
__attribute__((noinline, format(printf, 2, 3))) int print(std::array<char, 96>& text, const char* format, ...) {
  va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  const int length = std::vsnprintf(text.data(), text.size(), format, list);
  const bool same = std::vsnprintf(nullptr, 0, format, again) == length;
  va_end(again);
  va_end(list);
  return same ? length : -1;
}
std::uint64_t varargs(std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (int i = 0; i < 12; ++i) {
    const double x = static_cast<double>(seed % 997) / (i + 1);
    hash = mix(hash, take("i", i));
    hash = mix(hash, take("dudiuudddddduidude", x, seed, 1.5, i, seed + 1, seed + 2, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5,
                          seed + 3, i + 1, 8.5, seed + 4, 9.5, static_cast<long double>(x) * 3));
    std::array<char, 96> text{};
    const int length = print(text, "%d %.3f %s %llu %Lg", i, x, "word", static_cast<unsigned long long>(seed),
                             static_cast<long double>(x));
    for (int at = 0; at < length; ++at)
      hash = mix(hash, static_cast<std::uint64_t>(text[static_cast<std::size_t>(at)]));
  }
  return hash;
}

// --- the stack: alloca, large frames, objects by value, depth, long jumps ---

struct Large {
  std::array<std::uint64_t, 40> words;
};
__attribute__((noinline)) Large by_value(Large large, std::uint64_t add) {
  for (std::uint64_t& word : large.words) word = mix(word, add);
  return large;
}
__attribute__((noinline)) std::uint64_t on_the_stack(std::size_t bytes, std::uint64_t fill) {
  auto* space = static_cast<volatile unsigned char*>(alloca(bytes));
  space[0] = 0;
  for (std::size_t i = 0; i < bytes; i += 32) space[i] = static_cast<unsigned char>(fill + i);
  auto* more = static_cast<volatile unsigned char*>(alloca(bytes / 2 + 1));
  more[0] = space[0];
  more[bytes / 2] = static_cast<unsigned char>(fill);
  std::uint64_t hash = more[0];
  for (std::size_t i = 0; i < bytes; i += 32) hash = mix(hash, std::uint64_t{space[i]});
  return mix(hash, std::uint64_t{more[bytes / 2]});
}
__attribute__((noinline)) std::uint64_t in_a_large_frame(std::uint64_t fill) {
  volatile unsigned char space[3000];
  for (std::size_t i = 0; i < sizeof space; i += 8) space[i] = static_cast<unsigned char>(fill + i);
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < sizeof space; i += 8) hash = mix(hash, std::uint64_t{space[i]});
  return hash;
}
__attribute__((noinline)) std::uint64_t deep(int depth, std::uint64_t seed) {
  return depth == 0 ? seed : mix(deep(depth - 1, seed + 1), static_cast<std::uint64_t>(depth));
}
__attribute__((noinline)) int jump_from(std::jmp_buf& target, int depth) {
  if (depth == 0) std::longjmp(target, 5);
  if (depth < 0) return 0;
  return jump_from(target, depth - 1) + 1;
}
__attribute__((noinline)) std::uint64_t jumps(std::uint64_t seed) {
  std::jmp_buf target;
  volatile std::uint64_t kept = mix(seed, std::uint64_t{77});
  const int value = setjmp(target);
  if (value == 0) jump_from(target, 5);
  return mix(kept, static_cast<std::uint64_t>(value));
}
std::uint64_t stacks(std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (std::size_t i = 0; i < 6; ++i) {
    hash = mix(hash, on_the_stack(64 + (seed * 131 + i * 977) % 2000, seed + i));
    hash = mix(hash, on_the_stack(30'000, hash));
    hash = mix(hash, in_a_large_frame(seed + i));
    Large large{};
    std::iota(large.words.begin(), large.words.end(), hash);
    const Large changed = by_value(large, seed);
    for (std::uint64_t word : changed.words) hash = mix(hash, word);
    hash = mix(hash, deep(40, hash));
    hash = mix(hash, jumps(hash));
  }
  return hash;
}

// --- vectors: in arguments, in results, and alive across calls; the modes of floating point ---

#if defined(__x86_64__)
bool has_wide_vectors() { return __builtin_cpu_supports("avx2"); }
__attribute__((noinline, target("avx2"))) __m256i step_integers(__m256i a, __m256i b, __m256i c) {
  return _mm256_add_epi64(_mm256_xor_si256(a, _mm256_slli_epi64(b, 7)), _mm256_srli_epi64(c, 3));
}
__attribute__((noinline, target("avx2"))) __m256d step_reals(__m256d a, __m256d b) {
  return _mm256_add_pd(_mm256_mul_pd(a, _mm256_set1_pd(0.75)), _mm256_div_pd(b, _mm256_set_pd(3, 5, 7, 9)));
}
__attribute__((target("avx2"))) std::uint64_t wide_vectors(std::uint64_t seed) {
  __m256i a = _mm256_set1_epi64x(static_cast<long long>(seed)), b = _mm256_set_epi64x(1, 2, 3, 4), c = b;
  __m256d x = _mm256_set_pd(1.5, 2.5, 3.5, 4.5), y = _mm256_set1_pd(static_cast<double>(seed % 1000));
  for (int i = 0; i < 60; ++i) {
    c = step_integers(a, b, c);  // the others stay in registers, or where the compiler keeps them
    a = step_integers(b, c, a);
    b = step_integers(c, a, b);
    x = step_reals(x, y);
    y = step_reals(y, x);
  }
  alignas(32) std::array<std::uint64_t, 4> integers{};
  alignas(32) std::array<double, 8> reals{};
  _mm256_store_si256(reinterpret_cast<__m256i*>(integers.data()), _mm256_xor_si256(_mm256_xor_si256(a, b), c));
  _mm256_store_pd(reals.data(), x);
  _mm256_store_pd(reals.data() + 4, y);
  std::uint64_t hash = seed;
  for (std::uint64_t word : integers) hash = mix(hash, word);
  for (double word : reals) hash = mix(hash, word);
  return hash;
}
#else
bool has_wide_vectors() { return true; }
using Integers = std::uint64_t __attribute__((vector_size(16)));
using Reals = double __attribute__((vector_size(16)));
__attribute__((noinline)) Integers step_integers(Integers a, Integers b, Integers c) { return (a ^ b << 7) + (c >> 3); }
__attribute__((noinline)) Reals step_reals(Reals a, Reals b) { return a * 0.75 + b / Reals{3, 5}; }
std::uint64_t wide_vectors(std::uint64_t seed) {
  Integers a{seed, seed}, b{1, 2}, c = b;
  Reals x{1.5, 2.5}, y{static_cast<double>(seed % 1000), 3.5};
  for (int i = 0; i < 60; ++i) {
    c = step_integers(a, b, c);
    a = step_integers(b, c, a);
    b = step_integers(c, a, b);
    x = step_reals(x, y);
    y = step_reals(y, x);
  }
  const Integers all = a ^ b ^ c;
  return mix(mix(mix(mix(mix(mix(seed, all[0]), all[1]), x[0]), x[1]), y[0]), y[1]);
}
#endif
__attribute__((noinline)) double third_of(double value) {
#if defined(__x86_64__)
  asm volatile("" : "+x"(value));  // else the compiler would divide once for all modes
#else
  asm volatile("" : "+w"(value));
#endif
  return value / 3.0;
}
__attribute__((noinline)) long double third_of_long(long double value) {
#if defined(__x86_64__)
  asm volatile("" : "+t"(value));
#else
  asm volatile("" : "+w"(value));
#endif
  return value / 3.0L;
}
std::uint64_t vectors(std::uint64_t seed) {
  std::uint64_t hash = has_wide_vectors() ? wide_vectors(seed) : seed;
  // Rounding is the goroutine's own, whoever ran on its thread meanwhile.
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    std::fesetround(mode);
    for (int i = 1; i < 12; ++i) {
      hash = mix(hash, third_of(i));
      const long double exact = third_of_long(i);
      std::array<std::uint64_t, 2> bits{};
      std::memcpy(bits.data(), &exact, 10);
      hash = mix(mix(hash, bits[0]), bits[1]);
    }
  }
  return hash;
}

// --- signals: handlers have checks, too, and run on a stack of their own ---

std::atomic<std::uint64_t> handled{0}, handled_wrong{0};
std::uint64_t expected_in_handler = 0;

// Nothing that allocates: it may come at any point.
__attribute__((noinline)) std::uint64_t work_of_handler() {
  // A thread's signal stack is used by one goroutine after the other, in no order that TSan could know of.
  if (weft::test::kTsan) return 1;
  std::uint64_t hash = on_the_stack(200, 9);
  hash = mix(hash, take("diu", 2.5, 7, std::uint64_t{11}));
  if (has_wide_vectors()) hash = mix(hash, wide_vectors(5));
  return mix(hash, deep(5, 3));
}
void on_signal(int) {
  const int mode = std::fegetround();  // of whom it interrupts
  std::fesetround(FE_TONEAREST);
  if (work_of_handler() != expected_in_handler) handled_wrong.fetch_add(1, std::memory_order_relaxed);
  handled.fetch_add(1, std::memory_order_relaxed);
  std::fesetround(mode);
}
std::uint64_t signals(std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (int i = 0; i < 3; ++i) {
    hash = mix(hash, deep(10, hash));
    raise(SIGUSR1);
    hash = mix(hash, take("uid", hash, i, static_cast<double>(i)));
  }
  return hash;
}

// --- the standard library's templates, which are user code with checks, and loops ---

std::uint64_t library(std::uint64_t seed) {
  std::vector<std::uint64_t> numbers(120);
  std::uint64_t state = seed + 1;
  for (std::uint64_t& number : numbers) number = (state = mix(state, std::uint64_t{13})) % 1000;
  std::sort(numbers.begin(), numbers.end(), [](std::uint64_t a, std::uint64_t b) { return a > b; });
  std::map<std::string, std::unique_ptr<std::uint64_t>> words;
  for (std::uint64_t number : numbers) {
    auto& place = words[std::to_string(number % 40)];
    if (!place) place = std::make_unique<std::uint64_t>(0);
    *place += number;
  }
  std::ostringstream text;
  const std::function<void(int)> write = [&](int depth) {
    if (depth > 0) write(depth - 1);
    text << depth << ' ';
  };
  write(10);
  for (const auto& [word, count] : words)
    text << word << '=' << *count << ';' << static_cast<double>(*count) / 7 << ' ';
  std::uint64_t hash = seed;
  for (char c : text.str()) hash = mix(hash, static_cast<std::uint64_t>(c));
  std::qsort(numbers.data(), numbers.size(), sizeof numbers[0], [](const void* a, const void* b) {
    const auto x = *static_cast<const std::uint64_t*>(a), y = *static_cast<const std::uint64_t*>(b);
    return x < y ? -1 : x > y ? 1 : 0;
  });
  for (std::uint64_t number : numbers) hash = mix(hash, number);
  return hash;
}
__attribute__((noinline)) std::uint64_t loops(
    std::uint64_t seed) {  // calls nothing: preempted where the loop has a check
  std::uint64_t a = seed, b = ~seed, c = 1;
  double x = 1, y = static_cast<double>(seed % 100);
  for (int i = 0; i < 300; ++i) {
    a = a * 6364136223846793005u + b;
    b = (b << 7 | b >> 57) ^ a;
    c += b > a ? a : std::uint64_t(i);
    x = x * 0.999 + y;
    y = y * 0.5 + 1 / x;
  }
  return mix(mix(mix(a ^ b, c), x), y);
}

// --- all of it ---

struct Kind {
  const char* name;
  std::uint64_t (*compute)(std::uint64_t seed);
  std::atomic<std::uint64_t> rounds{0};
};
std::array<Kind, 7> kinds{{{"exceptions", exceptions},
                           {"varargs", varargs},
                           {"stacks", stacks},
                           {"vectors", vectors},
                           {"signals", signals},
                           {"library", library},
                           {"loops", loops}}};
constexpr std::size_t kSeeds = 16;
constexpr int kGoroutines = 8;

std::array<std::array<std::uint64_t, kSeeds>, kinds.size()> expected;

void install_handlers() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR1, &action, nullptr);
  sigaction(SIGALRM, &action, nullptr);
}

[[noreturn]] void different(const Kind& kind, std::uint64_t seed, std::uint64_t got, std::uint64_t wanted) {
  std::printf("different: %s of %llu is %016llx, undisturbed %016llx\n", kind.name,
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(got),
              static_cast<unsigned long long>(wanted));
  std::fflush(stdout);
  _exit(1);
}

int soak(std::uint64_t wanted) {
  expected_in_handler = work_of_handler();
  install_handlers();
  for (std::size_t k = 0; k < kinds.size(); ++k)
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) expected[k][seed] = kinds[k].compute(seed);
  if (handled_wrong != 0) return 1;

  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> moved{0};
  std::uint64_t stops = 0;
  const itimerval often{{0, 1000}, {0, 1000}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  const auto start = std::chrono::steady_clock::now();
  weft::run([&] {
    weft::wait_group group;
    for (std::uint64_t g = 0; g < kGoroutines; ++g)
      group.go([&, g] {
        for (std::uint64_t round = 0; !stop.load(std::memory_order_relaxed); ++round) {
          const std::size_t k = (round + g) % kinds.size();
          const std::uint64_t seed = (round * 7 + g) % kSeeds;
          const pid_t thread = gettid();
          const std::uint64_t got = kinds[k].compute(seed);
          if (got != expected[k][seed]) different(kinds[k], seed, got, expected[k][seed]);
          if (gettid() != thread) moved.fetch_add(1, std::memory_order_relaxed);
          kinds[k].rounds.fetch_add(1, std::memory_order_relaxed);
        }
      });
    const auto all_kinds_ran = [] {
      return std::all_of(kinds.begin(), kinds.end(), [](const Kind& kind) { return kind.rounds >= kGoroutines; });
    };
    while (weft::runtime::read_stats().preempts_done < wanted || !all_kinds_ran()) {
      weft::runtime::stop_the_world([&] { ++stops; });  // asks everybody
      weft::this_goroutine::yield();
    }
    stop = true;
    group.wait();
  });
  setitimer(ITIMER_REAL, &never, nullptr);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const Kind& kind : kinds)
    std::printf("%-11s %llu rounds\n", kind.name, static_cast<unsigned long long>(kind.rounds.load()));
  if (handled_wrong != 0 || handled == 0) {
    std::printf("different: %llu of %llu handlers\n", static_cast<unsigned long long>(handled_wrong.load()),
                static_cast<unsigned long long>(handled.load()));
    return 1;
  }
  const weft::stats stats = weft::runtime::read_stats();
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "%llu handlers, %llu rounds ended on another thread, %llu stops of the world, %llu exiles, %llu threads\n",
      number(handled), number(moved), number(stops), number(stats.exiles), number(stats.threads_created));
  if (stats.preempts_done < wanted) return 1;
  if (weft::runtime::maxprocs() > 1 && moved == 0) {
    std::puts("no goroutine ever changed its thread");
    return 1;
  }
  std::printf("all the same: %llu preemptions in %.1f s\n", number(stats.preempts_done), seconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  static constexpr char kFlag[] = "--preemptions=";
  const std::uint64_t wanted = argc == 2 && std::strncmp(argv[1], kFlag, sizeof kFlag - 1) == 0
                                   ? std::strtoull(argv[1] + sizeof kFlag - 1, nullptr, 10)
                                   : 0;
  if (wanted == 0) {
    std::fprintf(stderr, "usage: preemption_soak --preemptions=N\n");
    return 64;
  }
  return soak(wanted);
}
