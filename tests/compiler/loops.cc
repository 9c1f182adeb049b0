// SPDX-License-Identifier: MIT
#include "loops.h"

#include <alloca.h>
#include <setjmp.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cfenv>
#include <coroutine>
#include <cstdarg>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

#define NOINLINE __attribute__((noinline))

// The compilers must not compute a whole case at compile time, or know how often a loop runs.
template <typename T>
T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

NOINLINE std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash;
}
std::uint64_t mix(std::uint64_t hash, double value) { return mix(hash, std::bit_cast<std::uint64_t>(value)); }

std::vector<int> numbers(int count) {
  std::vector<int> values(static_cast<std::size_t>(opaque(count)));
  unsigned state = 12345;
  for (int& value : values) value = static_cast<int>(state = state * 1103515245u + 12345u) >> 8;
  return values;
}

std::uint64_t nested() {
  std::uint64_t hash = 0;
  const int n = opaque(12);
  for (int i = 0; i < n; ++i) {
    for (int j = i; j < n; ++j) {
      for (int k = 0; k <= j; ++k) hash = hash * 31 + static_cast<std::uint64_t>(i * 100 + j * 10 + k);
    }
  }
  return hash;
}

std::uint64_t several_ways_round() {
  std::uint64_t hash = 1;
  int left = opaque(500);
  while (left-- > 0) {
    hash = hash * 6364136223846793005u + 1442695040888963407u;
    if ((hash >> 60) == 3) continue;
    if ((hash >> 59) == 9) break;
    do {
      hash ^= hash >> 7;
      if ((hash & 255) == 0) goto out;
    } while ((hash & 3) != 0 && (hash += 11) != 0);
  }
out:
  return hash + static_cast<std::uint64_t>(left);
}

std::uint64_t vectorised() {
  const std::vector<int> values = numbers(1001);
  std::vector<float> x(1001), y(1001);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(values[i]) * 0.5f;
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * 3.0f + 1.0f;
  int sum = 0, largest = 0;
  for (int value : values) sum += value;
  for (int value : values) largest = std::max(largest, value);
  unsigned char bytes[777];
  for (std::size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<unsigned char>(values[i] ^ sum);
  std::uint64_t hash = mix(static_cast<std::uint64_t>(sum), static_cast<std::uint64_t>(largest));
  for (float value : y) hash = mix(hash, static_cast<double>(value));
  for (unsigned char byte : bytes) hash = hash * 33 + byte;
  return hash;
}

// Sixteen wide values live across each check, more than there are registers without AVX.
std::uint64_t wide_values_live() {
  typedef double Wide __attribute__((vector_size(32)));
  Wide a = {1, 2, 3, 4}, b = {.5, .25, .125, .0625}, c = {1.1, 1.2, 1.3, 1.4}, d = {0, 0, 0, 0};
  Wide e = a, f = b, g = c, h = a * b, i = a - b, j = b - c;
  const int n = opaque(400);
  for (int round = 0; round < n; ++round) {
    d += a * b;
    a = a * c;
    e = e * b + f;
    f = f + d * 1e-3;
    g = g * 0.999 + e;
    h = h * 0.5 + g;
    i = i * 0.25 + h;
    j = j * 0.125 + i;
    a = a * Wide{.9, .8, .7, .7};
  }
  const Wide z = a + b + c + d + e + f + g + h + i + j;
  std::uint64_t hash = 0;
  for (int lane = 0; lane < 4; ++lane) hash = mix(hash, z[lane]);
  return hash;
}

std::uint64_t many_registers_live() {
  std::uint64_t a = opaque(1ul), b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12, m = 13;
  for (int n = opaque(300); n > 0; --n) {
    a += b * 3, b ^= c, c += d * 5, d ^= e, e += f * 7, f ^= g, g += h * 11, h ^= i;
    i += j * 13, j ^= k, k += l * 17, l ^= m, m += a * 19;
  }
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l ^ m;
}

// A leaf whose array lives below the stack pointer where there is a red zone.
NOINLINE std::uint64_t leaf_with_array(const int* values) {
  unsigned char scratch[96];
  std::uint64_t hash = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 96; ++i) {
      scratch[i] = static_cast<unsigned char>(i * round + values[i]);
      asm volatile("" ::"r"(scratch) : "memory");
    }
    for (int i = 0; i < 96; ++i) hash = hash * 31 + scratch[i];
  }
  return hash;
}

std::uint64_t red_zone() { return leaf_with_array(numbers(96).data()); }

