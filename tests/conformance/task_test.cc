// SPDX-License-Identifier: MIT
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "support/runtime_test.h"

// spawn and task: results, exceptions, ownership, time limits, identities.
namespace {

using namespace weft::test;

class Task : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Task);

TEST_P(Task, join_delivers_the_value) {
  weft::run([] {
    EXPECT_EQ(weft::spawn([] { return 42; }).join(), 42);
    EXPECT_EQ(weft::spawn([](int a, std::string b) { return std::to_string(a) + b; }, 4, "x").join(), "4x");
    EXPECT_EQ(*weft::spawn([] { return std::make_unique<int>(3); }).join(), 3);
    int target = 1;
    int& reference = weft::spawn([&]() -> int& { return target; }).join();
    EXPECT_EQ(&reference, &target);
    const std::string text = "constant";
    const std::string& constant = weft::spawn([&]() -> const std::string& { return text; }).join();
    EXPECT_EQ(&constant, &text);
    weft::spawn([] {}).join();
  });
}

TEST_P(Task, join_delivers_values_of_every_shape) {
  struct Large {
    char bytes[1000];
  };
  struct alignas(256) Aligned {
    int value;
  };
  struct NoDefault {
    explicit NoDefault(int v) : value(v) {}
    int value;
  };
  const Large large = weft::spawn([] { return Large{"large"}; }).join();
  EXPECT_STREQ(large.bytes, "large");
  weft::task<Aligned> aligned = weft::spawn([] { return Aligned{5}; });
  EXPECT_EQ(aligned.join().value, 5);
  EXPECT_EQ(weft::spawn([] { return NoDefault(6); }).join().value, 6);
}

TEST_P(Task, join_rethrows_what_left_the_goroutine) {
  weft::task<int> task = weft::spawn([]() -> int { throw std::out_of_range("gone too far"); });
  try {
    task.join();
    FAIL();
  } catch (const std::out_of_range& error) {
    EXPECT_STREQ(error.what(), "gone too far");
  }
  EXPECT_FALSE(task.joinable());
  weft::task<void> with_integer = weft::spawn([] { throw 5; });
  EXPECT_THROW(with_integer.join(), int);
}

TEST_P(Task, a_second_join_throws_logic_error) {
  weft::task<int> task = weft::spawn([] { return 1; });
  task.join();
  EXPECT_THROW(task.join(), weft::logic_error);
  EXPECT_THROW(task.detach(), weft::logic_error);
  EXPECT_THROW(static_cast<void>(task.wait_for(1ms)), weft::logic_error);
  EXPECT_FALSE(task.ready());
  EXPECT_EQ(task.id(), weft::goroutine_id());

  weft::task<void> failed = weft::spawn([] { throw 1; });
  EXPECT_THROW(failed.join(), int);
  EXPECT_THROW(failed.join(), weft::logic_error);

  weft::task<int> never_had_one;
  EXPECT_THROW(never_had_one.join(), weft::logic_error);
}

TEST_P(Task, moves_and_leaves_nothing_behind) {
  weft::task<int> first = weft::spawn([] { return 8; });
  weft::task<int> second = std::move(first);
  EXPECT_FALSE(first.joinable());  // NOLINT(bugprone-use-after-move): that is what it is about
  EXPECT_THROW(first.join(), weft::logic_error);
  EXPECT_TRUE(second.joinable());
  EXPECT_EQ(second.join(), 8);
}

TEST_P(Task, assignment_joins_the_old_one_first) {
  weft::event go_on;
  std::atomic<bool> first_ended{false};
  weft::task<int> task = weft::spawn([&] {
    go_on.wait();
    first_ended = true;
    return 1;
  });
  weft::go([&] {
    weft::this_goroutine::sleep_for(2ms);
    go_on.set();
  });
  task = weft::spawn([] { return 2; });
  EXPECT_TRUE(first_ended);
  EXPECT_EQ(task.join(), 2);
}

