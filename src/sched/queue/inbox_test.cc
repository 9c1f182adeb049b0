// SPDX-License-Identifier: MIT
#include "sched/queue/inbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace weft::sched {
namespace {

struct Item {
  Item* next = nullptr;
  std::size_t sender = 0;
  int number = 0;
};
struct Links {
  static Item* next(Item* item) { return item->next; }
  static void set_next(Item* item, Item* next) { item->next = next; }
};
using ItemInbox = Inbox<Item*, Links>;

TEST(Inbox, gives_back_in_the_order_of_sending_and_is_empty_then) {
  Item items[3];
  ItemInbox inbox;
  EXPECT_TRUE(inbox.empty());
  for (Item& item : items) inbox.push(&item);
  EXPECT_FALSE(inbox.empty());
  std::vector<Item*> taken;
  inbox.take([&](Item* item) {
    item->next = &items[0];  // the taker may use the link for something else
    taken.push_back(item);
  });
  EXPECT_EQ(taken, (std::vector<Item*>{&items[0], &items[1], &items[2]}));
  EXPECT_TRUE(inbox.empty());
  inbox.take([](Item*) { FAIL() << "there is nothing"; });
}

TEST(Inbox, many_send_and_many_take) {
  constexpr std::size_t kSenders = 4, kEach = 50'000;
  std::vector<std::vector<Item>> items(kSenders, std::vector<Item>(kEach));
  ItemInbox inbox;
  std::atomic<std::size_t> taken{0};
  std::vector<std::thread> threads;
  for (std::size_t s = 0; s < kSenders; ++s)
    threads.emplace_back([&, s] {
      for (std::size_t i = 0; i < kEach; ++i) {
        items[s][i].sender = s;
        items[s][i].number = static_cast<int>(i);
        inbox.push(&items[s][i]);
      }
    });
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (taken < kSenders * kEach) {
        int last[kSenders] = {-1, -1, -1, -1};
        std::size_t count = 0;
        inbox.take([&](Item* item) {
          EXPECT_LT(last[item->sender], item->number);
          last[item->sender] = item->number;
          ++count;
        });
        if (count == 0) std::this_thread::yield();
        taken += count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, kSenders * kEach);
  EXPECT_TRUE(inbox.empty());
}

}  // namespace
}  // namespace weft::sched