enum class Token { kSpace, kLetter, kDigit, kPlus, kMinus, kOpen, kClose, kOther };

Token token_of(char c) {
  switch (c) {
    case ' ':
    case '\t': return Token::kSpace;
    case '+':  return Token::kPlus;
    case '-':  return Token::kMinus;
    case '(':  return Token::kOpen;
    case ')':  return Token::kClose;
    default:   break;
  }
  if (c >= '0' && c <= '9') return Token::kDigit;
  if (c >= 'a' && c <= 'z') return Token::kLetter;
  return Token::kOther;
}

std::uint64_t switch_in_loop() {
  std::string text;
  for (int i = 0; i < opaque(60); ++i) text += "ab1 +(c-22)\t; ";
  std::uint64_t hash = 0, depth = 0;
  for (const char* at = text.c_str(); *at != '\0'; ++at) {
    switch (token_of(*at)) {
      case Token::kSpace:  continue;
      case Token::kLetter: hash = hash * 3 + 1; break;
      case Token::kDigit:  hash = hash * 5 + static_cast<std::uint64_t>(*at); break;
      case Token::kPlus:   hash += depth; break;
      case Token::kMinus:  hash -= depth; break;
      case Token::kOpen:   ++depth; break;
      case Token::kClose:  --depth; [[fallthrough]];
      default:             hash ^= 0x55;
    }
  }
  return hash;
}

std::uint64_t goto_loop() {
  std::uint64_t hash = opaque(7ul);
  int n = 0;
again:
  hash = hash * 2862933555777941757u + 3037000493u;
  if (++n < 300) goto again;
  return hash;
}

// Two entries into one cycle: not a loop to the optimiser, but it goes round all the same.
std::uint64_t irreducible() {
  std::uint64_t hash = opaque(3ul);
  int n = opaque(400);
  if ((opaque(n) & 1) != 0) goto middle;
top:
  hash = hash * 5 + 1;
middle:
  hash ^= hash >> 9;
  if (--n > 0) goto top;
  return hash;
}

std::uint64_t computed_goto() {
  static const void* const kSteps[] = {&&add, &&multiply, &&rotate, &&test, &&end};
  std::uint64_t hash = opaque(1ul), n = 0;
  goto* kSteps[0];
add:
  hash += ++n;
  goto* kSteps[1 + (hash & 1)];
multiply:
  hash *= 0x100000001b3u;
  goto* kSteps[2];
rotate:
  hash = std::rotl(hash, 5);
  goto* kSteps[3];
test:
  goto* kSteps[n < 300 ? 0 : 4];
end:
  return hash;
}

struct Guard {
  std::uint64_t* hash;
  ~Guard() { *hash = *hash * 7 + 1; }
};

NOINLINE void throw_sometimes(int i) {
  if (i % 3 == 0) throw i;
  if (i % 7 == 0) throw std::runtime_error(std::to_string(i));
}

std::uint64_t exceptions() {
  std::uint64_t hash = 0;
  for (int i = 0; i < opaque(60); ++i) {
    Guard guard{&hash};
    try {
      try {
        throw_sometimes(i);
      } catch (int& value) {
        hash = mix(hash, static_cast<std::uint64_t>(value));
        if (value % 2 == 0) throw;
        continue;
      }
    } catch (const std::exception& e) {
      hash = mix(hash, std::hash<std::string>{}(e.what()));
    } catch (...) {
      hash += 3;
    }
  }
  return hash;
}

// The way round is an exception: nothing else comes back to the top.
std::uint64_t retry_by_exception() {
  std::uint64_t hash = 0;
  int left = opaque(30);
again:
  try {
    hash = hash * 3 + static_cast<std::uint64_t>(left);
    if (--left > 0) throw left;
  } catch (int) {
    goto again;
  }
  return hash;
}