TEST_P(Task, destructor_joins_and_drops_an_exception) {
  std::atomic<bool> ended{false};
  {
    weft::task<void> task = weft::spawn([&] {
      weft::this_goroutine::sleep_for(2ms);
      ended = true;
      throw std::runtime_error("nobody hears it");
    });
  }
  EXPECT_TRUE(ended);
}

TEST_P(Task, a_detached_one_goes_on_and_is_freed) {
  weft::event go_on, done;
  weft::task<Counted> task = weft::spawn([&] {
    go_on.wait();
    Counted result;
    done.set();
    return result;
  });
  task.detach();
  EXPECT_FALSE(task.joinable());
  EXPECT_THROW(task.join(), weft::logic_error);
  go_on.set();
  done.wait();
  EXPECT_TRUE(spin_until([] { return Counted::alive == 0; }));
}

TEST_P(Task, results_are_destroyed_exactly_once) {
  for (int i = 0; i < scaled(200); ++i) {
    Counted joined = weft::spawn([] { return Counted(); }).join();
    weft::task<Counted> dropped = weft::spawn([] { return Counted(); });
    weft::spawn([] { return Counted(); }).detach();
  }
  EXPECT_TRUE(spin_until([] { return Counted::alive == 0; })) << Counted::alive;
}

TEST_P(Task, a_result_whose_move_throws_reaches_the_joiner) {
  struct Angry {
    Angry() = default;
    Angry(Angry&& other) : angry(other.angry), counted(std::move(other.counted)) {
      if (angry) throw std::runtime_error("moved");
    }
    bool angry = false;
    Counted counted;
  };
  {
    weft::task<Angry> task = weft::spawn([]() -> Angry { return Angry(); });
    weft::task<Angry*> settled = weft::spawn([] { return static_cast<Angry*>(nullptr); });
    EXPECT_EQ(settled.join(), nullptr);
    EXPECT_NO_THROW(static_cast<void>(task.join()));
  }
  {
    weft::task<Angry> task = weft::spawn([]() -> Angry {
      Angry value;
      value.angry = true;
      return Angry(std::move(value));
    });
    EXPECT_THROW(static_cast<void>(task.join()), std::runtime_error);
  }
  EXPECT_TRUE(spin_until([] { return Counted::alive == 0; })) << Counted::alive;
}

TEST_P(Task, wait_for_returns_early_with_the_result_and_never_early_without) {
  weft::run([] {
    weft::event go_on;
    weft::task<int> task = weft::spawn([&] {
      go_on.wait();
      return 3;
    });
    const Stopwatch watch;
    EXPECT_FALSE(task.wait_for(20ms));
    EXPECT_GE(watch.elapsed(), 20ms);
    EXPECT_FALSE(task.wait_for(0ms));
    EXPECT_FALSE(task.wait_for(-1h));
    EXPECT_FALSE(task.wait_until(Clock::now() - 1s));
    EXPECT_FALSE(task.ready());
    go_on.set();
    EXPECT_TRUE(task.wait_for(std::chrono::hours::max()));
    EXPECT_TRUE(task.ready());
    EXPECT_TRUE(task.wait_for(0ms));
    EXPECT_TRUE(task.wait_until(weft::time_point::max()));
    EXPECT_EQ(task.join(), 3);
  });
}

TEST_P(Task, ready_turns_true_by_itself) {
  weft::task<int> task = weft::spawn([] { return 1; });
  EXPECT_TRUE(spin_until([&] { return task.ready(); }));
  EXPECT_EQ(task.join(), 1);
}

