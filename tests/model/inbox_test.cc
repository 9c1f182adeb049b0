// SPDX-License-Identifier: MIT
// inbox.h under relacy: several send, the owner and a thief take everything.
#include "sched/queue/inbox.h"

#include "model/ledger.h"
#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

constexpr unsigned kItems = 4;

// The links are plain memory: relacy reports it if two threads touch one without an order between them.
struct Links {
  static inline rl::var<unsigned>* next_of = nullptr;
  static unsigned next(unsigned item) { return next_of[item](RL_INFO).load(); }
  static void set_next(unsigned item, unsigned next) { next_of[item](RL_INFO) = next; }
};

template <class Mutation>
struct SendersAndTakers : Simulation<4> {
  sched::Inbox<unsigned, Links, RelacyAtomics<Mutation>> inbox;
  Ledger<kItems> ledger;
  rl::var<unsigned> next_of[kItems + 1];

  void before() override { Links::next_of = next_of; }

  void thread(unsigned id) override {
    if (id < 2) {
      send(2 * id + 1);
      send(2 * id + 2);
    } else {
      take();
      take();
    }
  }
  void send(unsigned item) {
    ledger.put(item);
    inbox.push(item);
  }
  void take() {
    unsigned last[2] = {};
    inbox.take([&](unsigned item) {
      ledger.take(item);
      unsigned& before = last[(item - 1) / 2];
      RL_ASSERT(before < item);  // of one sender in the order in which it sent them
      before = item;
    });
  }

  void after() override {
    take();
    ledger.check_all_taken();
    RL_ASSERT(inbox.empty());
  }
};

TEST(InboxModel, gives_each_item_to_one_taker_in_order) {
  EXPECT_TRUE(holds<SendersAndTakers<Faithful>>(random_search(200'000)));
}
TEST(InboxModel, holds_in_every_execution_with_two_switches) {
  EXPECT_TRUE(holds<SendersAndTakers<Faithful>>(bounded_search(2)));
}

TEST(InboxModel, finds_a_head_that_moves_without_compare_and_swap) {
  EXPECT_TRUE(is_caught<SendersAndTakers<WithoutAtomicCas>>(random_search(20'000), kWrongResult));
}
TEST(InboxModel, finds_links_that_are_not_published) {
  EXPECT_TRUE(is_caught<SendersAndTakers<WithoutOrderedCas>>(random_search(20'000), kWrongResult));
}

}  // namespace
}  // namespace weft::model