#if defined(__x86_64__)
std::uint64_t inline_assembly() {
  const std::vector<int> values = numbers(300);
  std::uint64_t low = 1, high = 0;
  for (int value : values) {
    asm volatile("addq %2, %0\n\tadcq $3, %1\n\trolq $7, %0\n\tadcq %0, %1"
                 : "+r"(low), "+r"(high)
                 : "r"(static_cast<std::uint64_t>(value) * 0x9e3779b97f4a7c15u)
                 : "cc");
  }
  char from[256], to[256];
  std::memset(from, 'x', sizeof from);
  for (int i = 0; i < opaque(20); ++i) {
    from[i] = static_cast<char>(i);
    char* d = to;
    const char* s = from;
    std::uint64_t count = sizeof to;
    asm volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(count)::"memory");
    low = low * 31 + static_cast<std::uint64_t>(to[i]);
  }
  return low ^ high;
}
#else
std::uint64_t inline_assembly() {
  const std::vector<int> values = numbers(300);
  std::uint64_t low = 1, high = 0;
  for (int value : values) {
    asm volatile("adds %0, %0, %2\n\tadc %1, %1, %0\n\tror %0, %0, #7"
                 : "+r"(low), "+r"(high)
                 : "r"(static_cast<std::uint64_t>(value) * 0x9e3779b97f4a7c15u)
                 : "cc");
  }
  return low ^ high;
}
#endif

std::uint64_t asm_goto() {
  std::uint64_t hash = opaque(5ul);
  volatile int n = 0;
again:
  hash = hash * 33 + 1;
  n = n + 1;
  if (n >= 200) return hash;
  asm goto("" ::: : again, out);
  hash ^= 1;
  goto again;
out:
  return hash;
}

std::uint64_t setjmp_loop() {
  static jmp_buf buffer;
  volatile std::uint64_t hash = 1;
  volatile int n = 0;
  const int reason = setjmp(buffer);
  hash = hash * 31 + static_cast<std::uint64_t>(reason);
  for (int i = 0; i < opaque(10); ++i) hash = hash + static_cast<std::uint64_t>(i);
  n = n + 1;
  if (n < 20) longjmp(buffer, n);
  return hash;
}

std::uint64_t setjmp_in_loop() {
  static jmp_buf buffer;
  volatile std::uint64_t hash = 1;
  volatile int i = 0;
  while (i < opaque(20)) {
    i = i + 1;
    if (setjmp(buffer) == 0) {
      hash = hash * 3;
      if (i % 3 == 0) longjmp(buffer, 1);
    } else {
      hash = hash + 7;
    }
  }
  return hash;
}

std::uint64_t long_double() {
  long double sum = 0, product = 1;
  for (int i = 1; i < opaque(300); ++i) {
    sum += 1.0L / static_cast<long double>(i);
    product *= 1.0L + sum / 1000.0L;
  }
  return mix(mix(0, static_cast<double>(sum)),
             static_cast<double>(product - static_cast<long double>(static_cast<double>(product))));
}

std::uint64_t rounding_mode() {
  std::fesetround(FE_UPWARD);
  volatile double third = 3.0;
  double sum = 0;
  for (int i = 0; i < opaque(200); ++i) sum += 1.0 / third;
  const int mode = std::fegetround();
  std::fesetround(FE_TONEAREST);
  return mix(static_cast<std::uint64_t>(mode), sum);
}

NOINLINE std::uint64_t sum_of(int count, ...) {
  va_list arguments;
  va_start(arguments, count);
  std::uint64_t hash = 0;
  for (int i = 0; i < count; ++i) {
    hash = i % 2 == 0 ? mix(hash, static_cast<std::uint64_t>(va_arg(arguments, int)))
                      : mix(hash, va_arg(arguments, double));
  }
  va_end(arguments);
  return hash;
}

std::uint64_t varargs() { return sum_of(opaque(14), 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5); }

std::uint64_t alloca_in_loop() {
  std::uint64_t hash = 0;
  for (std::size_t i = 1; i < opaque(std::size_t{60}); ++i) {
    auto* bytes = static_cast<unsigned char*>(alloca(i * 3));
    for (std::size_t j = 0; j < i * 3; ++j) bytes[j] = static_cast<unsigned char>(i ^ j);
    for (std::size_t j = 0; j < i * 3; ++j) hash = hash * 31 + bytes[j];
  }
  return hash;
}

