// SPDX-License-Identifier: MIT
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/runtime_test.h"

// once_func and once_value: one run for all callers, and its value or exception for each of them.
namespace {

using namespace weft::test;

class OnceFunc : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(OnceFunc);

TEST_P(OnceFunc, runs_once_for_goroutines_and_threads_which_wait_for_it) {
  int calls = 0;
  const auto once = weft::once_func([&] {
    weft::this_goroutine::sleep_for(1ms);
    ++calls;
  });
  const auto work = [once, &calls] {
    once();
    EXPECT_EQ(calls, 1);
  };
  weft::wait_group group;
  for (int i = 0; i < 20; ++i) group.go(work);
  std::thread first(work), second(work);
  first.join();
  second.join();
  group.wait();
}

TEST_P(OnceFunc, does_not_run_before_the_first_call) {
  bool ran = false;
  const auto once = weft::once_func([&] { ran = true; });
  const auto copy = once;
  EXPECT_FALSE(ran);
  copy();
  EXPECT_TRUE(std::exchange(ran, false));
  once();
  EXPECT_FALSE(ran);
}

TEST_P(OnceFunc, every_caller_gets_the_exception) {
  int calls = 0;
  const auto once = weft::once_func([&] {
    ++calls;
    throw std::runtime_error("for all");
  });
  const auto value = weft::once_value([&]() -> int { throw std::string("of any type"); });
  weft::wait_group group;
  for (int i = 0; i < 10; ++i) {
    group.go([&] {
      for (int k = 0; k < 3; ++k) {
        try {
          once();
          ADD_FAILURE() << "no exception";
        } catch (const std::runtime_error& error) {
          EXPECT_STREQ(error.what(), "for all");
        }
        EXPECT_THROW(value(), std::string);
      }
    });
  }
  group.wait();
  EXPECT_EQ(calls, 1);
}

TEST_P(OnceFunc, every_caller_gets_the_same_value) {
  const auto value = weft::once_value([] { return std::make_unique<int>(42); });
  static_assert(std::is_same_v<decltype(value()), const std::unique_ptr<int>&>);
  const int* first = value().get();
  weft::wait_group group;
  for (int i = 0; i < 20; ++i) group.go([&, value] { EXPECT_EQ(value().get(), first); });
  group.wait();
  EXPECT_EQ(*first, 42);
  int target = 1;
  const auto reference = weft::once_value([&]() -> int& { return target; });
  static_assert(std::is_same_v<decltype(reference()), int&>);
  EXPECT_EQ(&reference(), &target);
}

TEST_P(OnceFunc, lets_go_of_the_function_when_it_has_run) {
  {
    const auto once = weft::once_func([captured = Counted()] { static_cast<void>(captured); });
    EXPECT_EQ(Counted::alive, 1);
    once();
    EXPECT_EQ(Counted::alive, 0);
    const auto failing = weft::once_value([captured = Counted()]() -> Counted { throw 1; });
    EXPECT_THROW(failing(), int);
    EXPECT_EQ(Counted::alive, 0);
    const auto never = weft::once_func([captured = Counted()] { static_cast<void>(captured); });
    const auto made = weft::once_value([] { return Counted(); });
    made();
    EXPECT_EQ(Counted::alive, 2) << "one function, one value";
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST_P(OnceFunc, move_only_functions_work_and_empty_ones_are_refused) {
  const auto value = weft::once_value([held = std::make_unique<int>(3)]() mutable { return std::move(held); });
  EXPECT_EQ(*value(), 3);
  EXPECT_THROW(static_cast<void>(weft::once_func(std::function<void()>())), weft::logic_error);
  EXPECT_THROW(static_cast<void>(weft::once_value(static_cast<int (*)()>(nullptr))), weft::logic_error);
}

TEST_P(OnceFunc, an_exit_is_no_result_and_the_next_caller_runs_it) {
  weft::run([] {
    int calls = 0;
    const auto value = weft::once_value([&] {
      if (++calls == 1) weft::this_goroutine::exit();
      return calls;
    });
    EXPECT_THROW(weft::spawn([&] { return value(); }).join(), weft::goroutine_exited);
    EXPECT_EQ(value(), 2);
    EXPECT_EQ(value(), 2);
  });
}

}  // namespace
