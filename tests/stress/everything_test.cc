// SPDX-License-Identifier: MIT
// test-timeout: 240
#include <unistd.h>

#include <mutex>
#include <thread>
#include <vector>

#include "support/stress.h"

// Trees, mutexes, tasks, time limits, blocking calls, locked threads, changes of maxprocs and policy, stops of the world and
// threads from outside, all at once.
namespace {

using namespace weft::test;

class Everything : public StressTest {};
WEFT_AT_ALL_CONFIGURATIONS(Everything);

// What goes on in the background until told to stop.
class Background {
 public:
  explicit Background(bool changes_runtime) {
    start([this] { weft::this_goroutine::sleep_for(std::chrono::microseconds(random_() % 2000)); });
    start([random = Random(2)]() mutable { weft::blocking([&] { usleep(random() % 300); }); });
    start([random = Random(3)]() mutable {
      const weft::os_thread_lock wired;
      const pid_t mine = gettid();
      weft::this_goroutine::yield();
      ASSERT_EQ(gettid(), mine);
      weft::this_goroutine::sleep_for(std::chrono::microseconds(random() % 200));
      ASSERT_EQ(gettid(), mine);
      weft::blocking([&] { usleep(random() % 50); });
      ASSERT_EQ(gettid(), mine);
    });
    start([] {  // ends locked: its thread ends too
      weft::wait_group group;
      group.go([] {
        weft::lock_os_thread();
        weft::this_goroutine::yield();
      });
      group.wait();
      weft::this_goroutine::sleep_for(2ms);
    });
    if (changes_runtime) {
      start([n = 0]() mutable {
        weft::this_goroutine::sleep_for(3ms);
        weft::runtime::set_maxprocs(1 + n++ % 4);
      });
      start([] {
        weft::this_goroutine::sleep_for(5ms);
        weft::runtime::stop_the_world([] {});
      });
      start([n = 0]() mutable {
        weft::this_goroutine::sleep_for(7ms);
        weft::runtime::set_policy(++n % 2 == 0 ? weft::policy_kind::global : weft::policy_kind::classic);
      });
    }
    for (int i = 0; i < 2; ++i) {
      threads_.emplace_back([this] {
        while (!stop_) {
          weft::wait_group group;
          std::atomic<int> ran{0};
          for (int k = 0; k < 10; ++k) {
            group.go([&] {
              weft::this_goroutine::yield();
              ++ran;
            });
          }
          group.wait();
          ASSERT_EQ(ran, 10);
          ASSERT_EQ(weft::spawn([] { return 5; }).join(), 5);
          ASSERT_FALSE(weft::event().wait_for(50us));
          if (kSanitized) usleep(500);
        }
      });
    }
  }
  ~Background() {
    stop_ = true;
    weft::blocking([&] {
      for (std::thread& thread : threads_) thread.join();
    });
    group_.wait();
  }

 private:
  template <class Body>
  void start(Body body) {
    group_.go([this, body]() mutable {
      while (!stop_) body();
    });
  }

  std::atomic<bool> stop_{false};
  Random random_{1};
  weft::wait_group group_;
  std::vector<std::thread> threads_;
};

struct Tree {
  std::atomic<long> leaves{0};
  weft::wait_group group;
  void grow(int depth) {
    if (depth == 0) {
      ++leaves;
      return;
    }
    for (int i = 0; i < 3; ++i) group.go([this, depth] { grow(depth - 1); });
    if (depth % 2 == 1) weft::this_goroutine::yield();
  }
};

void one_round(Random& random) {
  {
    Tree tree;
    const int depth = kSanitized ? 4 : 6;
    tree.grow(depth);
    tree.group.wait();
    long expected = 1;
    for (int i = 0; i < depth; ++i) expected *= 3;
    ASSERT_EQ(tree.leaves, expected);
  }
  {
    weft::mutex lock;
    long sum = 0;
    weft::wait_group group;
    for (int i = 0; i < 20; ++i) {
      group.go([&, pause = random.below(50) + 1] {
        for (int k = 0; k < 100; ++k) {
          const std::lock_guard guard(lock);
          ++sum;
          if (k % pause == 0) weft::this_goroutine::yield();
        }
      });
    }
    group.wait();
    ASSERT_EQ(sum, 2000);
  }
  {
    std::vector<weft::task<int>> tasks;
    for (int i = 0; i < 50; ++i) {
      tasks.push_back(weft::spawn([i, pause = random.below(100)] {
        if (i % 7 == 0) weft::this_goroutine::sleep_for(std::chrono::microseconds(pause));
        if (i % 11 == 0) throw i;
        return i;
      }));
    }
    for (int i = 0; i < 50; ++i) {
      weft::task<int>& task = tasks[static_cast<std::size_t>(i)];
      if (i % 3 == 0) static_cast<void>(task.wait_for(std::chrono::microseconds(random.below(40))));
      if (i % 11 == 0) {
        EXPECT_THROW(task.join(), int);
      } else {
        ASSERT_EQ(task.join(), i);
      }
    }
  }
  {
    weft::event start;
    std::atomic<int> woken{0}, timed_out{0};
    weft::wait_group group;
    for (int i = 0; i < 30; ++i) {
      group.go([&, limit = random.below(200)] {
        (start.wait_for(std::chrono::microseconds(limit)) ? woken : timed_out) += 1;
        if (limit % 5 == 0) weft::this_goroutine::exit();
      });
    }
    weft::this_goroutine::sleep_for(std::chrono::microseconds(random.below(150)));
    start.set();
    group.wait();
    ASSERT_EQ(woken + timed_out, 30);
  }
}

void run_rounds(Clock::duration by_default, bool changes_runtime) {
  const Budget budget(by_default);
  weft::run([&] {
    const Background background(changes_runtime);
    Random random(42);
    do one_round(random);
    while (budget.is_left() && !::testing::Test::HasFatalFailure());
  });
}

TEST_P(Everything, at_once) { run_rounds(2s, false); }

TEST_P(Everything, while_the_runtime_itself_is_changed) {
  run_rounds(3s, true);
  weft::runtime::set_maxprocs(procs());
  weft::runtime::set_policy(GetParam().policy);
}

}  // namespace
