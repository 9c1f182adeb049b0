// SPDX-License-Identifier: MIT
#include <cerrno>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// What belongs to the goroutine and moves with it: errno, exceptions in flight, locals.
namespace {

using namespace weft::test;

class GoroutineState : public RuntimeTest {
 protected:
  // Comes back, perhaps on another thread, after others have run.
  static void move_about(int round) {
    if (round % 4 == 0) {
      weft::this_goroutine::sleep_for(20us);
    } else if (round % 4 == 1) {
      weft::blocking([] { usleep(10); });
    } else {
      weft::this_goroutine::yield();
    }
  }
};
WEFT_AT_ALL_CONFIGURATIONS(GoroutineState);

// Many uses in one function: the address of the thread's errno must not be kept across a switch.
TEST_P(GoroutineState, errno_is_the_goroutines) {
  weft::wait_group group;
  for (int i = 1; i <= 30; ++i) {
    group.go([i] {
      for (int round = 0; round < scaled(200); ++round) {
        errno = 1000 + i;
        move_about(round);
        ASSERT_EQ(errno, 1000 + i);
      }
    });
  }
  group.wait();
}

// As programs use it: a call that fails, then one that waits, in one loop.
TEST_P(GoroutineState, errno_is_that_of_the_call_before) {
  weft::run([] {
    weft::wait_group group;
    int wrong_descriptor = -1;
    for (int i = 0; i < 8; ++i)
      group.go([&, i] {
        for (int round = 0; round < scaled(200); ++round) {
          errno = 0;
          char byte;
          const bool invalid = (round + i) % 2 == 0;
          const auto result = invalid ? ::lseek(STDIN_FILENO, 0, -7) : ::read(wrong_descriptor, &byte, 1);
          if (result < 0 && errno == (invalid ? EINVAL : EBADF)) {
            move_about(round);
            continue;
          }
          FAIL() << "errno " << errno << " after a call that fails";
        }
      });
    group.wait();
  });
}

TEST_P(GoroutineState, errno_starts_at_zero) {
  weft::run([] {
    errno = 77;
    EXPECT_EQ(weft::spawn([] { return errno; }).join(), 0);
    EXPECT_EQ(errno, 77);
    for (int i = 0; i < 100; ++i) {
      weft::spawn([] { errno = 33; }).join();
      EXPECT_EQ(weft::spawn([] { return errno; }).join(), 0);
    }
    // One after the other on one stack.
    weft::wait_group group;
    for (int i = 0; i < 50; ++i)
      group.go([] {
        EXPECT_EQ(errno, 0);
        errno = 33;
      });
    group.wait();
  });
}

TEST_P(GoroutineState, a_handler_may_park_and_keeps_its_exception) {
  weft::wait_group group;
  for (int i = 0; i < 20; ++i) {
    group.go([i] {
      for (int round = 0; round < scaled(100); ++round) {
        const std::string text = std::to_string(i) + "/" + std::to_string(round);
        try {
          throw std::runtime_error(text);
        } catch (const std::runtime_error& error) {
          const std::exception_ptr before = std::current_exception();
          move_about(round);
          ASSERT_EQ(error.what(), text);
          ASSERT_TRUE(std::current_exception() == before);
          try {
            throw;
          } catch (const std::runtime_error& again) {
            move_about(round + 1);
            ASSERT_EQ(again.what(), text);
          }
        }
        ASSERT_EQ(std::current_exception(), nullptr);
      }
    });
  }
  group.wait();
}

TEST_P(GoroutineState, handlers_nest_and_park) {
  weft::wait_group group;
  for (int i = 0; i < 10; ++i) {
    group.go([i] {
      for (int round = 0; round < scaled(50); ++round) {
        try {
          throw i;
        } catch (int outer) {
          move_about(round);
          try {
            throw std::to_string(outer);
          } catch (const std::string& inner) {
            move_about(round + 1);
            ASSERT_EQ(inner, std::to_string(i));
          }
          ASSERT_EQ(outer, i);
          try {
            throw;
          } catch (int again) {
            ASSERT_EQ(again, i);
          }
        }
      }
    });
  }
  group.wait();
}

TEST_P(GoroutineState, destructors_may_park_while_an_exception_unwinds) {
  struct ParksInUnwinding {
    int round;
    int expected;
    ~ParksInUnwinding() {
      EXPECT_EQ(std::uncaught_exceptions(), expected);
      move_about(round);
      EXPECT_EQ(std::uncaught_exceptions(), expected);
    }
  };
  weft::wait_group group;
  for (int i = 0; i < 20; ++i) {
    group.go([] {
      for (int round = 0; round < scaled(100); ++round) {
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        try {
          const ParksInUnwinding parks{round, 1};
          throw std::runtime_error("unwinds");
        } catch (const std::runtime_error&) {
          EXPECT_EQ(std::uncaught_exceptions(), 0);
        }
        const ParksInUnwinding normal{round, 0};
      }
    });
  }
  group.wait();
}

TEST_P(GoroutineState, exceptions_travel_between_goroutines) {
  weft::run([] {
    for (int i = 0; i < scaled(200); ++i) {
      std::exception_ptr carried;
      weft::spawn([&] {
        try {
          throw std::runtime_error("carried");
        } catch (...) {
          carried = std::current_exception();
        }
      }).join();
      weft::spawn([carried = std::move(carried)]() mutable {
        EXPECT_THROW(std::rethrow_exception(std::move(carried)), std::runtime_error);
      }).join();
    }
  });
}

TEST_P(GoroutineState, plain_threads_keep_their_own_exceptions) {
  try {
    throw std::runtime_error("thread's");
  } catch (const std::runtime_error& error) {
    weft::run([] {
      EXPECT_EQ(std::current_exception(), nullptr);
      EXPECT_THROW(throw 1, int);
    });
    EXPECT_STREQ(error.what(), "thread's");
    EXPECT_NE(std::current_exception(), nullptr);
  }
}

// --- goroutine_local ---

weft::goroutine_local<int> number;
weft::goroutine_local<std::string> text;
weft::goroutine_local<std::vector<int>> inherited(weft::inherit::copy);
weft::goroutine_local<Counted> counted;
weft::goroutine_local<Counted> counted_inherited(weft::inherit::copy);
weft::goroutine_local<std::unique_ptr<int>> move_only;

TEST_P(GoroutineState, locals_are_the_goroutines) {
  weft::wait_group group;
  for (int i = 1; i <= 30; ++i) {
    group.go([i] {
      ASSERT_EQ(*number, 0) << "a fresh goroutine has a fresh value";
      ASSERT_TRUE(text->empty());
      *number = i;
      *text = std::to_string(i);
      *move_only = std::make_unique<int>(i);
      for (int round = 0; round < 50; ++round) {
        move_about(round);
        ASSERT_EQ(*number, i);
        ASSERT_EQ(text.get(), std::to_string(i));
        ASSERT_EQ(**move_only, i);
      }
      weft::blocking([i] { ASSERT_EQ(*number, i); });
    });
  }
  group.wait();
}

TEST_P(GoroutineState, locals_end_with_the_goroutine) {
  weft::wait_group group;
  for (int i = 0; i < 100; ++i) {
    group.go([i] {
      counted.get();
      if (i % 2 == 0) weft::this_goroutine::yield();
      EXPECT_GE(Counted::alive, 1);
      if (i % 3 == 0) weft::this_goroutine::exit();
    });
  }
  group.wait();
  EXPECT_TRUE(spin_until([] { return Counted::alive == 0; })) << Counted::alive;
}

TEST_P(GoroutineState, children_start_with_a_copy_of_an_inherited_local) {
  weft::run([] {
    *inherited = {1, 2, 3};
    *number = 5;
    weft::task<void> child = weft::spawn([] {
      EXPECT_EQ(*inherited, (std::vector<int>{1, 2, 3}));
      EXPECT_EQ(*number, 0) << "not asked for";
      inherited->push_back(4);
      weft::spawn([] { EXPECT_EQ(inherited->size(), 4u); }).join();
    });
    inherited->clear();  // after the spawn: the child has its copy
    child.join();
    EXPECT_TRUE(inherited->empty());

    *inherited = {7};
    weft::event done;
    weft::go(weft::go_options{.name = "child"}, [&] {
      EXPECT_EQ(*inherited, std::vector<int>{7});
      done.set();
    });
    done.wait();
    weft::wait_group group;
    group.go([] { EXPECT_EQ(*inherited, std::vector<int>{7}); });
    group.wait();
    EXPECT_EQ(weft::run([] { return inherited->size(); }), 1u);
  });
}

TEST_P(GoroutineState, children_of_a_thread_inherit_the_threads_value) {
  std::thread([] {
    *inherited = {9, 9};
    EXPECT_EQ(weft::run([] { return inherited->size(); }), 2u);
    EXPECT_EQ(weft::spawn([] { return inherited->size(); }).join(), 2u);
  }).join();
}

TEST_P(GoroutineState, inherited_copies_are_destroyed_with_their_goroutines) {
  weft::run([] {
    counted_inherited.get();
    weft::wait_group group;
    for (int i = 0; i < 100; ++i)
      group.go([i] {
        if (i % 2 == 0) counted_inherited.get();
      });
    group.wait();
    EXPECT_TRUE(spin_until([] { return Counted::alive == 1; })) << Counted::alive;
  });
  EXPECT_TRUE(spin_until([] { return Counted::alive == 0; })) << Counted::alive;
}

TEST_P(GoroutineState, threads_have_locals_too) {
  *number = 1;
  std::thread([] {
    EXPECT_EQ(*number, 0);
    *number = 2;
    weft::run([] { EXPECT_EQ(*number, 0); });
    EXPECT_EQ(*number, 2);
  }).join();
  EXPECT_EQ(*number, 1);
  *number = 0;
}

TEST_P(GoroutineState, destructors_of_locals_may_park) {
  struct Parks {
    std::atomic<int>* ended = nullptr;
    ~Parks() {
      if (ended == nullptr) return;
      weft::this_goroutine::yield();
      weft::this_goroutine::sleep_for(100us);
      ++*ended;
    }
  };
  static weft::goroutine_local<Parks> parks;
  std::atomic<int> ended{0};
  for (int i = 0; i < 50; ++i) weft::go([&] { parks->ended = &ended; });
  EXPECT_TRUE(spin_until([&] { return ended == 50; })) << ended;
}

// As std::thread::join waits for thread_locals and for what the function has captured.
TEST_P(GoroutineState, who_waits_for_a_goroutine_waits_for_its_locals_and_captures) {
  struct Slow {
    std::atomic<int>* ended = nullptr;
    Slow() = default;
    explicit Slow(std::atomic<int>& count) : ended(&count) {}
    Slow(Slow&& other) noexcept : ended(std::exchange(other.ended, nullptr)) {}
    ~Slow() {
      if (ended == nullptr) return;
      weft::this_goroutine::sleep_for(200us);
      ++*ended;
    }
  };
  static weft::goroutine_local<Slow> local;
  std::atomic<int> ended{0};
  const auto function = [&] { return [&ended, captured = Slow(ended)] { local->ended = &ended; }; };
  weft::run([&] {
    for (int i = 0; i < 5; ++i) {
      weft::spawn(function()).join();
      EXPECT_EQ(ended.exchange(0), 2) << "join";
      {
        auto task = weft::spawn(function());
      }
      EXPECT_EQ(ended.exchange(0), 2) << "the destructor of a task";
      weft::wait_group waited_for;
      waited_for.go(function());
      waited_for.wait();
      EXPECT_EQ(ended.exchange(0), 2) << "wait_group";
      weft::group group;
      group.go(function());
      group.wait();
      EXPECT_EQ(ended.exchange(0), 2) << "group";
      auto exits = weft::spawn([inner = function()] {
        inner();
        weft::this_goroutine::exit();
      });
      EXPECT_THROW(exits.join(), weft::goroutine_exited);
      EXPECT_EQ(ended.exchange(0), 2) << "exit";
    }
  });
  weft::run([&] { local->ended = &ended; });
  EXPECT_EQ(ended, 1) << "run";
}

TEST_P(GoroutineState, preemption_can_be_put_off) {
  weft::run([] {
    std::atomic<int> others{0};
    {
      const weft::no_preempt keep;
      {
        const weft::no_preempt nested;
      }
      weft::go([&] { ++others; });
      const Stopwatch watch;
      while (watch.elapsed() < 30ms) weft::preempt_point();
      if (procs() == 1) {
        EXPECT_EQ(others, 0) << "the only P was given up";
      }
    }
    const Stopwatch watch;
    while (others == 0 && watch.elapsed() < 20s) weft::preempt_point();
    EXPECT_EQ(others, 1) << "a check point gives way when asked to";
  });
}

}  // namespace
