// SPDX-License-Identifier: MIT
#include "sched/queue/batch_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <thread>
#include <type_traits>
#include <vector>

namespace weft::sched {
namespace {

struct Numbers {
  int first = 0, last = 0;  // a batch of the numbers first..last
};

struct Batches {
  using Queue = BatchQueue<Numbers>;
  Queue queue;
  Queue::Fifo fifo;
  std::deque<Queue::Header> headers;

  void add(Numbers numbers, bool visible) {
    if (!queue.has_header()) queue.give_header(&headers.emplace_back());
    Queue::Header* header = queue.push(fifo, numbers);
    if (visible) queue.show(header);
  }
  // 0: there is none.
  int take() {
    Numbers taken;
    bool was_visible;
    return queue.pop(fifo, taken, was_visible) ? taken.first : 0;
  }
  int steal() {
    Numbers stolen;
    return queue.steal(stolen) ? stolen.first : 0;
  }
};

TEST(BatchQueue, keeps_the_order_of_what_was_queued_visible_or_not) {
  Batches batches;
  for (int i = 1; i <= 40; ++i) batches.add({i, i}, i % 3 != 0);
  for (int i = 1; i <= 40; ++i) ASSERT_EQ(batches.take(), i);
  EXPECT_EQ(batches.take(), 0);
}

TEST(BatchQueue, shows_thieves_the_last_fifteen_oldest_first) {
  Batches batches;
  for (int i = 1; i <= 20; ++i) batches.add({i, i}, true);
  for (int i = 6; i <= 20; ++i) ASSERT_EQ(batches.steal(), i);
  EXPECT_EQ(batches.steal(), 0) << "what was pushed out of the window is the owner's alone";
  for (int i = 1; i <= 5; ++i) ASSERT_EQ(batches.take(), i);
  EXPECT_EQ(batches.take(), 0);
}

TEST(BatchQueue, never_shows_what_is_private) {
  Batches batches;
  batches.add({1, 1}, false);
  EXPECT_EQ(batches.steal(), 0);
  EXPECT_EQ(batches.take(), 1);
}

TEST(BatchQueue, uses_headers_of_stolen_batches_again) {
  Batches batches;
  for (int round = 0; round < 1000; ++round) {
    batches.add({1, 1}, true);
    batches.add({2, 2}, true);
    ASSERT_EQ(batches.steal(), 1);
    ASSERT_EQ(batches.take(), 2);
  }
  EXPECT_LE(batches.headers.size(), 4u);
}

TEST(BatchQueue, puts_one_line_of_batches_behind_another) {
  Batches batches;
  Batches::Queue::Fifo& first = batches.fifo;
  Batches::Queue::Fifo second, nothing;
  for (int i = 3; i <= 4; ++i) {
    if (!batches.queue.has_header()) batches.queue.give_header(&batches.headers.emplace_back());
    batches.queue.show(batches.queue.push(second, {i, i}));
  }
  for (int i = 1; i <= 2; ++i) batches.add({i, i}, true);
  first.append(nothing);
  first.append(second);
  EXPECT_TRUE(second.empty());
  batches.add({5, 5}, true);
  for (int i = 1; i <= 5; ++i) ASSERT_EQ(batches.take(), i);
  first.append(second);
  EXPECT_TRUE(first.empty());
}

// Counts the steps on the slots, and lets the owner show another batch at each of them, which is the worst for a thief.
struct CountingAtomics {
  static inline int steps = 0;
  template <class T>
  struct atom : base::Atom<T> {
    using base::Atom<T>::Atom;
    T load_relaxed() const noexcept {
      if constexpr (std::is_pointer_v<T>) ++steps;
      return base::Atom<T>::load_relaxed();
    }
  };
};

TEST(BatchWindow, lets_a_thief_look_at_each_slot_once) {
  using Header = BatchHeader<Numbers>;
  BatchWindow<Header, CountingAtomics> window;
  CountingAtomics::steps = 0;
  EXPECT_EQ(window.steal(), nullptr);
  EXPECT_EQ(CountingAtomics::steps, 15);
  Header header;
  for (int i = 0; i < 15; ++i) {
    window.show(&header);
    CountingAtomics::steps = 0;
    EXPECT_EQ(window.steal(), &header);
    EXPECT_LE(CountingAtomics::steps, 15);
  }
}

TEST(BatchWindow, owner_takes_back_what_no_thief_has) {
  using Header = BatchHeader<Numbers>;
  BatchWindow<Header> window;
  Header one, two;
  window.show(&one);
  window.show(&two);
  EXPECT_TRUE(window.holds(&one));
  EXPECT_EQ(window.steal(), &one);
  EXPECT_FALSE(window.holds(&one));
  EXPECT_FALSE(window.take(&one));
  EXPECT_TRUE(window.take(&two));
  EXPECT_EQ(window.steal(), nullptr);
}

// One owner, three thieves: every number comes out once, and batches come out whole.
TEST(BatchQueue, hands_out_each_batch_once_under_stress) {
  constexpr int kBatches = 200'000, kThieves = 3, kSize = 3;
  Batches batches;
  std::vector<std::atomic<unsigned char>> seen(kBatches * kSize + kSize + 1);
  std::atomic<bool> over{false};
  std::atomic<int> torn{0}, stolen{0};
  const auto take_out = [&](Numbers numbers) {
    if (numbers.last != numbers.first + kSize - 1) ++torn;
    for (int i = numbers.first; i <= numbers.last; ++i) seen[static_cast<std::size_t>(i)].fetch_add(1);
  };
  std::vector<std::thread> thieves;
  for (int i = 0; i < kThieves; ++i)
    thieves.emplace_back([&] {
      Numbers loot;
      while (!over)
        if (batches.queue.steal(loot)) {
          take_out(loot);
          ++stolen;
        }
    });
  Numbers taken;
  bool was_visible;
  batches.add({1, kSize}, true);
  while (stolen == 0) std::this_thread::yield();  // on a busy machine the thieves may start late
  for (int i = 1; i < kBatches; ++i) {
    batches.add({i * kSize + 1, i * kSize + kSize}, true);
    if (i % 20 > 12 && batches.queue.pop(batches.fifo, taken, was_visible)) take_out(taken);
  }
  while (batches.queue.pop(batches.fifo, taken, was_visible)) take_out(taken);
  over = true;
  for (std::thread& thief : thieves) thief.join();
  EXPECT_EQ(torn, 0);
  for (int i = 1; i <= kBatches * kSize; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], 1) << i;
}

}  // namespace
}  // namespace weft::sched