TEST_P(Task, can_be_joined_by_others_than_the_one_that_started_it) {
  weft::run([] {
    weft::task<int> task = weft::spawn([] {
      weft::this_goroutine::sleep_for(1ms);
      return 12;
    });
    weft::task<int> joiner = weft::spawn([task = std::move(task)]() mutable { return task.join() + 1; });
    EXPECT_EQ(joiner.join(), 13);
    weft::task<int> for_thread = weft::spawn([] {
      weft::this_goroutine::sleep_for(1ms);
      return 14;
    });
    int got = 0;
    std::thread thread([&] { got = for_thread.join(); });
    weft::blocking([&] { thread.join(); });
    EXPECT_EQ(got, 14);
  });
}

TEST_P(Task, exit_leaves_no_result) {
  weft::task<int> task = weft::spawn([]() -> int { weft::this_goroutine::exit(); });
  EXPECT_THROW(task.join(), weft::goroutine_exited);
  EXPECT_THROW(task.join(), weft::logic_error);
  weft::task<void> other = weft::spawn([] { weft::this_goroutine::exit(); });
  EXPECT_THROW(other.join(), weft::goroutine_exited);
  { weft::task<void> dropped = weft::spawn([] { weft::this_goroutine::exit(); }); }
}

TEST_P(Task, ids_are_unique_and_those_the_goroutines_see) {
  const int count = scaled(5000);
  weft::run([&] {
    std::vector<weft::task<weft::goroutine_id>> tasks;
    std::unordered_set<weft::goroutine_id> seen;
    seen.insert(weft::this_goroutine::get_id());
    for (int i = 0; i < count; ++i) tasks.push_back(weft::spawn([] { return weft::this_goroutine::get_id(); }));
    for (auto& task : tasks) {
      const weft::goroutine_id id = task.id();
      EXPECT_NE(id, weft::goroutine_id());
      EXPECT_EQ(task.join(), id);
      EXPECT_TRUE(seen.insert(id).second) << "twice: " << id;
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(count) + 1);
  });
}

TEST_P(Task, ids_print_hash_and_compare) {
  const weft::goroutine_id a = weft::run([] { return weft::this_goroutine::get_id(); });
  const weft::goroutine_id b = weft::run([] { return weft::this_goroutine::get_id(); });
  std::ostringstream text;
  text << a;
  EXPECT_EQ(text.str(), std::to_string(a.value()));
  EXPECT_NE(std::hash<weft::goroutine_id>{}(a), std::hash<weft::goroutine_id>{}(b));
  EXPECT_TRUE((a < b) != (b < a));
  EXPECT_EQ((std::set<weft::goroutine_id>{a, b, a}.size()), 2u);
}

TEST_P(Task, ids_do_not_change_while_a_goroutine_moves_between_threads) {
  std::vector<weft::task<bool>> tasks;
  for (int i = 0; i < 20; ++i) {
    tasks.push_back(weft::spawn([] {
      const weft::goroutine_id id = weft::this_goroutine::get_id();
      for (int round = 0; round < 100; ++round) {
        weft::this_goroutine::yield();
        if (round % 10 == 0) weft::blocking([] { usleep(10); });
        if (weft::this_goroutine::get_id() != id) return false;
      }
      return true;
    }));
  }
  for (auto& task : tasks) EXPECT_TRUE(task.join());
}

TEST_P(Task, spawn_takes_options) {
  weft::task<std::string> task = weft::spawn(weft::go_options{.name = "with options"}, [] { return dump_text(); });
  EXPECT_NE(task.join().find("\"with options\""), std::string::npos);
  EXPECT_EQ(weft::spawn(weft::go_options{.stack_size = 1 << 20}, [](int x) { return x; }, 9).join(), 9);
}

TEST_P(Task, many_at_once_each_deliver_their_own) {
  weft::run([] {
    const int count = scaled(10'000);
    std::vector<weft::task<int>> tasks;
    for (int i = 0; i < count; ++i) {
      tasks.push_back(weft::spawn([i] {
        if (i % 3 == 0) weft::this_goroutine::yield();
        return i;
      }));
    }
    for (int i = count; i-- > 0;) ASSERT_EQ(tasks[static_cast<std::size_t>(i)].join(), i);
  });
}

}  // namespace
