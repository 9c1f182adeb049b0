// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <weft/weft.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// parallel_for and parallel_reduce.
namespace {

using namespace weft::test;

class Parallel : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Parallel);

TEST_P(Parallel, each_index_is_run_once) {
  weft::run([] {
    for (const std::size_t count : {0u, 1u, 2u, 3u, 7u, 64u, 1000u, 100'003u}) {
      std::vector<unsigned char> runs(count + 200, 0);
      weft::parallel_for(100, 100 + count, [&](std::size_t i) { ++runs[i]; });
      EXPECT_EQ(std::count(runs.begin() + 100, runs.end() - 100, 1), static_cast<long>(count));
      EXPECT_EQ(std::accumulate(runs.begin(), runs.end(), 0u), count) << "none outside";
    }
    int calls = 0;
    weft::parallel_for(5, 3, [&](std::size_t) { ++calls; });
    weft::parallel_for(SIZE_MAX, SIZE_MAX, [&](std::size_t) { ++calls; });
    EXPECT_EQ(calls, 0);
  });
}

TEST_P(Parallel, a_function_of_two_numbers_gets_pieces) {
  weft::run([] {
    std::vector<std::atomic<int>> runs(50'000);
    weft::parallel_for(0, runs.size(), [&](std::size_t first, std::size_t last) {
      EXPECT_LT(first, last);
      for (; first < last; ++first) ++runs[first];
    });
    for (const auto& each : runs) ASSERT_EQ(each, 1);
    int whole = 0;
    weft::parallel_for(0, 1, [&](int first, int last) { whole = 10 * first + last; });
    EXPECT_EQ(whole, 1);
  });
}

TEST_P(Parallel, pieces_are_multiples_of_the_grain) {
  weft::run([] {
    std::atomic<std::size_t> sum{0};
    std::atomic<int> broken{0};
    const auto f = [&](std::size_t first, std::size_t last) {
      sum += last - first;
      if ((first - 7) % 64 != 0 || ((last - 7) % 64 != 0 && last != 10'000)) ++broken;
    };
    weft::parallel_for({.grain = 64}, 7, 10'000, f);
    weft::parallel_for(7, 10'000, {.grain = 64}, f);
    weft::parallel_for(7, 10'000, f, {.grain = 64});
    EXPECT_EQ(sum, 3 * 9'993u);
    EXPECT_EQ(broken, 0);
    sum = 0;
    weft::parallel_for({.grain = 0}, 7, 10'000, [&](std::size_t) { ++sum; });
    EXPECT_EQ(sum, 9'993u);
    int calls = 0;  // no race: one piece
    weft::parallel_for({.grain = SIZE_MAX}, 0, 1000, [&](std::size_t, std::size_t last) { calls += last == 1000; });
    EXPECT_EQ(calls, 1);
  });
}

TEST_P(Parallel, ranges_may_be_as_long_as_numbers_go) {
  weft::run([] {
    for (const std::size_t begin : {std::size_t{0}, std::size_t{1}, SIZE_MAX / 2, SIZE_MAX - 5}) {
      std::atomic<std::size_t> sum{0};
      weft::parallel_for(begin, SIZE_MAX, [&](std::size_t first, std::size_t last) { sum += last - first; });
      EXPECT_EQ(sum, SIZE_MAX - begin);
    }
    const std::size_t sum = weft::parallel_reduce(
        std::size_t{0}, SIZE_MAX, std::size_t{0}, [](std::size_t first, std::size_t last) { return last - first; },
        std::plus<>());
    EXPECT_EQ(sum, SIZE_MAX);
    std::atomic<int> calls{0};
    EXPECT_THROW(weft::parallel_for(0, SIZE_MAX,
                                    [&](std::size_t i) {
                                      if (++calls == 1000) throw std::out_of_range(std::to_string(i));
                                    }),
                 std::out_of_range);
  });
}

// Waits until as many iterations as there are Ps run at once, for which each must be in a goroutine of its own.
TEST_P(Parallel, as_many_iterations_run_at_once_as_there_are_processors) {
  weft::run([] {
    for (int round = 0; round < 5; ++round) {
      std::atomic<int> inside{0}, most{0};
      weft::parallel_for(0, static_cast<std::size_t>(4 * procs()), [&](std::size_t) {
        const int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        EXPECT_TRUE(spin_until([&] { return most >= procs(); }));
        --inside;
      });
      EXPECT_EQ(most, procs()) << "and never more";
    }
  });
}

// One long iteration must not keep the others from being run, wherever it is.
TEST_P(Parallel, what_a_blocked_iteration_has_not_begun_is_run_by_others) {
  if (procs() == 1) return;  // one worker
  weft::run([] {
    for (const std::size_t blocked : {0u, 1u, 500u, 999u}) {
      std::atomic<int> others{0};
      weft::parallel_for({.grain = 1}, 0, 1000, [&](std::size_t i) {
        if (i != blocked) {
          ++others;
          weft::this_goroutine::sleep_for(10us);  // so that an iteration is a piece
        } else {
          EXPECT_TRUE(spin_until([&] { return others == 999; })) << others << " of 999, blocked at " << blocked;
        }
      });
    }
  });
}

TEST_P(Parallel, the_first_exception_is_rethrown_and_nothing_runs_after_it) {
  weft::run([] {
    for (int round = 0; round < scaled(100); ++round) {
      auto inside = std::make_unique<std::atomic<int>>(0);
      auto after = std::make_unique<std::atomic<int>>(0);
      try {
        weft::parallel_for(0, 1'000'000, [&](std::size_t i) {
          ++*inside;
          if (i % 1000 == static_cast<std::size_t>(round)) throw std::runtime_error("at " + std::to_string(i));
          if (i % 64 == 0) weft::this_goroutine::yield();
          --*inside;
        });
        ADD_FAILURE() << "no exception";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(std::string(error.what()).substr(0, 3), "at ");
      }
      EXPECT_LE(*inside, procs()) << "only those that threw are still counted";
      EXPECT_GE(*inside, 1);
      const int left = *inside;
      weft::this_goroutine::yield();
      EXPECT_EQ(*inside, left);
      inside.reset();  // what still ran would use freed memory
    }
  });
}

TEST_P(Parallel, an_iteration_that_ends_its_goroutine_ends_the_loop) {
  weft::run([] {
    for (const std::size_t at : {0u, 99u}) {
      // In the caller the goroutine ends, in a helper the caller gets an exception.
      auto task = weft::spawn([&] {
        weft::parallel_for(0, 100, [&](std::size_t i) {
          if (i == at) weft::this_goroutine::exit();
          weft::this_goroutine::yield();
        });
      });
      EXPECT_THROW(task.join(), weft::goroutine_exited);
    }
  });
}

TEST_P(Parallel, loops_nest) {
  weft::run([] {
    std::atomic<int> sum{0};
    weft::parallel_for(0, 20, [&](std::size_t) {
      weft::parallel_for(0, 20, [&](std::size_t) {
        weft::parallel_for(0, 20, [&](std::size_t first, std::size_t last) { sum += static_cast<int>(last - first); });
      });
    });
    EXPECT_EQ(sum, 8000);
    EXPECT_THROW(weft::parallel_for(0, 20,
                                    [&](std::size_t i) {
                                      weft::parallel_for(0, 20, [&](std::size_t k) {
                                        if (i + k == 20) throw std::out_of_range("inner");
                                      });
                                    }),
                 std::out_of_range);
  });
}

TEST_P(Parallel, iterations_may_wait_for_other_goroutines) {
  weft::run([] {
    weft::chan<std::size_t> numbers;
    auto sum = weft::spawn([&] {
      std::size_t total = 0;
      for (const std::size_t each : numbers) total += each;
      return total;
    });
    weft::parallel_for(0, 1000, [&](std::size_t i) { numbers.send(i); });
    numbers.close();
    EXPECT_EQ(sum.join(), 499'500u);
  });
}

TEST_P(Parallel, plain_threads_and_many_callers_use_it_too) {
  const auto work = [] {
    for (int round = 0; round < scaled(20); ++round) {
      std::atomic<int> sum{0}, on_goroutines{0};
      weft::parallel_for(0, 1000, [&](std::size_t) {
        ++sum;
        on_goroutines += weft::this_goroutine::get_id() != weft::goroutine_id();
      });
      EXPECT_EQ(sum, 1000);
      EXPECT_EQ(on_goroutines, 1000);
    }
    EXPECT_THROW(weft::parallel_for(0, 10, [](std::size_t) { throw std::out_of_range("x"); }), std::out_of_range);
    const long total = weft::parallel_reduce(
        0, 1001, 0L, [](std::size_t i) { return static_cast<long>(i); }, [](long a, long b) { return a + b; });
    EXPECT_EQ(total, 500'500);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);
  weft::run([&] {
    weft::wait_group all;
    for (int i = 0; i < 3; ++i) all.go(work);
    all.wait();
  });
  for (std::thread& each : threads) each.join();
}

// Strings: joining them is associative and not commutative.
TEST_P(Parallel, a_reduction_keeps_the_order_of_its_values) {
  weft::run([] {
    std::string wanted;
    for (int i = 0; i < 3000; ++i) wanted += std::to_string(i) + ",";
    const auto join = [](std::string one, const std::string& other) { return one += other; };
    const auto one = [](std::size_t i) {
      if (i % 16 == 0) weft::this_goroutine::yield();
      return std::to_string(i) + ",";
    };
    const auto some = [&](std::size_t first, std::size_t last) {
      std::string text;
      for (; first < last; ++first) text += one(first);
      return text;
    };
    const auto fold = [&](std::size_t first, std::size_t last, std::string text) {
      for (; first < last; ++first) text += one(first);
      return text;
    };
    for (int round = 0; round < 5; ++round) {
      EXPECT_EQ(weft::parallel_reduce(0, 3000, std::string(), one, join), wanted);
      EXPECT_EQ(weft::parallel_reduce(0, 3000, std::string(), some, join), wanted);
      EXPECT_EQ(weft::parallel_reduce(0, 3000, std::string(), fold, join), wanted);
      EXPECT_EQ(weft::parallel_reduce({.grain = 100}, 0, 3000, std::string(), some, join), wanted);
      EXPECT_EQ(weft::parallel_reduce(0, 3000, std::string(), some, join, {.grain = 100}), wanted);
    }
    EXPECT_EQ(weft::parallel_reduce(7, 7, std::string("identity"), one, join), "identity");
  });
}

TEST_P(Parallel, reductions_throw_and_leave_nothing_behind) {
  weft::run([] {
    {
      struct Sum : Counted {
        long value = 0;
      };
      const Sum identity;
      const Sum sum = weft::parallel_reduce(
          0, 10'000, identity,
          [](std::size_t i) {
            Sum value;
            value.value = static_cast<long>(i);
            return value;
          },
          [](Sum a, const Sum& b) {
            a.value += b.value;
            return a;
          });
      EXPECT_EQ(sum.value, 49'995'000);
      EXPECT_THROW(weft::parallel_reduce(
                       0, 10'000, identity,
                       [](std::size_t i) -> Sum {
                         if (i == 7777) throw std::out_of_range("f");
                         return {};
                       },
                       [](Sum a, const Sum&) { return a; }),
                   std::out_of_range);
      EXPECT_THROW(weft::parallel_reduce(
                       0, 100, identity, [](std::size_t) { return Sum(); },
                       [](const Sum&, const Sum&) -> Sum { throw std::out_of_range("combine"); }),
                   std::out_of_range);
    }
    EXPECT_EQ(Counted::alive, 0);
  });
}

// What a goroutine computes with plain variables before the loop is seen in it, and the other way round (for TSan).
TEST_P(Parallel, plain_variables_are_ordered_by_the_call) {
  weft::run([] {
    std::vector<long> values(1000, 1), squares(1000);
    for (int round = 0; round < scaled(50); ++round) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<long>(i) + round;
      weft::parallel_for(0, values.size(), [&](std::size_t i) { squares[i] = values[i] * values[i]; });
      long sum = 0;
      for (const long each : squares) sum += each;
      const long n = 1000, r = round;
      ASSERT_EQ(sum, (n - 1) * n * (2 * n - 1) / 6 + r * n * (n - 1) + n * r * r);
    }
  });
}

}  // namespace
