// SPDX-License-Identifier: MIT
#include "sched/queue/inject_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "base/random.h"
#include "sched/model/goroutine.h"

namespace weft::sched {
namespace {

// Runnables of both kinds (goroutines and records), identified by their number.
class Items {
 public:
  explicit Items(std::size_t count) : records_(count), goroutines_(count) {}
  Runnable operator[](std::size_t i) {
    return i % 3 == 0 ? Runnable(&goroutines_[i]) : Runnable(&records_[i], i % 3 == 2);
  }
  std::vector<Runnable> range(std::size_t first, std::size_t count) {
    std::vector<Runnable> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back((*this)[first + i]);
    return all;
  }

 private:
  std::deque<SpawnRecord> records_;
  std::deque<Goroutine> goroutines_;
};

TEST(RunnableBundle, keeps_the_order_of_any_number) {
  Items items(40);
  for (std::uint32_t count = 0; count <= 40; ++count) {
    const auto all = items.range(0, count);
    RunnableBundle bundle(all.data(), count);
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(bundle.size(), count - i);
      EXPECT_EQ(bundle.pop(), all[i]);
    }
    EXPECT_TRUE(bundle.empty());
  }
}

TEST(InjectQueue, gives_bundles_in_pieces_in_their_order) {
  Items items(1000);
  static InjectQueue queue;  // as the runtime's, which is never destroyed
  for (std::size_t first = 0; first < 1000; first += 100) {
    const auto all = items.range(first, 100);
    queue.push_bundle(all.data(), 100);
  }
  EXPECT_EQ(queue.size(), 1000u);
  base::Random random(5);
  std::size_t taken = 0;
  while (taken < 1000) {
    Runnable out[130];
    const std::size_t count = queue.pop(out, 1 + random.below(130));
    ASSERT_GT(count, 0u);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], items[taken + i]);
    taken += count;
    EXPECT_EQ(queue.size(), 1000 - taken);
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.pop(), Runnable());
}

TEST(InjectQueue, lets_neither_singles_nor_bundles_wait_for_all_of_the_others) {
  Items items(300);
  static InjectQueue queue;  // as the runtime's, which is never destroyed
  const auto all = items.range(0, 200);
  queue.push_bundle(all.data(), 200);
  for (std::size_t i = 200; i < 300; ++i) queue.push(items[i]);
  std::size_t bundled = 0, single = 0;
  for (int i = 0; i < 100; ++i) {
    const Runnable one = queue.pop();
    if (one == items[bundled]) {
      ++bundled;
    } else {
      ASSERT_EQ(one, items[200 + single]);
      ++single;
    }
  }
  EXPECT_EQ(bundled, 50u);
  EXPECT_EQ(single, 50u);
}

TEST(InjectQueue, loses_and_doubles_nothing_while_it_grows_and_wraps_around) {
  constexpr std::size_t kCount = 20'000;
  Items items(kCount);
  static InjectQueue queue;  // as the runtime's, which is never destroyed
  base::Random random(11);
  std::vector<Runnable> popped;
  for (std::size_t pushed = 0; pushed < kCount;) {
    const auto count = std::min<std::size_t>(random.below(30), kCount - pushed);
    const auto all = items.range(pushed, count);
    if (random.below(4) == 0) {
      RunnableList chain;
      for (const Runnable one : all) chain.push(one);
      queue.push(chain);
    } else {
      queue.push_bundle(all.data(), static_cast<std::uint32_t>(count));
    }
    pushed += count;
    Runnable out[64];
    const std::size_t got = queue.pop(out, random.below(random.below(8) == 0 ? 64 : 8));
    popped.insert(popped.end(), out, out + got);
    ASSERT_EQ(queue.size(), pushed - popped.size());
  }
  for (Runnable one; (one = queue.pop());) popped.push_back(one);
  ASSERT_EQ(popped.size(), kCount);
  const auto by_bits = [](Runnable a, Runnable b) { return a.bits() < b.bits(); };
  auto all = items.range(0, kCount);
  std::sort(all.begin(), all.end(), by_bits);
  std::sort(popped.begin(), popped.end(), by_bits);
  EXPECT_EQ(all, popped);
}

}  // namespace
}  // namespace weft::sched
