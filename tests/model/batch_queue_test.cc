// SPDX-License-Identifier: MIT
// batch_queue.h and batch_window.h under relacy: an owner that queues, shows and takes batches, and two thieves. The window has
// two slots, so that the owner often takes a slot that is in use, and there are fewer headers than batches, so that each is used
// again.
#include "sched/queue/batch_queue.h"

#include <type_traits>

#include "model/ledger.h"
#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

// What a batch holds: relacy sees each access, and reports a race if the owner fills a header that a thief still reads.
class Contents {
 public:
  Contents() { item_(RL_INFO) = 0u; }
  explicit Contents(unsigned item) { item_(RL_INFO) = item; }
  Contents(const Contents& other) { item_(RL_INFO) = other.item(); }
  Contents& operator=(const Contents& other) {
    item_(RL_INFO) = other.item();
    return *this;
  }
  unsigned item() const { return item_(RL_INFO).load(); }

 private:
  mutable rl::var<unsigned> item_;
};

constexpr unsigned kItems = 4, kHeaders = 2;

template <class Atomics>
struct OwnerAndThieves : Simulation<3> {
  using Queue = sched::BatchQueue<Contents, Atomics, 2>;
  Queue queue;
  typename Queue::Fifo fifo;
  typename Queue::Header headers[kHeaders];
  Ledger<kItems> ledger;

  void before() override {
    for (auto& header : headers) queue.give_header(&header);
  }

  void thread(unsigned id) override {
    if (id == 0) {
      own();
    } else {
      steal();
    }
  }

  void own() {
    for (unsigned item = 1; item <= kItems; ++item) {
      while (!queue.has_header())
        if (!take_one()) return keep(item);
      ledger.put(item);
      queue.show(queue.push(fifo, Contents(item)));
      if (item % 3 == 0) take_one();
    }
  }
  // All headers are with thieves that have not returned them yet: what is left does not become a batch.
  void keep(unsigned from) {
    for (unsigned item = from; item <= kItems; ++item) {
      ledger.put(item);
      ledger.take(item);
    }
  }
  bool take_one() {
    Contents taken;
    bool was_visible;
    if (!queue.pop(fifo, taken, was_visible)) return false;
    ledger.take(taken.item());
    return true;
  }

  void steal() {
    for (int raid = 0; raid < 2; ++raid) {
      Contents loot;
      if (queue.steal(loot)) ledger.take(loot.item());
    }
  }

  void after() override {
    while (take_one()) {
    }
    ledger.check_all_taken();
    for (unsigned i = 0; i < kHeaders; ++i) {
      RL_ASSERT(queue.has_header());  // else a header was lost
      queue.push(fifo, Contents());
    }
  }
};

// Mutants of what `returned` is for: the thief does not write it, or the owner does not wait for it.
template <class T>
struct NeverWritten : RelacyAtom<T> {
  using RelacyAtom<T>::RelacyAtom;
  void store_release(T) {}
};
template <class T>
struct NeverAwaited : RelacyAtom<T> {
  using RelacyAtom<T>::RelacyAtom;
  T load_acquire() const { return true; }
};
template <template <class> class Flag>
struct WithFlag {
  template <class T>
  using atom = std::conditional_t<std::is_same_v<T, bool>, Flag<T>, RelacyAtom<T>>;
};

template <class Mutation>
using Crowd = OwnerAndThieves<RelacyAtomics<Mutation>>;
using WithoutReturned = OwnerAndThieves<WithFlag<NeverWritten>>;
using WithEarlyRecycling = OwnerAndThieves<WithFlag<NeverAwaited>>;

TEST(BatchQueueModel, hands_out_each_batch_once_and_loses_no_header) {
  EXPECT_TRUE(holds<Crowd<Faithful>>(random_search(300'000)));
}
TEST(BatchQueueModel, holds_in_every_execution_with_two_switches) {
  EXPECT_TRUE(holds<Crowd<Faithful>>(bounded_search(2)));
}

TEST(BatchQueueModel, finds_an_owner_that_takes_without_compare_and_swap) {
  EXPECT_TRUE(is_caught<Crowd<WithoutAtomicCas>>(random_search(50'000), kWrongResult));
}
TEST(BatchQueueModel, finds_slots_that_change_without_exchange) {
  EXPECT_TRUE(is_caught<Crowd<WithoutAtomicExchange>>(random_search(50'000), kWrongResult));
}
TEST(BatchQueueModel, finds_batches_that_are_shown_without_release) {
  EXPECT_TRUE(is_caught<Crowd<WithoutOrderedCas>>(random_search(50'000), kWrongResult));
}
TEST(BatchQueueModel, finds_headers_that_thieves_never_return) {
  EXPECT_TRUE(is_caught<WithoutReturned>(random_search(50'000), kWrongResult));
}
TEST(BatchQueueModel, finds_headers_that_are_used_again_too_early) {
  EXPECT_TRUE(is_caught<WithEarlyRecycling>(random_search(50'000), kWrongResult));
}
TEST(BatchQueueModel, finds_headers_that_are_returned_without_release) {
  EXPECT_TRUE(is_caught<Crowd<WithoutRelease>>(random_search(50'000), kWrongResult));
}
TEST(BatchQueueModel, finds_returned_headers_that_are_used_without_acquire) {
  EXPECT_TRUE(is_caught<Crowd<WithoutAcquire>>(random_search(50'000), kWrongResult));
}

}  // namespace
}  // namespace weft::model
