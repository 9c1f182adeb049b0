// SPDX-License-Identifier: MIT
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// pool and single_flight.
namespace {

using namespace weft::test;

class PoolSingleFlight : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(PoolSingleFlight);

TEST_P(PoolSingleFlight, a_pool_gives_back_what_was_put_and_makes_what_is_missing) {
  int made = 0;
  weft::pool<std::unique_ptr<int>> pool([&] { return std::make_unique<int>(++made); });
  std::unique_ptr<int> first = pool.get();
  EXPECT_EQ(*first, 1);
  *first = 100;
  pool.put(std::move(first));
  EXPECT_EQ(*pool.get(), 100);
  EXPECT_EQ(*pool.get(), 2);
}

TEST_P(PoolSingleFlight, no_object_is_given_to_two) {
  struct Object {
    std::atomic<int> users{0};
  };
  std::atomic<int> made{0};
  weft::pool<std::shared_ptr<Object>> pool([&] {
    ++made;
    return std::make_shared<Object>();
  });
  const auto work = [&] {
    for (int i = 0; i < scaled(1000); ++i) {
      std::shared_ptr<Object> object = pool.get();
      ASSERT_EQ(++object->users, 1);
      if (i % 16 == 0) weft::this_goroutine::yield();
      --object->users;
      pool.put(std::move(object));
    }
  };
  weft::wait_group group;
  for (int i = 0; i < 8; ++i) group.go(work);
  std::thread first(work), second(work);
  first.join();
  second.join();
  group.wait();
  EXPECT_LE(made, 10 + 10) << "far fewer than uses";
}

TEST_P(PoolSingleFlight, what_a_pool_holds_survives_a_change_of_maxprocs) {
  std::atomic<int> made{0};
  weft::pool<int> pool([&] { return ++made; });
  weft::run([&] {
    for (int i = 0; i < 40; ++i) pool.put(1000 + i);
    std::set<int> got;
    for (const int n : {8, 1, 3}) {
      weft::runtime::set_maxprocs(n);
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(got.insert(pool.get()).second);
    }
    weft::runtime::set_maxprocs(procs());
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(got.insert(pool.get()).second);
    EXPECT_EQ(got.size(), 40u);
    EXPECT_EQ(*got.begin(), 1000);
  });
  EXPECT_EQ(made, 0);
}

TEST_P(PoolSingleFlight, a_pool_destroys_what_it_holds_and_no_more) {
  {
    weft::pool<Counted> pool([] { return Counted(); });
    for (int i = 0; i < 1000; ++i) pool.put(Counted());  // more than it keeps
    for (int i = 0; i < 10; ++i) static_cast<void>(pool.get());
    EXPECT_GT(Counted::alive, 0);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST_P(PoolSingleFlight, a_maker_that_throws_reaches_the_caller) {
  weft::pool<int> pool([]() -> int { throw std::runtime_error("nothing left"); });
  EXPECT_THROW(pool.get(), std::runtime_error);
  pool.put(3);
  EXPECT_EQ(pool.get(), 3);
}

TEST_P(PoolSingleFlight, duplicates_share_one_run) {
  weft::single_flight<std::string, std::string> flights;
  std::atomic<int> runs{0}, entered{0};
  weft::event go_on;
  const auto call = [&] {
    ++entered;
    EXPECT_EQ(flights.run("key",
                          [&] {
                            ++runs;
                            go_on.wait();
                            return std::string("result");
                          }),
              "result");
  };
  weft::wait_group group;
  for (int i = 0; i < 10; ++i) group.go(call);
  std::thread thread(call);
  ASSERT_TRUE(spin_until([&] { return entered == 11 && runs == 1; }));
  weft::this_goroutine::sleep_for(2ms);
  EXPECT_EQ(flights.run("other", [] { return std::string("at once"); }), "at once");
  go_on.set();
  thread.join();
  group.wait();
  EXPECT_LE(runs, 2) << "one that entered late may have run anew";
  EXPECT_EQ(flights.run("key", [] { return std::string("new"); }), "new");
}

TEST_P(PoolSingleFlight, duplicates_share_an_exception) {
  weft::run([&] {
    weft::single_flight<int, void> flights;
    std::atomic<int> caught{0};
    weft::event begun, go_on;
    weft::wait_group group;
    const auto call = [&] {
      try {
        flights.run(1, [&] {
          begun.set();
          go_on.wait();
          throw std::out_of_range("shared");
        });
      } catch (const std::out_of_range&) {
        ++caught;
      }
    };
    for (int i = 0; i < 5; ++i) group.go(call);
    begun.wait();
    go_on.set();
    group.wait();
    EXPECT_EQ(caught, 5);
    flights.run(1, [] {});
  });
}

TEST_P(PoolSingleFlight, an_exit_of_the_first_leaves_the_others_without_result) {
  weft::run([] {
    weft::single_flight<int, int> flights;
    weft::event begun, go_on;
    weft::task<void> leaving = weft::spawn([&] {
      flights.run(1, [&]() -> int {
        begun.set();
        go_on.wait();
        weft::this_goroutine::exit();
      });
    });
    begun.wait();
    weft::task<int> sharing = weft::spawn([&] { return flights.run(1, [] { return 2; }); });
    weft::this_goroutine::sleep_for(5ms);
    go_on.set();
    EXPECT_THROW(leaving.join(), weft::goroutine_exited);
    try {
      EXPECT_EQ(sharing.join(), 2) << "it came too late to share";
    } catch (const weft::goroutine_exited&) {
    }
    EXPECT_EQ(flights.run(1, [] { return 3; }), 3);
  });
}

TEST_P(PoolSingleFlight, a_function_may_change_or_destroy_the_key_it_was_called_for) {
  weft::run([] {
    weft::single_flight<std::string, int> flights;
    std::string key = "key";
    EXPECT_EQ(flights.run(key, [&] { return key = "another", 1; }), 1);
    auto owned = std::make_unique<std::string>("owned");
    EXPECT_EQ(flights.run(*owned, [&] { return owned.reset(), 2; }), 2);
    for (const char* landed : {"key", "another", "owned"})
      EXPECT_EQ(flights.run(landed, [] { return 3; }), 3) << landed;
  });
}

TEST_P(PoolSingleFlight, forget_lets_the_next_call_run) {
  weft::run([] {
    weft::single_flight<int, int> flights;
    weft::event begun, go_on;
    weft::task<int> first = weft::spawn([&] {
      return flights.run(1, [&] {
        begun.set();
        go_on.wait();
        return 1;
      });
    });
    begun.wait();
    flights.forget(1);
    EXPECT_EQ(flights.run(1, [] { return 2; }), 2);
    go_on.set();
    EXPECT_EQ(first.join(), 1);
  });
}

}  // namespace
