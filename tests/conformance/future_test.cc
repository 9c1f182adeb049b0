// SPDX-License-Identifier: MIT
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// promise and future.
namespace {

using namespace weft::test;

class Future : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Future);

template <class F>
std::future_errc error_of(F f) {
  try {
    f();
  } catch (const std::future_error& error) {
    return static_cast<std::future_errc>(error.code().value());
  }
  ADD_FAILURE() << "no future_error";
  return {};
}

TEST_P(Future, get_delivers_the_value) {
  weft::promise<int> promise;
  weft::future<int> future = promise.get_future();
  EXPECT_TRUE(future.valid());
  EXPECT_EQ(future.wait_for(0s), std::future_status::timeout);
  promise.set_value(5);
  EXPECT_EQ(future.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(future.get(), 5);
  EXPECT_FALSE(future.valid());
}

TEST_P(Future, carries_values_of_every_shape) {
  weft::promise<std::unique_ptr<int>> move_only;
  move_only.set_value(std::make_unique<int>(6));
  EXPECT_EQ(*move_only.get_future().get(), 6);

  int target = 0;
  weft::promise<int&> reference;
  reference.set_value(target);
  EXPECT_EQ(&reference.get_future().get(), &target);

  weft::promise<void> nothing;
  nothing.set_value();
  nothing.get_future().get();

  weft::promise<std::string> converted;
  converted.set_value("text");
  EXPECT_EQ(converted.get_future().get(), "text");

  weft::promise<std::vector<int>> listed;
  listed.set_value({1, 2, 3});
  EXPECT_EQ(listed.get_future().get().size(), 3u);
}

TEST_P(Future, get_rethrows_the_exception) {
  weft::promise<int> promise;
  weft::future<int> future = promise.get_future();
  promise.set_exception(std::make_exception_ptr(std::out_of_range("gone")));
  EXPECT_THROW(future.get(), std::out_of_range);
  EXPECT_FALSE(future.valid());
}

TEST_P(Future, misuse_throws_what_std_throws) {
  weft::promise<int> promise;
  weft::future<int> future = promise.get_future();
  EXPECT_EQ(error_of([&] { static_cast<void>(promise.get_future()); }), std::future_errc::future_already_retrieved);
  promise.set_value(1);
  EXPECT_EQ(error_of([&] { promise.set_value(2); }), std::future_errc::promise_already_satisfied);
  EXPECT_EQ(error_of([&] { promise.set_exception(std::make_exception_ptr(1)); }),
            std::future_errc::promise_already_satisfied);
  EXPECT_EQ(future.get(), 1);
  EXPECT_EQ(error_of([&] { future.get(); }), std::future_errc::no_state);
  EXPECT_EQ(error_of([&] { future.wait(); }), std::future_errc::no_state);
  weft::promise<int> moved = std::move(promise);
  EXPECT_EQ(error_of([&] { promise.set_value(3); }), std::future_errc::no_state);  // NOLINT(bugprone-use-after-move)
}

TEST_P(Future, a_null_exception_is_refused_and_changes_nothing) {
  weft::promise<std::string> promise;
  weft::future<std::string> future = promise.get_future();
  EXPECT_THROW(promise.set_exception(nullptr), weft::logic_error);
  EXPECT_EQ(future.wait_for(0s), std::future_status::timeout);
  promise.set_value("all the same");
  EXPECT_EQ(future.get(), "all the same");
}

TEST_P(Future, a_promise_that_goes_away_breaks_its_word) {
  weft::future<int> future;
  {
    weft::promise<int> promise;
    future = promise.get_future();
  }
  EXPECT_EQ(error_of([&] { future.get(); }), std::future_errc::broken_promise);

  weft::promise<void> replaced;
  weft::future<void> waiting = replaced.get_future();
  replaced = weft::promise<void>();
  EXPECT_EQ(error_of([&] { waiting.get(); }), std::future_errc::broken_promise);
}

TEST_P(Future, a_value_whose_copy_throws_leaves_the_promise_as_it_was) {
  struct Angry {
    Angry() = default;
    Angry(const Angry&) { throw 3; }
    Angry(Angry&&) noexcept {}
  };
  weft::promise<Angry> promise;
  weft::future<Angry> future = promise.get_future();
  const Angry angry;
  EXPECT_THROW(promise.set_value(angry), int);
  EXPECT_EQ(future.wait_for(0s), std::future_status::timeout);
  promise.set_value(Angry());
  future.get();
}

TEST_P(Future, time_limits_are_kept) {
  weft::promise<int> promise;
  weft::future<int> future = promise.get_future();
  const auto check = [&] {
    const Stopwatch watch;
    EXPECT_EQ(future.wait_for(10ms), std::future_status::timeout);
    EXPECT_GE(watch.elapsed(), 10ms);
    EXPECT_EQ(future.wait_until(Clock::now() + 1ms), std::future_status::timeout);
    EXPECT_EQ(future.wait_until(std::chrono::system_clock::now() + 1ms), std::future_status::timeout);
  };
  check();
  weft::run(check);
  promise.set_value(1);
  EXPECT_EQ(future.wait_for(std::chrono::hours::max()), std::future_status::ready);
}

TEST_P(Future, goroutines_and_threads_wait_for_each_other) {
  for (int round = 0; round < scaled(200); ++round) {
    weft::promise<int> there, back;
    weft::future<int> from_thread = there.get_future(), from_goroutine = back.get_future();
    weft::go([&, back = std::move(back)]() mutable { back.set_value(from_thread.get() + 1); });
    there.set_value(round);
    ASSERT_EQ(from_goroutine.get(), round + 1);
  }
  weft::run([] {
    weft::promise<int> promise;
    weft::future<int> future = promise.get_future();
    std::thread thread([promise = std::move(promise)]() mutable {
      weft::this_goroutine::sleep_for(2ms);
      promise.set_value(9);
    });
    EXPECT_EQ(future.get(), 9);
    weft::blocking([&] { thread.join(); });
  });
}

TEST_P(Future, values_are_destroyed_exactly_once) {
  {
    weft::promise<Counted> unread;
    unread.set_value(Counted());
    weft::promise<Counted> read;
    read.set_value(Counted());
    const Counted got = read.get_future().get();
    weft::promise<Counted> never;
  }
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace
