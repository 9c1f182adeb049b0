// SPDX-License-Identifier: MIT
#include "sched/queue/run_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace weft::sched {
namespace {

using Queue = RunQueue<int, 256>;
constexpr std::uint32_t kNearWrap = 0xFFFF'FFFFu - 100;

TEST(RunQueue, keeps_the_order_of_what_was_put) {
  for (int n = 0; n < 256; ++n) {
    Queue queue;
    for (int i = 1; i <= n; ++i) ASSERT_TRUE(queue.push(i));
    ASSERT_EQ(queue.size(), static_cast<std::uint32_t>(n));
    for (int i = 1; i <= n; ++i) ASSERT_EQ(queue.pop(), i);
    ASSERT_EQ(queue.pop(), 0);
    ASSERT_TRUE(queue.empty());
  }
}

TEST(RunQueue, refuses_more_than_its_capacity) {
  Queue queue;
  for (int i = 1; i <= 256; ++i) ASSERT_TRUE(queue.push(i));
  EXPECT_FALSE(queue.push(257));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_TRUE(queue.push(257));
  EXPECT_FALSE(queue.push(258));
}

TEST(RunQueue, exchange_puts_one_behind_the_others_and_takes_the_first) {
  Queue queue;
  queue.start_counters_at(kNearWrap);
  bool pushed = true;
  EXPECT_EQ(queue.exchange(1, pushed), 0) << "empty: there is nothing to take";
  EXPECT_FALSE(pushed);
  EXPECT_TRUE(queue.empty());
  for (int i = 1; i <= 255; ++i) ASSERT_TRUE(queue.push(i));
  for (int i = 256; i <= 1000; ++i) {
    ASSERT_EQ(queue.exchange(i, pushed), i - 255);
    ASSERT_TRUE(pushed);
    ASSERT_EQ(queue.size(), 255u);
  }
  ASSERT_TRUE(queue.push(1001));
  EXPECT_EQ(queue.exchange(1002, pushed), 746) << "full";
  EXPECT_FALSE(pushed);
  for (int i = 747; i <= 1001; ++i) ASSERT_EQ(queue.pop(), i);
  EXPECT_TRUE(queue.empty());
}

TEST(RunQueue, thief_takes_the_older_half_rounded_up_and_owner_keeps_order) {
  for (int n = 0; n <= 256; ++n) {
    Queue queue;
    for (int i = 1; i <= n; ++i) ASSERT_TRUE(queue.push(i));
    int loot[256];
    const int taken = static_cast<int>(queue.pop_half(loot, 256));
    ASSERT_EQ(taken, (n + 1) / 2);
    for (int i = 0; i < taken; ++i) ASSERT_EQ(loot[i], i + 1);
    for (int i = taken + 1; i <= n; ++i) ASSERT_EQ(queue.pop(), i);
    ASSERT_TRUE(queue.empty());
  }
}

TEST(RunQueue, thief_takes_no_more_than_it_has_room_for) {
  Queue queue;
  for (int i = 1; i <= 100; ++i) ASSERT_TRUE(queue.push(i));
  int loot[3] = {};
  EXPECT_EQ(queue.pop_half(loot, 3), 3u);
  EXPECT_EQ(loot[2], 3);
  EXPECT_EQ(queue.pop_half(loot, 0), 0u);
  EXPECT_EQ(queue.size(), 97u);
}

TEST(RunQueue, shows_the_nth_without_taking_it) {
  Queue queue;
  EXPECT_EQ(queue.peek(0), 0);
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(queue.push(i));
  EXPECT_EQ(queue.peek(0), 1);
  EXPECT_EQ(queue.peek(4), 5);
  EXPECT_EQ(queue.peek(5), 0);
  EXPECT_EQ(queue.peek(4000), 0);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.peek(0), 2);
  EXPECT_EQ(queue.size(), 4u);
}

TEST(RunQueue, counters_may_wrap) {
  Queue queue;
  queue.start_counters_at(kNearWrap);
  int next_in = 1, next_out = 1;
  for (int round = 0; round < 400; ++round) {
    while (queue.push(next_in)) ++next_in;
    ASSERT_EQ(queue.size(), 256u);
    ASSERT_EQ(queue.peek(255), next_in - 1);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(queue.pop(), next_out++);
    int loot[256];
    const std::uint32_t taken = queue.pop_half(loot, 256);
    ASSERT_EQ(taken, 127u);
    for (std::uint32_t i = 0; i < taken; ++i) ASSERT_EQ(loot[i], next_out++);
  }
  while (const int item = queue.pop()) ASSERT_EQ(item, next_out++);
  EXPECT_EQ(next_out, next_in);
}

// The owner never lets the queue run empty, so no other thread may ever see it empty: a retiring M would go to sleep
// beside work.
TEST(RunQueue, is_never_seen_empty_while_it_holds_one) {
  RunQueue<int, 4> queue;
  queue.start_counters_at(kNearWrap);
  ASSERT_TRUE(queue.push(1));
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> moves{0};
  std::thread owner([&] {
    while (!over) {
      EXPECT_TRUE(queue.push(2));
      EXPECT_NE(queue.pop(), 0);
      moves.fetch_add(1, std::memory_order_relaxed);
    }
  });
  // On a busy machine only one of the two threads may run for a long time. So loop until both have done their part.
  for (std::uint64_t looks = 0; looks < 100'000 || moves < 100'000; ++looks) {
    if (queue.empty()) {
      ADD_FAILURE() << "empty at look " << looks;
      break;
    }
  }
  over = true;
  owner.join();
}

void hammer(std::uint32_t counters_at) {
  constexpr int kItems = 300'000, kThieves = 3;
  RunQueue<int, 32> queue;
  queue.start_counters_at(counters_at);
  std::vector<std::atomic<int>> taken(kItems + 1);
  std::atomic<bool> over{false};
  std::atomic<int> stolen{0};
  const auto take = [&](int item) { taken[static_cast<std::size_t>(item)].fetch_add(1, std::memory_order_relaxed); };
  std::vector<std::thread> thieves;
  for (int i = 0; i < kThieves; ++i)
    thieves.emplace_back([&] {
      while (!over) {
        int loot[32];
        const std::uint32_t count = queue.pop_half(loot, 32);
        for (std::uint32_t k = 0; k < count; ++k) take(loot[k]);
        if (count == 0) std::this_thread::yield();
        stolen += static_cast<int>(count);
      }
    });
  int last_own = 0;
  for (int item = 1; item <= kItems; ++item) {
    while (!queue.push(item))
      if (const int own = queue.pop()) {
        EXPECT_GT(own, last_own) << "the owner's part is in order";
        last_own = own;
        take(own);
      }
    if (item % 256 == 0) std::this_thread::yield();  // without it, thieves on a single core would never run
  }
  while (const int rest = queue.pop()) take(rest);
  over = true;
  for (std::thread& thief : thieves) thief.join();
  for (int item = 1; item <= kItems; ++item) ASSERT_EQ(taken[static_cast<std::size_t>(item)].load(), 1) << item;
  EXPECT_GT(stolen.load(), 0) << "nobody stole anything: this tested nothing";
}

TEST(RunQueue, hands_out_each_item_once_under_load) { hammer(0); }
TEST(RunQueue, hands_out_each_item_once_under_load_across_the_wrap) { hammer(kNearWrap); }

}  // namespace
}  // namespace weft::sched
