// SPDX-License-Identifier: MIT
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/runtime_test.h"

// packaged_task and shared_future, as std's.
namespace {

using namespace weft::test;

class PackagedTask : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(PackagedTask);

template <class F>
std::future_errc error_of(F f) {
  try {
    f();
  } catch (const std::future_error& error) {
    return static_cast<std::future_errc>(error.code().value());
  }
  return std::future_errc{};
}

int twice(int number) { return 2 * number; }

TEST_P(PackagedTask, its_result_reaches_the_future) {
  weft::packaged_task<int(int, int)> sum([](int a, int b) { return a + b; });
  EXPECT_TRUE(sum.valid());
  weft::future<int> result = sum.get_future();
  weft::go(std::move(sum), 6, 7);
  EXPECT_EQ(result.get(), 13);

  weft::packaged_task<void()> nothing([] {});
  weft::future<void> done = nothing.get_future();
  std::thread(std::move(nothing)).join();
  done.get();

  int target = 0;
  weft::packaged_task<int&()> reference([&]() -> int& { return target; });
  reference();
  EXPECT_EQ(&reference.get_future().get(), &target);
}

TEST_P(PackagedTask, its_exception_reaches_the_future) {
  weft::packaged_task<int()> task([]() -> int { throw std::runtime_error("of the task"); });
  weft::future<int> result = task.get_future();
  weft::go(std::move(task));
  EXPECT_THROW(result.get(), std::runtime_error);
}

TEST_P(PackagedTask, takes_move_only_functions_arguments_and_results) {
  weft::packaged_task<std::unique_ptr<int>(std::unique_ptr<int>)> task(
      [own = std::make_unique<int>(1)](std::unique_ptr<int> given) {
        *given += *own;
        return given;
      });
  task(std::make_unique<int>(2));
  EXPECT_EQ(*task.get_future().get(), 3);
}

TEST_P(PackagedTask, misuse_is_told_as_by_std) {
  weft::packaged_task<int()> none;
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(error_of([&] { none(); }), std::future_errc::no_state);
  EXPECT_EQ(error_of([&] { none.reset(); }), std::future_errc::no_state);
  EXPECT_EQ(error_of([&] { static_cast<void>(none.get_future()); }), std::future_errc::no_state);
  int calls = 0;
  weft::packaged_task<int()> task([&] { return ++calls; });
  weft::future<int> result = task.get_future();
  EXPECT_EQ(error_of([&] { static_cast<void>(task.get_future()); }), std::future_errc::future_already_retrieved);
  task();
  EXPECT_EQ(error_of([&] { task(); }), std::future_errc::promise_already_satisfied);
  weft::packaged_task<int()> moved(std::move(task));
  EXPECT_FALSE(task.valid());
  EXPECT_EQ(error_of([&] { moved(); }), std::future_errc::promise_already_satisfied);
  EXPECT_EQ(result.get(), 1);
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(weft::packaged_task<int()>(std::function<int()>()), weft::logic_error);
}

TEST_P(PackagedTask, reset_makes_it_new) {
  int calls = 0;
  weft::packaged_task<int()> task([&] { return ++calls; });
  weft::future<int> first = task.get_future();
  task();
  task.reset();
  weft::future<int> second = task.get_future();
  task();
  EXPECT_EQ(first.get(), 1);
  EXPECT_EQ(second.get(), 2);
  task.reset();
  weft::future<int> broken = task.get_future();
  task.reset();
  EXPECT_EQ(error_of([&] { broken.get(); }), std::future_errc::broken_promise);
}

TEST_P(PackagedTask, one_that_never_runs_breaks_its_promise) {
  weft::future<int> dropped;
  {
    weft::packaged_task<int()> task([] { return 1; });
    dropped = task.get_future();
  }
  EXPECT_EQ(error_of([&] { dropped.get(); }), std::future_errc::broken_promise);
  weft::packaged_task<int()> leaving([]() -> int { weft::this_goroutine::exit(); });
  weft::future<int> left = leaving.get_future();
  weft::go(std::move(leaving));
  EXPECT_EQ(error_of([&] { left.get(); }), std::future_errc::broken_promise);
}

TEST_P(PackagedTask, its_signature_is_deduced) {
  weft::packaged_task from_function(twice);
  static_assert(std::is_same_v<decltype(from_function), weft::packaged_task<int(int)>>);
  weft::packaged_task from_lambda(
      [](const std::string& text, long n) noexcept { return text.size() + static_cast<std::size_t>(n); });
  static_assert(std::is_same_v<decltype(from_lambda), weft::packaged_task<std::size_t(const std::string&, long)>>);
  from_function(21);
  EXPECT_EQ(from_function.get_future().get(), 42);
  weft::packaged_task from_mutable([held = std::make_unique<int>(1)]() mutable { return ++*held; });
  weft::packaged_task<int()> assigned;
  assigned = std::move(from_mutable);
  swap(assigned, from_mutable);
  from_mutable();
  EXPECT_EQ(from_mutable.get_future().get(), 2);
}

class SharedFuture : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(SharedFuture);

TEST_P(SharedFuture, all_get_the_same_object_again_and_again) {
  weft::promise<std::unique_ptr<int>> promise;
  weft::future<std::unique_ptr<int>> single = promise.get_future();
  const weft::shared_future<std::unique_ptr<int>> shared = single.share();
  EXPECT_FALSE(single.valid());
  EXPECT_TRUE(shared.valid());
  static_assert(std::is_same_v<decltype(shared.get()), const std::unique_ptr<int>&>);
  std::atomic<int> sum{0};
  const auto work = [&, copy = shared] {
    for (int i = 0; i < 2; ++i) sum += *copy.get();
  };
  weft::wait_group group;
  for (int i = 0; i < 10; ++i) group.go(work);
  std::thread thread(work);
  EXPECT_EQ(shared.wait_for(1ms), std::future_status::timeout);
  EXPECT_EQ(shared.wait_until(std::chrono::system_clock::now()), std::future_status::timeout);
  promise.set_value(std::make_unique<int>(5));
  thread.join();
  group.wait();
  EXPECT_EQ(sum, 11 * 2 * 5);
  shared.wait();
  EXPECT_EQ(shared.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(shared.wait_until(Clock::time_point::min()), std::future_status::ready);
}

TEST_P(SharedFuture, all_get_the_exception) {
  weft::promise<int> promise;
  const weft::shared_future<int> shared = promise.get_future();
  promise.set_exception(std::make_exception_ptr(std::runtime_error("for all")));
  weft::wait_group group;
  for (int i = 0; i < 4; ++i) group.go([copy = shared] { EXPECT_THROW(copy.get(), std::runtime_error); });
  group.wait();
  EXPECT_THROW(shared.get(), std::runtime_error);
}

TEST_P(SharedFuture, of_nothing_and_of_references) {
  weft::promise<void> done;
  const weft::shared_future<void> shared = done.get_future().share();
  done.set_value();
  shared.get();
  shared.get();
  int target = 3;
  weft::promise<int&> promise;
  const weft::shared_future<int&> reference(promise.get_future());
  promise.set_value(target);
  EXPECT_EQ(&reference.get(), &target);
  const weft::shared_future<int> none;
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(error_of([&] { none.wait(); }), std::future_errc::no_state);
  EXPECT_EQ(error_of([&] { static_cast<void>(none.get()); }), std::future_errc::no_state);
  EXPECT_FALSE(weft::future<int>().share().valid());
}

TEST_P(SharedFuture, the_value_goes_with_the_last_copy) {
  weft::promise<Counted> promise;
  weft::shared_future<Counted> first = promise.get_future().share();
  promise.set_value(Counted());
  weft::shared_future<Counted> second = first;
  { const weft::promise<Counted> gone(std::move(promise)); }
  EXPECT_EQ(Counted::alive, 1);
  first = {};
  EXPECT_EQ(Counted::alive, 1);
  second = weft::shared_future<Counted>();
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace
