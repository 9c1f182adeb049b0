// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "kernel.h"

namespace {

int queens(unsigned columns, unsigned left, unsigned right, unsigned all) {
  if (columns == all) return 1;
  int found = 0;
  for (unsigned free = all & ~(columns | left | right); free != 0; free &= free - 1) {
    const unsigned bit = free & -free;
    found += queens(columns | bit, (left | bit) << 1, (right | bit) >> 1, all);
  }
  return found;
}

class Sudoku {
 public:
  explicit Sudoku(std::string_view text) {
    for (std::size_t i = 0; i < 81; ++i) {
      if (text[i] != '.') place(i, static_cast<unsigned>(text[i] - '1'));
    }
  }
  bool solve() {
    ++tries;
    std::size_t best = 81;
    int fewest = 10;
    for (std::size_t i = 0; i < 81; ++i) {
      if (cells_[i] == 0 && std::popcount(options(i)) < fewest) best = i, fewest = std::popcount(options(i));
    }
    if (best == 81) return true;
    for (unsigned open = options(best); open != 0; open &= open - 1) {
      const auto digit = static_cast<unsigned>(std::countr_zero(open));
      place(best, digit);
      if (solve()) return true;
      remove(best, digit);
    }
    return false;
  }
  std::uint64_t tries = 0;

 private:
  unsigned options(std::size_t i) const {
    return 511u & ~(row_[i / 9] | column_[i % 9] | box_[i / 27 * 3 + i % 9 / 3]);
  }
  void place(std::size_t i, unsigned digit) { cells_[i] = static_cast<char>(digit + 1), flip(i, digit); }
  void remove(std::size_t i, unsigned digit) { cells_[i] = 0, flip(i, digit); }
  void flip(std::size_t i, unsigned digit) {
    row_[i / 9] ^= 1u << digit, column_[i % 9] ^= 1u << digit, box_[i / 27 * 3 + i % 9 / 3] ^= 1u << digit;
  }
  std::array<char, 81> cells_{};
  std::array<unsigned, 9> row_{}, column_{}, box_{};
};

__attribute__((noinline)) std::uint64_t fib_of(std::uint64_t n) { return n < 2 ? n : fib_of(n - 1) + fib_of(n - 2); }

__attribute__((noinline)) std::uint64_t ackermann_of(std::uint64_t m, std::uint64_t n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann_of(m - 1, 1) : ackermann_of(m - 1, ackermann_of(m, n - 1));
}

struct Shape {
  virtual ~Shape() = default;
  virtual std::uint64_t area() const = 0;
};
struct Square : Shape {
  explicit Square(std::uint64_t s) : side(s) {}
  std::uint64_t area() const override { return side * side; }
  std::uint64_t side;
};
struct Strip : Shape {
  explicit Strip(std::uint64_t s) : side(s) {}
  std::uint64_t area() const override { return side * 3; }
  std::uint64_t side;
};

__attribute__((noinline)) std::uint64_t leaf(std::uint64_t x) { return x * 6364136223846793005u + 1; }

}  // namespace

WEFT_KERNEL(n_queens) { return static_cast<std::uint64_t>(queens(0, 0, 0, (1u << 10) - 1)); }

WEFT_KERNEL(sudoku) {
  std::uint64_t hash = 0;
  for (std::string_view text : {"..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9",
                                "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."}) {
    Sudoku puzzle(text);
    for (int i = 0; i < 1; ++i) hash = mix(hash, std::uint64_t{puzzle.solve()});
    hash = mix(hash, puzzle.tries);
  }
  return hash;
}

WEFT_KERNEL(fannkuch) {
  constexpr std::size_t kSize = 8;
  std::array<int, kSize> order{}, work{};
  std::iota(order.begin(), order.end(), 0);
  std::uint64_t most = 0, sum = 0;
  do {
    work = order;
    std::uint64_t flips = 0;
    while (work[0] != 0) std::reverse(work.begin(), work.begin() + work[0] + 1), ++flips;
    most = std::max(most, flips), sum += flips;
  } while (std::next_permutation(order.begin(), order.end()));
  return mix(most, sum);
}

WEFT_KERNEL(fibonacci) { return fib_of(29); }
WEFT_KERNEL(ackermann) { return ackermann_of(2, 500) + ackermann_of(3, 6); }

WEFT_KERNEL(leaf_calls) {
  std::uint64_t hash = 1;
  for (int i = 0; i < 3000000; ++i) hash = leaf(hash);
  return hash;
}

WEFT_KERNEL(virtual_calls) {
  std::vector<std::unique_ptr<Shape>> shapes;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    if (i * i % 7 < 3) {
      shapes.push_back(std::make_unique<Square>(i));
    } else {
      shapes.push_back(std::make_unique<Strip>(i));
    }
  }
  std::uint64_t sum = 0;
  for (int round = 0; round < 2000; ++round) {
    for (const auto& shape : shapes) sum += shape->area();
  }
  return sum;
}

WEFT_KERNEL(function_objects) {
  std::vector<std::function<std::uint64_t(std::uint64_t)>> steps;
  for (std::uint64_t i = 0; i < 8; ++i) steps.push_back([i](std::uint64_t x) { return x * (2 * i + 3) + i; });
  std::uint64_t hash = 1;
  for (std::size_t i = 0; i < 2000000; ++i) hash = steps[i & 7](hash);
  return hash;
}

WEFT_KERNEL(exceptions) {
  std::uint64_t hash = 0;
  for (int i = 0; i < 6000; ++i) {
    try {
      if (leaf(static_cast<std::uint64_t>(i)) % 2 == 0) throw std::runtime_error("even");
      hash = mix(hash, std::uint64_t{1});
    } catch (const std::exception& e) {
      hash = mix(hash, static_cast<std::uint64_t>(e.what()[0]));
    }
  }
  return hash;
}

WEFT_KERNEL(bytecode) {
  // sum = sum * 3 + i, counted down
  const std::vector<int> code{0, 1, 2, 3, 4};
  std::uint64_t sum = 1, i = 400000;
  std::size_t at = 0;
  while (true) {
    switch (code[at]) {
      case 0: sum *= 3; break;
      case 1: sum += i; break;
      case 2: --i; break;
      case 3:
        if (i == 0) return sum;
        break;
      default: at = static_cast<std::size_t>(-1);
    }
    ++at;
  }
}

WEFT_KERNEL(game_of_life) {
  constexpr std::size_t kSide = 130;
  std::vector<unsigned char> now(kSide * kSide), next(kSide * kSide);
  Random random;
  for (unsigned char& cell : now) cell = random.next() % 3 == 0;
  for (int step = 0; step < 60; ++step) {
    for (std::size_t y = 1; y + 1 < kSide; ++y) {
      for (std::size_t x = 1; x + 1 < kSide; ++x) {
        const unsigned char* c = &now[y * kSide + x];
        const int around =
            c[-1] + c[1] + *(c - kSide - 1) + *(c - kSide) + *(c - kSide + 1) + c[kSide - 1] + c[kSide] + c[kSide + 1];
        next[y * kSide + x] = around == 3 || (around == 2 && *c != 0);
      }
    }
    now.swap(next);
  }
  std::uint64_t hash = 0;
  for (unsigned char cell : now) hash = mix(hash, std::uint64_t{cell});
  return hash;
}
