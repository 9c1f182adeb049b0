// SPDX-License-Identifier: MIT
// What a function returns reaches the caller as it is: a reference stays one, also a const one, and one to an rvalue.
#include <future>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "support/runtime_test.h"

namespace {

using namespace weft::test;

class ReferenceResult : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(ReferenceResult);

int& same(int& value) { return value; }
int number() { return 7; }

struct Account {
  int& balance() { return money; }
  const int& balance() const { return money; }
  int money = 5;
};

template <class Expected, class Actual>
bool is_exactly(Actual&&) {  // of an expression: decltype((x)) tells lvalues from rvalues
  return std::is_same_v<Expected, Actual&&>;
}

TEST_P(ReferenceResult, spawn_delivers_it_with_and_without_arguments) {
  weft::run([] {
    int x = 1;
    const std::string text = "constant";
    auto without = weft::spawn([&]() -> int& { return x; });
    auto with = weft::spawn([](int& v) -> int& { return v; }, std::ref(x));
    auto by_name = weft::spawn(same, std::ref(x));
    auto constant = weft::spawn([](const std::string& s, int) -> const std::string& { return s; }, std::cref(text), 1);
    auto named = weft::spawn({.name = "named"}, same, std::ref(x));
    static_assert(std::is_same_v<decltype(with), weft::task<int&>> && std::is_same_v<decltype(with.join()), int&>);
    static_assert(std::is_same_v<decltype(constant.join()), const std::string&>);
    EXPECT_EQ(&without.join(), &x);
    EXPECT_EQ(&with.join(), &x);
    EXPECT_EQ(&by_name.join(), &x);
    EXPECT_EQ(&constant.join(), &text);
    EXPECT_EQ(&named.join(), &x);
  });
}

TEST_P(ReferenceResult, spawn_calls_members_and_delivers_what_they_refer_to) {
  weft::run([] {
    Account account;
    auto balance = weft::spawn(static_cast<int& (Account::*)()>(&Account::balance), std::ref(account));
    auto field = weft::spawn(&Account::money, std::ref(account));
    EXPECT_EQ(&balance.join(), &account.money);
    EXPECT_EQ(&field.join(), &account.money);
  });
}

TEST_P(ReferenceResult, spawn_delivers_references_to_rvalues) {
  weft::run([] {
    auto text = std::make_unique<int>(3);
    auto task = weft::spawn([&]() -> std::unique_ptr<int>&& { return std::move(text); });
    static_assert(std::is_same_v<decltype(task.join()), std::unique_ptr<int>&&>);
    const std::unique_ptr<int> taken = task.join();
    EXPECT_EQ(*taken, 3);
    EXPECT_EQ(text, nullptr);
    auto constant = weft::spawn([]() -> const std::string { return "four"; });
    EXPECT_EQ(constant.join(), "four");
  });
}

struct CalledOnce {  // as functions of std::move_only_function<int() &&> are
  int operator()() && { return 8; }
};
struct CalledOften {
  int operator()() & { return 9; }
};

TEST_P(ReferenceResult, functions_are_called_as_what_they_can_be_called_as) {
  weft::run([] {
    EXPECT_EQ(weft::spawn(CalledOnce{}).join(), 8);
    EXPECT_EQ(weft::spawn(CalledOften{}).join(), 9);
    weft::wait_group all;
    all.go(CalledOnce{});
    all.go(CalledOften{});
    all.wait();
    weft::group group;
    group.go(CalledOnce{});
    group.go(CalledOften{});
    group.wait();
    weft::go(CalledOnce{});
    weft::go(CalledOften{});
  });
}

TEST_P(ReferenceResult, run_and_blocking_and_stop_the_world_pass_it_on) {
  int x = 1;
  int& from_run = weft::run([&]() -> int& { return x; });
  EXPECT_EQ(&from_run, &x);
  int& from_options = weft::run(weft::options{.maxprocs = procs()}, [&]() -> int& { return x; });
  EXPECT_EQ(&from_options, &x);
  weft::run([&] {
    const auto refer = [&]() -> int& { return x; };
    const auto constant = [&]() -> const int& { return x; };
    static_assert(std::is_same_v<decltype(weft::run(refer)), int&>);
    static_assert(std::is_same_v<decltype(weft::blocking(refer)), int&>);
    static_assert(std::is_same_v<decltype(weft::blocking(constant)), const int&>);
    static_assert(std::is_same_v<decltype(weft::blocking(number)), int>);
    static_assert(std::is_same_v<decltype(weft::runtime::stop_the_world(refer)), int&>);
    static_assert(std::is_same_v<decltype(weft::runtime::stop_the_world(number)), int>);
    static_assert(std::is_void_v<decltype(weft::runtime::stop_the_world([] {}))>);
    EXPECT_EQ(weft::blocking(number), 7);
    EXPECT_EQ(&weft::run(refer), &x);
    EXPECT_EQ(&weft::blocking(refer), &x);
    EXPECT_EQ(&weft::blocking(constant), &x);
    EXPECT_EQ(&weft::runtime::stop_the_world(refer), &x);
    EXPECT_TRUE(is_exactly<int&&>(weft::blocking([&]() -> int&& { return std::move(x); })));
  });
}

TEST_P(ReferenceResult, single_flights_share_one_object) {
  weft::run([] {
    int x = 1;
    weft::single_flight<int, int&> flights;
    weft::chan<int*> seen(8);
    weft::wait_group all;
    for (int i = 0; i < 8; ++i)
      all.go([&] {
        seen.send(&flights.run(1, [&]() -> int& {
          weft::this_goroutine::yield();
          return x;
        }));
      });
    all.wait();
    for (int i = 0; i < 8; ++i) EXPECT_EQ(*seen.recv(), &x);
  });
}

TEST_P(ReferenceResult, futures_deliver_it) {
  weft::run([] {
    int x = 1;
    weft::promise<int&> word;
    weft::future<int&> later = word.get_future();
    word.set_value(x);
    EXPECT_EQ(&later.get(), &x);
    const int y = 2;
    weft::promise<const int&> constant;
    constant.set_value(y);
    EXPECT_EQ(&constant.get_future().get(), &y);
  });
}

}  // namespace
