// SPDX-License-Identifier: MIT
#include "sched/queue/next_slot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/atomic.h"
#include "base/random.h"
#include "os/process_barrier.h"
#include "os/wait_list_lock.h"

namespace weft::sched {
namespace {

struct TestFences {
  using BackOff = os::BackOff;
  static constexpr std::uint8_t kCalm = 3;
  static constexpr int kPatience = 8;
  static inline bool allowed = true;
  static inline std::atomic<long> closed{0}, opened{0};

  static bool may_rely() {
    if (allowed) ++closed;
    return allowed;
  }
  static inline void (*in_window)() = [] {};
  static void light_fence() {
    in_window();
    base::compiler_fence();
  }
  static void heavy_fence() {
    ++opened;
    ASSERT_TRUE(os::process_barrier());
  }
};
using Slot = NextSlot<base::StdAtomics, int*, TestFences>;

constexpr auto kAnyway = [] { return true; };

class NextSlotTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!os::enable_process_barrier()) GTEST_SKIP() << "this kernel has no such barrier";
    TestFences::allowed = true;
    TestFences::closed = TestFences::opened = 0;
  }

  void use(int times) {
    for (int i = 0; i < times; ++i) {
      slot_.put(&item_);
      EXPECT_EQ(slot_.take(), &item_);
      EXPECT_EQ(slot_.take(), nullptr);
    }
  }

  int item_ = 0, other_ = 0;
  Slot slot_;
};

TEST_F(NextSlotTest, is_closed_after_some_takes_without_a_thief) {
  use(2);
  EXPECT_TRUE(slot_.is_open());
  use(1);
  EXPECT_FALSE(slot_.is_open());
  use(1'000);
  EXPECT_EQ(TestFences::closed, 1);
}

TEST_F(NextSlotTest, stays_open_where_nobody_may_rely_on_barriers) {
  TestFences::allowed = false;
  use(1'000);
  EXPECT_TRUE(slot_.is_open());
  TestFences::allowed = true;
  use(3);
  EXPECT_FALSE(slot_.is_open());
}

TEST_F(NextSlotTest, a_thief_opens_it_with_one_barrier) {
  use(3);
  slot_.put(&item_);
  EXPECT_EQ(slot_.rob(kAnyway), &item_);
  EXPECT_TRUE(slot_.is_open());
  EXPECT_EQ(slot_.take(), nullptr);
  slot_.put(&item_);
  EXPECT_EQ(slot_.rob(kAnyway), &item_);
  EXPECT_EQ(TestFences::opened, 1);
}

TEST_F(NextSlotTest, one_that_is_robbed_stays_open) {
  for (int i = 0; i < 1'000; ++i) {
    use(2);
    slot_.put(&item_);
    EXPECT_EQ(slot_.rob(kAnyway), &item_);
  }
  EXPECT_EQ(TestFences::closed, 0);
}

TEST_F(NextSlotTest, who_finds_it_empty_or_thinks_better_of_it_takes_nothing) {
  EXPECT_EQ(slot_.rob(kAnyway), nullptr);
  slot_.put(&item_);
  EXPECT_EQ(slot_.rob([] { return false; }), nullptr);
  EXPECT_EQ(slot_.look(), &item_);
  EXPECT_EQ(slot_.take(), &item_);
}

TEST_F(NextSlotTest, gives_what_was_in_it_for_something_else) {
  for (int i = 0; i < 10; ++i) {  // the slot is open at first, then closed
    slot_.put(&item_);
    EXPECT_EQ(slot_.replace(&other_), &item_);
    EXPECT_EQ(slot_.take(), &other_);
    EXPECT_EQ(slot_.replace(&item_), nullptr);
    EXPECT_EQ(slot_.take(), &item_);
  }
  EXPECT_FALSE(slot_.is_open());
}

TEST_F(NextSlotTest, a_thief_gives_up_on_an_owner_that_does_not_leave_its_window) {
  use(3);
  ASSERT_FALSE(slot_.is_open());
  static Slot* slot;
  static int* robbed;
  slot = &slot_;
  robbed = &other_;
  TestFences::in_window = [] { std::thread([] { robbed = slot->rob(kAnyway); }).join(); };
  slot_.put(&item_);
  int* const taken = slot_.take();
  TestFences::in_window = [] {};
  EXPECT_EQ(robbed, nullptr);
  EXPECT_EQ(taken, &item_);
  EXPECT_FALSE(slot_.is_open()) << "nothing was changed";
  EXPECT_EQ(TestFences::opened, 1);
  use(10);
}

// Two threads own the slot in turns, two others rob it. The thread that takes an item adds one to it. In the end each
// item is 1.
TEST_F(NextSlotTest, gives_each_item_once_while_it_is_opened_and_closed_and_changes_its_owner) {
  constexpr long kOpenings = 5'000;
  constexpr std::uint32_t kTurn = 40;
  std::vector<int> items(4'000'000);
  std::size_t puts = 0;
  std::mutex ownership;
  std::atomic<bool> done{false};
  const auto count = [](int* item) {
    if (item != nullptr) ++*item;
  };
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < 2; ++id)
    threads.emplace_back([&, id] {
      base::Random random(id + 1);
      while (!done) {
        const std::scoped_lock owner(ownership);
        for (std::uint32_t times = 1 + random.below(kTurn); times > 0; --times) {
          int* item = &items[puts++];
          if (slot_.look() == nullptr) {
            slot_.put(item);
          } else {
            count(slot_.replace(item));
          }
          if (random.below(64) == 0) std::this_thread::yield();
          if (random.below(8) != 0) count(slot_.take());
        }
        if (TestFences::opened >= kOpenings || puts + 2 * kTurn > items.size()) done = true;
      }
    });
  for (unsigned id = 2; id < 4; ++id)
    threads.emplace_back([&, id] {
      base::Random random(id + 1);
      while (!done) {
        if (random.below(4) == 0) std::this_thread::yield();
        if (slot_.look() != nullptr) count(slot_.rob([&] { return random.below(4) != 0; }));
      }
    });
  for (std::thread& thread : threads) thread.join();
  count(slot_.take());
  for (std::size_t i = 0; i < puts; ++i) ASSERT_EQ(items[i], 1) << "item " << i << " of " << puts;
  EXPECT_GE(TestFences::opened, 1'000);
}

}  // namespace
}  // namespace weft::sched
