// SPDX-License-Identifier: MIT
// record_deque.h under relacy: the owner works at the bottom and overflows, two thieves take from the top.
#include "sched/queue/record_deque.h"

#include "model/ledger.h"
#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

template <class Mutation, unsigned Items, unsigned Capacity, int Raids, int Threads>
struct OwnerAndThieves : Simulation<Threads> {
  sched::RecordDeque<unsigned, Capacity, RelacyAtomics<Mutation>> deque;
  Ledger<Items> ledger;

  void thread(unsigned id) override {
    if (id == 0) {
      own();
    } else {
      steal();
    }
  }

  void own() {
    for (unsigned item = 1; item <= Items; ++item) {
      ledger.put(item);
      while (!deque.push(item)) overflow();
      if (item % 3 == 0) pop();
    }
    pop();
    pop();
  }
  void overflow() {
    unsigned moved[Capacity / 2];
    const std::int64_t count = deque.take_half_for_overflow(moved);
    for (std::int64_t i = 0; i < count; ++i) ledger.take(moved[i]);
  }
  void pop() {
    if (const unsigned item = deque.pop()) ledger.take(item);
  }

  void steal() {
    for (int raid = 0; raid < Raids; ++raid)
      if (const unsigned item = deque.steal()) ledger.take(item);
  }

  void after() override {
    while (const unsigned item = deque.steal()) ledger.take(item);
    ledger.check_all_taken();
    RL_ASSERT(deque.empty() && deque.size() == 0);
  }
};

template <class Mutation>
using Crowd = OwnerAndThieves<Mutation, 8, 4, 4, 3>;
// Two slots: two thefts empty a deque that its owner has just found full.
template <class Mutation>
using Narrow = OwnerAndThieves<Mutation, 4, 2, 2, 3>;
template <class Mutation>
using Pair = OwnerAndThieves<Mutation, 2, 2, 1, 2>;

TEST(RecordDequeModel, hands_out_each_record_once) { EXPECT_TRUE(holds<Crowd<Faithful>>(random_search(300'000))); }
TEST(RecordDequeModel, overflows_only_what_is_still_there) {
  EXPECT_TRUE(holds<Narrow<Faithful>>(random_search(300'000)));
}
TEST(RecordDequeModel, holds_in_every_execution_with_two_switches) {
  EXPECT_TRUE(holds<Narrow<Faithful>>(bounded_search(2)));
}
TEST(RecordDequeModel, holds_in_every_execution_of_an_owner_and_a_thief) {
  EXPECT_TRUE(holds<Pair<Faithful>>(full_search()));
}

TEST(RecordDequeModel, finds_a_bottom_published_without_release) {
  EXPECT_TRUE(is_caught<Crowd<WithoutRelease>>(random_search(20'000), kWrongResult));
}
TEST(RecordDequeModel, finds_owner_and_thief_taking_the_last_record_without_fences) {
  EXPECT_TRUE(is_caught<Crowd<WithoutFences>>(random_search(50'000), kWrongResult));
}
TEST(RecordDequeModel, finds_a_top_that_moves_without_compare_and_swap) {
  EXPECT_TRUE(is_caught<Crowd<WithoutAtomicCas>>(random_search(20'000), kWrongResult));
}

}  // namespace
}  // namespace weft::model
