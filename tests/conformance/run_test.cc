// SPDX-License-Identifier: MIT
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// weft::run: a main goroutine, its value, its exception.
namespace {

using namespace weft::test;

class Run : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Run);

TEST_P(Run, returns_what_the_function_returns) {
  EXPECT_EQ(weft::run([] { return 42; }), 42);
  EXPECT_EQ(weft::run([] { return std::string("text"); }), "text");
  static_assert(std::is_void_v<decltype(weft::run([] {}))>);
  bool ran = false;
  weft::run([&] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST_P(Run, returns_values_that_can_only_be_moved) {
  std::unique_ptr<int> value = weft::run([] { return std::make_unique<int>(7); });
  EXPECT_EQ(*value, 7);
}

TEST_P(Run, reads_through_a_returned_reference) {
  std::vector<int> data(1000, 3);
  EXPECT_EQ(weft::run([&]() -> std::vector<int>& { return data; }).size(), 1000u);
}

TEST_P(Run, rethrows_what_left_the_function) {
  try {
    weft::run([] { throw std::out_of_range("too far"); });
    FAIL() << "nothing was thrown";
  } catch (const std::out_of_range& error) {
    EXPECT_STREQ(error.what(), "too far");
  }
  EXPECT_THROW(weft::run([]() -> int { throw 7; }), int);
  EXPECT_EQ(weft::run([] { return 1; }), 1) << "the runtime goes on after an exception";
}

TEST_P(Run, keeps_the_function_where_it_is) {
  struct Pinned {
    Pinned() = default;
    Pinned(const Pinned&) = delete;
    int calls = 0;
    int operator()() { return ++calls; }
  } function;
  EXPECT_EQ(weft::run(function), 1);
  EXPECT_EQ(weft::run(function), 2);
}

TEST_P(Run, refuses_an_empty_function) {
  EXPECT_THROW(weft::run(std::function<void()>()), weft::logic_error);
  void (*null)() = nullptr;
  EXPECT_THROW(weft::run(null), weft::logic_error);
}

TEST_P(Run, gives_the_function_an_identity) {
  EXPECT_EQ(weft::this_goroutine::get_id(), weft::goroutine_id());
  const weft::goroutine_id first = weft::run([] { return weft::this_goroutine::get_id(); });
  const weft::goroutine_id second = weft::run([] { return weft::this_goroutine::get_id(); });
  EXPECT_NE(first, weft::goroutine_id());
  EXPECT_NE(first, second);
}

TEST_P(Run, nests) {
  const int sum = weft::run([] {
    const int inner = weft::run([] { return weft::run([] { return 1; }) + 10; });
    return inner + 100;
  });
  EXPECT_EQ(sum, 111);
  EXPECT_THROW(weft::run([] { weft::run([] { throw std::runtime_error("deep"); }); }), std::runtime_error);
}

TEST_P(Run, works_inside_a_blocking_call) {
  const int result = weft::run([] { return weft::blocking([] { return weft::run([] { return 5; }); }); });
  EXPECT_EQ(result, 5);
}

TEST_P(Run, works_from_many_threads_at_once) {
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int i = 1; i <= 8; ++i) {
    threads.emplace_back([&sum, i] {
      for (int round = 0; round < scaled(200); ++round) {
        sum += weft::run([i] {
          weft::this_goroutine::yield();
          return i;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 36 * scaled(200));
}

TEST_P(Run, does_not_end_the_goroutines_it_started) {
  weft::event go_on, done;
  weft::run([&] {
    weft::go([&] {
      go_on.wait();
      done.set();
    });
  });
  EXPECT_FALSE(done.is_set());
  go_on.set();
  EXPECT_TRUE(done.wait_for(10s));
}

TEST_P(Run, takes_maxprocs_and_policy_from_options) {
  const int other = procs() == 3 ? 2 : 3;
  weft::run({.maxprocs = other, .policy = weft::policy_kind::global}, [&] {
    EXPECT_EQ(weft::runtime::maxprocs(), other);
    EXPECT_EQ(weft::runtime::policy(), weft::policy_kind::global);
  });
  weft::run([&] { EXPECT_EQ(weft::runtime::maxprocs(), other) << "0 leaves it as it is"; });
  EXPECT_EQ(weft::run(weft::options{.maxprocs = procs()}, [] { return weft::runtime::maxprocs(); }), procs());
}

TEST_P(Run, refuses_an_impossible_maxprocs) {
  bool ran = false;
  for (const int bad : {-1, 1025, 1'000'000, INT32_MAX, INT32_MIN})
    EXPECT_THROW(weft::run({.maxprocs = bad}, [&] { ran = true; }), weft::logic_error) << bad;
  EXPECT_FALSE(ran);
}

}  // namespace
