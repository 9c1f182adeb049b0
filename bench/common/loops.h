// SPDX-License-Identifier: MIT
// Parallel loops, the same for every library: `Library` has two static templates, for_each(count, f) and
// sum(count, f), where f(first, last, sum) adds a piece.
#pragma once

#include "common/bench.h"

#include <cmath>
#include <numeric>
#include <vector>

namespace bench {

// Dependent multiplications: what the compiler can neither drop nor do in one step.
inline std::uint64_t steps(std::uint64_t x, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  return x;
}

template <class Serial, class Parallel>
double speedup(long repeat, Serial serial, Parallel parallel) {
  double alone = 0, together = 0;
  for (long r = -1; r < repeat; ++r) {  // the first round only warms up
    const double start = now_ns();
    serial();
    const double middle = now_ns();
    parallel();
    if (r < 0) continue;
    alone += middle - start;
    together += now_ns() - middle;
  }
  return alone / together;
}

struct Loops {
  double even_speedup, uneven_speedup, short_ns, reduce_speedup;
};

template <class Library>
Loops measure_loops(long repeat) {
  std::vector<std::uint64_t> out(1'000'000), wanted(out.size());
  const auto even = [](std::vector<std::uint64_t>& to) { return [&to](std::size_t i) { to[i] = steps(i, 8); }; };
  const auto uneven = [](std::vector<std::uint64_t>& to) { return [&to](std::size_t i) { to[i] = steps(i, 8 * i); }; };
  const auto both = [&](std::size_t count, auto make) {
    const double gain = speedup(
        repeat,
        [&] {
          for (std::size_t i = 0; i < count; ++i) make(wanted)(i);
        },
        [&] { Library::for_each(count, make(out)); });
    require(std::equal(out.begin(), out.begin() + static_cast<long>(count), wanted.begin()), "of a loop");
    return gain;
  };
  Loops result{};
  result.even_speedup = both(out.size(), even);
  result.uneven_speedup = both(2000, uneven);

  const long rounds = 1000 * repeat;
  const double start = now_ns();
  for (long r = 0; r < rounds; ++r)
    Library::for_each(1000, [&](std::size_t i) { out[i] = i + static_cast<std::size_t>(r); });
  result.short_ns = (now_ns() - start) / static_cast<double>(rounds);

  std::vector<float> numbers(4'000'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 1000);
  const auto add = [&](std::size_t first, std::size_t last, double sum) {
    for (; first < last; ++first) sum += std::sqrt(static_cast<double>(numbers[first]));
    return sum;
  };
  double one = 0, other = 0;
  result.reduce_speedup =
      speedup(repeat, [&] { one = add(0, numbers.size(), 0); }, [&] { other = Library::sum(numbers.size(), add); });
  require(std::abs(one - other) < 1e-6 * one, "of a sum");
  return result;
}

}  // namespace bench
