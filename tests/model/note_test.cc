// SPDX-License-Identifier: MIT
// os/note.h under relacy: a signal is never lost, and what was written before it is seen after it.
#include "model/model_note.h"

#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

constexpr std::int64_t kSoon = 1;

// As machines use it: gifts are written before the bell is rung, the sleeper looks at all of them after each ring.
struct TwoGivers : Simulation<3> {
  os_model::Note note;
  RelacyAtom<unsigned> gift[2];
  rl::var<unsigned> contents[2];

  void thread(unsigned id) override {
    if (id < 2) {
      contents[id](RL_INFO) = id + 1;
      gift[id].store_release(1);
      note.signal();
      return;
    }
    unsigned seen = 0;
    for (;;) {
      for (unsigned i = 0; i < 2; ++i)
        if ((seen & (1u << i)) == 0 && gift[i].load_acquire() != 0) {
          RL_ASSERT(contents[i](RL_INFO).load() == i + 1);
          seen |= 1u << i;
        }
      if (seen == 3) return;
      RL_ASSERT(note.wait());
    }
  }
};

// The signal alone orders what comes before it and after the wait.
struct SignalOrders : Simulation<2> {
  os_model::Note note;
  rl::var<unsigned> contents;

  void thread(unsigned id) override {
    if (id == 0) {
      contents(RL_INFO) = 1;
      note.signal();
    } else {
      if (!note.wait(kSoon)) note.wait();
      RL_ASSERT(contents(RL_INFO).load() == 1);
    }
  }
};

// A wait that timed out leaves the signal for the next one; one that was signalled consumes it.
struct TimeLimit : Simulation<2> {
  os_model::Note note;
  bool signalled = false;

  void thread(unsigned id) override {
    if (id == 0) {
      signalled = true;  // no switch between this and the exchange in signal(): the truth about it
      note.signal();
      return;
    }
    bool got = false;
    for (int tries = 0; tries < 2 && !got; ++tries) got = note.wait(kSoon);
    if (!got) got = note.wait();
    RL_ASSERT(got && signalled);
    RL_ASSERT(!note.wait(kSoon));
  }
};

// As the M that blocks in the netpoller: who signals it rings a bell that ends that call. The bell may ring late, and for nothing.
struct Elsewhere : Simulation<2> {
  os_model::Note note;
  RelacyAtom<unsigned> bell;
  RelacyAtom<unsigned> gift;

  void thread(unsigned id) override {
    if (id == 0) {
      gift.store_release(1);
      if (note.signal()) bell.store_release(1);
      return;
    }
    while (gift.load_acquire() == 0) {
      if (!note.begin_elsewhere()) continue;
      while (bell.load_acquire() == 0 && rl::rand(4) != 0) rl::yield(1, RL_INFO);  // an event of the kernel's may end it too
      const bool rung = bell.load_acquire() != 0;
      const bool signalled = note.end_elsewhere();
      RL_ASSERT(!rung || signalled);
      if (signalled) RL_ASSERT(gift.load_acquire() == 1);
    }
  }
};

class NoteModel : public testing::Test {
 protected:
  ~NoteModel() override { os_model::defects = {}; }
};

TEST_F(NoteModel, loses_no_signal_of_two_givers) {
  EXPECT_TRUE(holds<TwoGivers>(random_search(200'000)));
  EXPECT_TRUE(holds<TwoGivers>(bounded_search(3)));
}
TEST_F(NoteModel, orders_what_was_written_before_the_signal) {
  EXPECT_TRUE(holds<SignalOrders>(random_search(100'000)));
  EXPECT_TRUE(holds<SignalOrders>(bounded_search(4)));
}
TEST_F(NoteModel, reaches_a_sleeper_that_blocks_elsewhere) {
  EXPECT_TRUE(holds<Elsewhere>(random_search(100'000)));
}
TEST_F(NoteModel, keeps_a_signal_that_comes_as_the_time_is_up) {
  EXPECT_TRUE(holds<TimeLimit>(random_search(100'000)));
}

TEST_F(NoteModel, finds_a_sleeper_that_does_not_look_before_it_sleeps) {
  os_model::defects.sleeps_without_looking = true;
  EXPECT_TRUE(is_caught<TwoGivers>(random_search(20'000), {rl::test_result_deadlock}));
}
// A second signal may come between seeing the first and emptying the note. A plain store empties it just as well, but the
// sleeper may then look at what was given before that store has taken its place behind the second signal: it sees nothing,
// and sleeps through.
TEST_F(NoteModel, finds_a_sleeper_that_consumes_without_an_exchange) {
  os_model::defects.consumes_with_a_store = true;
  EXPECT_TRUE(is_caught<TwoGivers>(random_search(100'000), {rl::test_result_deadlock}));
}

}  // namespace
}  // namespace weft::model
