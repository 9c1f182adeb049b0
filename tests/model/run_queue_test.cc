// SPDX-License-Identifier: MIT
// run_queue.h under relacy: an owner, two thieves, few slots, counters that wrap.
#include "sched/queue/run_queue.h"

#include "model/ledger.h"
#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

template <class Mutation, unsigned Items, unsigned Capacity, int Raids, int Threads>
struct OwnerAndThieves : Simulation<Threads> {
  sched::RunQueue<unsigned, Capacity, RelacyAtomics<Mutation>> queue;
  Ledger<Items> ledger;

  void before() override { queue.start_counters_at(0xFFFF'FFFEu); }

  void thread(unsigned id) override {
    if (id == 0) {
      own();
    } else {
      steal();
    }
  }

  void own() {
    unsigned next = 1;
    while (next <= Items) {
      ledger.put(next);
      if (next % 2 == 0 ? exchange(next) || queue.push(next) : queue.push(next)) {
        if (++next % 3 == 0) take_one();
      } else {
        take_one();
      }
    }
  }
  void take_one() {
    if (const unsigned item = queue.pop()) ledger.take(item);
  }

  // As a yield does: the item goes behind the others, and the first of them is taken.
  bool exchange(unsigned item) {
    bool pushed;
    if (const unsigned oldest = queue.exchange(item, pushed)) ledger.take(oldest);
    return pushed;
  }

  void steal() {
    for (int raid = 0; raid < Raids; ++raid) {
      unsigned loot[Capacity];
      const unsigned count = queue.pop_half(loot, Capacity);
      RL_ASSERT(count <= (Capacity + 1) / 2);
      for (unsigned i = 0; i < count; ++i) ledger.take(loot[i]);
    }
  }

  void after() override {
    while (const unsigned item = queue.pop()) ledger.take(item);
    ledger.check_all_taken();
    RL_ASSERT(queue.empty() && queue.size() == 0);
  }
};

template <class Mutation>
using Crowd = OwnerAndThieves<Mutation, 7, 4, 2, 3>;
template <class Mutation>
using Pair = OwnerAndThieves<Mutation, 2, 2, 2, 2>;

TEST(RunQueueModel, hands_out_each_item_once_across_the_wrap_of_its_counters) {
  EXPECT_TRUE(holds<Crowd<Faithful>>(random_search(300'000)));
}
TEST(RunQueueModel, holds_in_every_execution_with_two_switches) {
  EXPECT_TRUE(holds<Crowd<Faithful>>(bounded_search(2)));
}
TEST(RunQueueModel, holds_in_every_execution_of_an_owner_and_a_thief) {
  EXPECT_TRUE(holds<Pair<Faithful>>(full_search()));
}

TEST(RunQueueModel, finds_a_tail_published_without_release) {
  EXPECT_TRUE(is_caught<Crowd<WithoutRelease>>(random_search(20'000), kWrongResult));
}
TEST(RunQueueModel, finds_a_tail_read_without_acquire) {
  EXPECT_TRUE(is_caught<Crowd<WithoutAcquire>>(random_search(20'000), kWrongResult));
}
TEST(RunQueueModel, finds_a_head_that_moves_without_compare_and_swap) {
  EXPECT_TRUE(is_caught<Crowd<WithoutAtomicCas>>(random_search(20'000), kWrongResult));
}

}  // namespace
}  // namespace weft::model
