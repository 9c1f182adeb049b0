// SPDX-License-Identifier: MIT
// sched/queue/next_slot.h under relacy: an owner that closes its slot whenever it may, thieves that open it, and a slot that changes its owner.
#include "sched/queue/next_slot.h"

#include "model/ledger.h"
#include "model/process_barrier.h"

namespace weft::model {
namespace {

template <class Mutation>
struct SlotFences : ModelFences<Mutation> {
  static constexpr std::uint8_t kCalm = 1;  // as soon as can be
  static constexpr int kPatience = 1;
};

template <class Mutation, int Threads, unsigned Items>
struct SlotUsers : Simulation<Threads> {
  ProcessBarrier process{Threads};
  sched::NextSlot<InterruptedAtomics<Mutation>, unsigned, SlotFences<Mutation>> slot;
  Ledger<Items> ledger;

  SlotUsers() { barrier = &process; }

  void own(unsigned first, unsigned end) {
    for (unsigned next = first; next < end; ++next) {
      ledger.put(next);
      if (!slot.look()) {
        slot.put(next);
      } else if (const unsigned displaced = slot.replace(next)) {
        ledger.take(displaced);
      }
      if (rl::rand(4) != 0) take_one();
    }
  }
  void take_one() {
    if (const unsigned item = slot.take()) ledger.take(item);
  }
  void steal(int raids) {
    for (int raid = 0; raid < raids; ++raid) {
      if (!slot.look()) {
        rl::yield(1, RL_INFO);
        barrier->pass();
      }
      if (const unsigned item = slot.rob([] { return rl::rand(4) != 0; })) ledger.take(item);
    }
  }

  void after() override {
    take_one();
    ledger.check_all_taken();
  }
};

// One owner, the others steal.
template <class Mutation, int Threads, unsigned Items, int Raids>
struct OwnerAndThieves : SlotUsers<Mutation, Threads, Items> {
  void thread(unsigned id) override {
    if (id == 0) {
      this->own(1, Items + 1);
    } else {
      this->steal(Raids);
    }
    this->process.end();
  }
};

// The first owner hands the slot over to the second, as Ps change threads; the third steals from both.
template <class Mutation>
struct HandOver : SlotUsers<Mutation, 3, 6> {
  RelacyAtom<bool> handed{false};

  void thread(unsigned id) override {
    if (id == 0) {
      this->own(1, 4);
      handed.store_release(true);
    } else if (id == 1) {
      PassingBackOff back_off;
      while (!handed.load_acquire()) back_off.wait();
      this->take_one();
      this->own(4, 7);
    } else {
      this->steal(3);
    }
    this->process.end();
  }
};

template <class Mutation>
using Pair = OwnerAndThieves<Mutation, 2, 4, 3>;
template <class Mutation>
using Crowd = OwnerAndThieves<Mutation, 3, 4, 3>;

TEST(NextSlotModel, gives_each_item_once_to_its_owner_or_a_thief) {
  EXPECT_TRUE(holds<Pair<Faithful>>(random_search(150'000)));
}
TEST(NextSlotModel, gives_each_item_once_to_its_owner_or_one_of_two_thieves) {
  EXPECT_TRUE(holds<Crowd<Faithful>>(random_search(150'000)));
}
TEST(NextSlotModel, gives_each_item_once_while_it_changes_its_owner) {
  EXPECT_TRUE(holds<HandOver<Faithful>>(random_search(100'000)));
}

TEST(NextSlotModel, finds_a_thief_without_a_barrier) {
  EXPECT_TRUE(is_caught<Pair<WithoutFences>>(random_search(20'000), kWrongResult));
}
TEST(NextSlotModel, finds_an_item_published_without_release) {
  EXPECT_TRUE(is_caught<Pair<WithoutRelease>>(random_search(20'000), kWrongResult));
}
TEST(NextSlotModel, finds_a_thief_that_takes_without_acquire) {
  EXPECT_TRUE(is_caught<Pair<WithoutOrderedCas>>(random_search(20'000), kWrongResult));
}

}  // namespace
}  // namespace weft::model
