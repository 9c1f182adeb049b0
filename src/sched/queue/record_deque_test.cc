// SPDX-License-Identifier: MIT
#include "sched/queue/record_deque.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace weft::sched {
namespace {

template <std::int64_t Capacity>
void fill(RecordDeque<int, Capacity>& deque) {
  for (int item = 1; item <= Capacity; ++item) ASSERT_TRUE(deque.push(item));
}

TEST(RecordDeque, owner_takes_the_newest_and_a_thief_the_oldest) {
  RecordDeque<int, 8> deque;
  for (int item = 1; item <= 4; ++item) ASSERT_TRUE(deque.push(item));
  EXPECT_EQ(deque.peek(), 4);
  EXPECT_EQ(deque.pop(), 4);
  EXPECT_EQ(deque.steal(), 1);
  EXPECT_EQ(deque.size(), 2);
  EXPECT_EQ(deque.pop(), 3);
  EXPECT_EQ(deque.steal(), 2);
  EXPECT_TRUE(deque.empty());
}

TEST(RecordDeque, is_empty_for_all_when_empty) {
  RecordDeque<int, 4> deque;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(deque.pop(), 0);
    EXPECT_EQ(deque.steal(), 0);
    EXPECT_EQ(deque.peek(), 0);
    EXPECT_EQ(deque.size(), 0);
    ASSERT_TRUE(deque.push(7));  // a deque that was emptied is as good as a new one
    EXPECT_EQ(round % 2 == 0 ? deque.pop() : deque.steal(), 7);
  }
}

TEST(RecordDeque, refuses_more_than_its_capacity_and_goes_round) {
  RecordDeque<int, 4> deque;
  fill(deque);
  EXPECT_FALSE(deque.push(5));
  int next = 5;
  for (int expected = 1; expected <= 100; ++expected) {
    ASSERT_EQ(deque.steal(), expected);
    ASSERT_TRUE(deque.push(next++));
    ASSERT_FALSE(deque.push(-1));
    ASSERT_EQ(deque.size(), 4);
  }
}

TEST(RecordDeque, overflow_takes_the_older_half_in_order) {
  RecordDeque<int, 8> deque;
  fill(deque);
  ASSERT_FALSE(deque.push(9));
  int moved[4] = {};
  ASSERT_EQ(deque.take_half_for_overflow(moved), 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(moved[i], i + 1);
  ASSERT_TRUE(deque.push(9));
  for (int expected = 9; expected >= 5; --expected) EXPECT_EQ(deque.pop(), expected);
  EXPECT_TRUE(deque.empty());
}

// Thieves may take any number of records after push() has found the deque full and before the owner moves half of it
// away. The owner used to move records that were no longer there, so they ran twice.
TEST(RecordDeque, overflow_leaves_alone_what_thieves_have_taken_since_it_was_full) {
  for (int stolen = 1; stolen <= 8; ++stolen) {
    RecordDeque<int, 8> deque;
    fill(deque);
    ASSERT_FALSE(deque.push(9));
    for (int item = 1; item <= stolen; ++item) ASSERT_EQ(deque.steal(), item);
    int moved[4] = {};
    ASSERT_EQ(deque.take_half_for_overflow(moved), 0) << "the thieves have made room";
    ASSERT_TRUE(deque.push(9));
    ASSERT_EQ(deque.size(), 9 - stolen);
    for (int expected = 9; expected > stolen; --expected) ASSERT_EQ(deque.pop(), expected);
    ASSERT_EQ(deque.pop(), 0);
  }
}

// The owner pushes, pops and overflows; thieves steal. In the end each item was taken by exactly one thread.
TEST(RecordDeque, hands_out_each_record_once_under_load) {
  constexpr int kItems = 200'000, kThieves = 3;
  RecordDeque<int, 16> deque;
  std::vector<std::atomic<int>> taken(kItems + 1);
  std::atomic<bool> over{false};
  std::atomic<int> stolen{0};
  std::vector<std::thread> thieves;
  for (int i = 0; i < kThieves; ++i)
    thieves.emplace_back([&] {
      while (!over.load()) {
        if (const int item = deque.steal()) {
          taken[static_cast<std::size_t>(item)].fetch_add(1);
          stolen.fetch_add(1);
        } else {
          std::this_thread::yield();
        }
      }
    });
  for (int item = 1; item <= kItems; ++item) {
    while (!deque.push(item)) {
      int moved[8];
      const std::int64_t count = deque.take_half_for_overflow(moved);
      for (std::int64_t i = 0; i < count; ++i) taken[static_cast<std::size_t>(moved[i])].fetch_add(1);
    }
    if (item % 3 == 0)
      if (const int newest = deque.pop()) taken[static_cast<std::size_t>(newest)].fetch_add(1);
    if (item % 1024 == 0) std::this_thread::yield();  // without it, thieves on a single core would never run
  }
  while (const int rest = deque.pop()) taken[static_cast<std::size_t>(rest)].fetch_add(1);
  over = true;
  for (std::thread& thief : thieves) thief.join();
  for (int item = 1; item <= kItems; ++item) ASSERT_EQ(taken[static_cast<std::size_t>(item)].load(), 1) << item;
  EXPECT_GT(stolen.load(), 0) << "nobody stole anything: this tested nothing";
}

}  // namespace
}  // namespace weft::sched
