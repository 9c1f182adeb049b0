// SPDX-License-Identifier: MIT
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// task_force: goroutines that should run at the same time; to its users a group without a context.
namespace {

using namespace weft::test;

class TaskForce : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(TaskForce);

std::string failure_of(weft::task_force& force) {
  try {
    force.wait();
    return "none";
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST_P(TaskForce, waits_for_all_and_can_be_used_again) {
  weft::run([] {
    weft::task_force force;
    std::atomic<int> done{0};
    for (int round = 1; round <= 3; ++round) {
      for (int i = 0; i < 50; ++i)
        force.go([&, i] {
          if (i % 3 == 0) weft::this_goroutine::sleep_for(1ms);
          if (i % 3 == 1) weft::this_goroutine::yield();
          ++done;
        });
      force.wait();
      EXPECT_EQ(done, 50 * round);
    }
  });
}

TEST_P(TaskForce, destructor_waits) {
  weft::run([] {
    std::atomic<int> done{0};
    {
      weft::task_force force("crew");
      for (int i = 0; i < 10; ++i)
        force.go([&] {
          weft::this_goroutine::sleep_for(2ms);
          ++done;
        });
    }
    EXPECT_EQ(done, 10);
  });
}

TEST_P(TaskForce, of_nothing_is_done_at_once) {
  weft::task_force force;
  force.wait();
  weft::task_force unused("unused");
}

TEST_P(TaskForce, members_can_wait_for_each_other) {
  weft::run([] {
    weft::task_force force;
    weft::barrier meet(8);
    std::atomic<int> arrived{0}, behind{0};
    for (int i = 0; i < 8; ++i)
      force.go([&] {
        for (int round = 1; round <= 100; ++round) {
          ++arrived;
          meet.arrive_and_wait();
          if (arrived < 8 * round) ++behind;
        }
      });
    force.wait();
    EXPECT_EQ(arrived, 800);
    EXPECT_EQ(behind, 0);
  });
}

TEST_P(TaskForce, the_first_exception_is_rethrown_once_and_the_other_members_go_on) {
  weft::run([] {
    weft::task_force force;
    weft::event thrown;
    std::atomic<int> done{0};
    for (int i = 0; i < 5; ++i)
      force.go([&] {
        thrown.wait();
        ++done;
      });
    force.go([&] {
      struct at_end {
        weft::event& event;
        ~at_end() { event.set(); }
      } tell{thrown};
      throw std::runtime_error("first");
    });
    EXPECT_EQ(failure_of(force), "first");
    EXPECT_EQ(done, 5);
    EXPECT_EQ(failure_of(force), "none");
    force.go([] { throw std::runtime_error("dropped by the destructor"); });
  });
}

TEST_P(TaskForce, members_may_leave_by_exit_and_start_others) {
  weft::run([] {
    std::atomic<int> done{0};
    weft::task_force force;
    std::function<void(int)> start = [&](int depth) {
      force.go([&, depth] {
        ++done;
        if (depth > 0) start(depth - 1), start(depth - 1);
        weft::this_goroutine::exit();
      });
    };
    start(5);
    force.wait();
    EXPECT_EQ(done, 63);
  });
}

TEST_P(TaskForce, what_a_member_captured_is_destroyed_before_wait_returns) {
  weft::run([] {
    weft::task_force force;
    force.go([held = std::make_unique<Counted>()] { weft::this_goroutine::yield(); });
    force.wait();
    EXPECT_EQ(Counted::alive, 0);
  });
}

TEST_P(TaskForce, members_bear_its_name) {
  weft::run([] {
    std::string name = "surveyors";
    weft::task_force force(name);
    name = "overwritten";
    weft::event over;
    force.go([&] { over.wait(); });
    EXPECT_TRUE(spin_until([] { return dump_text().find("\"surveyors\"") != std::string::npos; }, 10s)) << dump_text();
    over.set();
    force.wait();
  });
}

TEST_P(TaskForce, works_from_a_plain_thread) {
  std::atomic<int> done{0};
  std::thread([&] {
    weft::task_force force;
    for (int i = 0; i < 20; ++i) force.go([&] { ++done; });
    force.wait();
    EXPECT_EQ(done, 20);
    force.go([] { throw std::runtime_error("from a member"); });
    EXPECT_EQ(failure_of(force), "from a member");
  }).join();
}

TEST_P(TaskForce, refuses_an_empty_function) {
  weft::task_force force;
  const std::function<void()> empty;
  EXPECT_THROW(force.go(empty), weft::logic_error);
  force.wait();
}

}  // namespace