struct Generator {
  struct promise_type {
    std::uint64_t value = 0;
    Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(std::uint64_t next) {
      value = next;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
};

Generator collatz(std::uint64_t n) {
  while (n != 1) {
    co_yield n;
    std::uint64_t steps = 0;
    do n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    while (++steps < 2 && n != 1);
  }
}

std::uint64_t coroutine() {
  std::uint64_t hash = 0;
  for (std::uint64_t start : {27ul, 97ul, 871ul}) {
    Generator sequence = collatz(start);
    while (sequence.handle.resume(), !sequence.handle.done()) hash = mix(hash, sequence.handle.promise().value);
    sequence.handle.destroy();
  }
  return hash;
}

struct Shape {
  virtual ~Shape() = default;
  virtual std::uint64_t area() const { return 1; }
};
struct Square : Shape {
  std::uint64_t side = opaque(3ul);
  std::uint64_t area() const override { return side * side; }
};

std::uint64_t indirect_calls() {
  Shape plain;
  Square square;
  const Shape* shapes[] = {&plain, &square};
  const std::function<std::uint64_t(std::uint64_t)> step = [&](std::uint64_t x) {
    return x * 3 + shapes[x % 2]->area();
  };
  std::uint64_t hash = 1;
  for (int i = 0; i < opaque(200); ++i) hash = step(hash) ^ shapes[i % 2]->area();
  return hash;
}

NOINLINE std::uint64_t ackermann(std::uint64_t m, std::uint64_t n) {
  while (m != 0) {
    n = n == 0 ? 1 : ackermann(m, n - 1);
    --m;
  }
  return n + 1;
}

std::uint64_t recursion() { return ackermann(opaque(2ul), 9); }

std::uint64_t library() {
  std::vector<int> values = numbers(300);
  std::sort(values.begin(), values.end(), [](int a, int b) { return (a ^ 5) < (b ^ 5); });
  std::map<std::string, int> words;
  for (int value : values) words[std::to_string(value % 50)] += value;
  std::uint64_t hash = 0;
  for (const auto& [word, count] : words)
    hash = mix(hash, std::hash<std::string>{}(word) + static_cast<std::uint64_t>(count));
  return mix(hash, static_cast<std::uint64_t>(std::accumulate(values.begin(), values.end(), 0)));
}

std::uint64_t atomics() {
  static std::atomic<std::uint64_t> word;
  static thread_local std::uint64_t own;
  word = 1, own = 1;
  for (std::uint64_t i = 0; i < opaque(200ul); ++i) {
    std::uint64_t seen = word.load();
    while (!word.compare_exchange_weak(seen, seen * 3 + i)) continue;
    own = own * 5 + word.fetch_add(i);
  }
  return own;
}

std::uint64_t wide_integers() {
  unsigned __int128 factorial = 1, sum = 0;
  for (unsigned i = 1; i < opaque(34u); ++i) factorial *= i, sum += factorial / (i + 1);
  return static_cast<std::uint64_t>(sum >> 64) ^ static_cast<std::uint64_t>(sum) ^
         static_cast<std::uint64_t>(factorial >> 64);
}

std::uint64_t empty_body() {
  volatile int n = opaque(500);
  while (n != 1) n = n - 1;
  for (int i = opaque(100); i > 0; --i) asm volatile("");
  return static_cast<std::uint64_t>(n);
}

// A carry from round to round in a register that holds no more than the flags would.
std::uint64_t carried_flags() {
  std::uint64_t carry = 0, hash = 0;
  const std::vector<int> values = numbers(200);
  for (int value : values) {
    unsigned long long sum = 0;
    carry = __builtin_uaddll_overflow(hash, static_cast<std::uint64_t>(value) << 32 | carry, &sum) ? 1 : 0;
    hash = std::rotl(static_cast<std::uint64_t>(sum), 3) + carry;
  }
  return hash;
}

}  // namespace

void spin_forever() {
  for (;;) asm volatile("");
}

const LoopCase kLoopCases[] = {
    {"nested", nested},
    {"several_ways_round", several_ways_round},
    {"vectorised", vectorised},
    {"wide_values_live", wide_values_live},
    {"many_registers_live", many_registers_live},
    {"red_zone", red_zone},
    {"switch_in_loop", switch_in_loop},
    {"goto_loop", goto_loop},
    {"irreducible", irreducible},
    {"computed_goto", computed_goto},
    {"exceptions", exceptions},
    {"retry_by_exception", retry_by_exception},
    {"inline_assembly", inline_assembly},
    {"asm_goto", asm_goto},
    {"setjmp_loop", setjmp_loop},
    {"setjmp_in_loop", setjmp_in_loop},
    {"long_double", long_double},
    {"rounding_mode", rounding_mode},
    {"varargs", varargs},
    {"alloca_in_loop", alloca_in_loop},
    {"coroutine", coroutine},
    {"indirect_calls", indirect_calls},
    {"recursion", recursion},
    {"library", library},
    {"atomics", atomics},
    {"wide_integers", wide_integers},
    {"empty_body", empty_body},
    {"carried_flags", carried_flags},
};
const int kLoopCaseCount = static_cast<int>(sizeof kLoopCases / sizeof kLoopCases[0]);
