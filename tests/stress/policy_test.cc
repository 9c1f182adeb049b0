// SPDX-License-Identifier: MIT
// test-labels: no-trace
// test-timeout: 240
#include <vector>

#include "support/stress.h"

// Policies that change while everything is under way: nothing is lost, and nothing runs twice.
namespace {

using namespace weft::test;

class Policies : public StressTest {};
INSTANTIATE_TEST_SUITE_P(P, Policies, ::testing::Values(Configuration{4, weft::policy_kind::classic}), configuration_name);

// Pairs that talk, a tree of spawns, sleepers, yielders and a crowd at one lock, until the budget is used up.
class Load {
 public:
  explicit Load(const Budget& budget) : budget_(budget) {}

  void start() {
    for (int i = 0; i < kPairs; ++i) start_pair();
    for (int i = 0; i < 4; ++i) {
      group_.go([this] { spawn_trees(); });
      group_.go([this] { lock_and_sleep(); });
      group_.go([this] { yield_on(); });
    }
  }
  void wait_and_check() {
    group_.wait();
    EXPECT_EQ(sent_, received_);
    EXPECT_EQ(spawned_, ran_);
    EXPECT_EQ(locked_, entered_);
    EXPECT_GT(sent_, 0);
    EXPECT_GT(ran_, 0);
  }

 private:
  static constexpr int kPairs = 16;

  void start_pair() {
    weft::chan<int> there(0), back(1);
    group_.go([this, there, back] {
      int round = 0;
      do {
        there.send(++round);
        ++sent_;
        EXPECT_EQ(back.recv(), round);
      } while (budget_.is_left());
      there.close();
    });
    group_.go([this, there, back] {
      while (const std::optional<int> round = there.recv()) {
        ++received_;
        back.send(*round);
      }
    });
  }

  void spawn_trees() {
    do {
      ++spawned_;
      weft::task<void> tree = weft::spawn([this] { grow(6); });
      tree.join();
    } while (budget_.is_left());
  }
  void grow(int depth) {
    ++ran_;
    if (depth == 0) return;
    spawned_ += 2;
    weft::task<void> left = weft::spawn([this, depth] { grow(depth - 1); });
    grow(depth - 1);
    left.join();
  }

  void lock_and_sleep() {
    do {
      ++locked_;
      {
        const std::lock_guard guard(lock_);
        entered_ += 1;
      }
      if (locked_ % 8 == 0) weft::this_goroutine::sleep_for(20us);
    } while (budget_.is_left());
  }
  void yield_on() const {
    while (budget_.is_left()) weft::this_goroutine::yield();
  }

  const Budget& budget_;
  weft::wait_group group_;
  weft::mutex lock_;
  long entered_ = 0;  // guarded by lock_
  std::atomic<long> sent_{0}, received_{0}, spawned_{0}, ran_{0}, locked_{0};
};

TEST_P(Policies, change_under_load_and_lose_nothing) {
  using enum weft::policy_kind;
  static constexpr weft::policy_kind kTurns[] = {batch, global, batch, classic, global, classic};
  const int before = weft::runtime::maxprocs();
  weft::run([] {
    const Budget budget(2s);
    Load load(budget);
    load.start();
    Random random(20);
    std::size_t turn = 0;
    do {
      weft::runtime::set_policy(kTurns[turn++ % std::size(kTurns)]);
      if (turn % 2 == 0) weft::runtime::set_maxprocs(1 + random.below(8));
      weft::this_goroutine::sleep_for(std::chrono::microseconds(random.below(3000)));
    } while (budget.is_left());
    load.wait_and_check();
  });
  weft::runtime::set_maxprocs(before);
}

}  // namespace
