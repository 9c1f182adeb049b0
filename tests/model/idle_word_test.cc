// SPDX-License-Identifier: MIT
// idle_word.h under relacy: Ps are handed out once, spinners are counted, the last one stays while another P is busy.
#include "sched/queue/idle_word.h"

#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

using sched::IdleView;

// A CAS that overlooks the version: what the version is there for.
struct WithoutVersion : Faithful {
  static constexpr std::uint64_t kIgnored = ~(IdleView::kOneVersion - 1);
};

template <class Mutation, std::uint32_t Processors>
struct Word {
  sched::IdleWord<RelacyAtomics<Mutation>, Processors> word;
  rl::var<unsigned> inside[Processors];  // a P's unsynchronised fields
  bool held[Processors] = {};            // the simulation's own knowledge

  void hold(std::int32_t index) {
    RL_ASSERT(index >= 0 && index < static_cast<std::int32_t>(Processors));
    RL_ASSERT(!held[index]);
    held[index] = true;
    inside[index](RL_INFO) = 1;
  }
  void let_go(std::int32_t index) {
    inside[index](RL_INFO) = 0;
    held[index] = false;
  }
  unsigned count_idle() {
    unsigned count = 0;
    for (std::int32_t index; (index = word.pop()) >= 0; ++count) hold(index);
    return count;
  }
};

// Everybody takes and gives: the stack under ABA.
template <class Mutation>
struct TakeAndGive : Simulation<3>, Word<Mutation, 3> {
  void before() override {
    for (std::uint32_t i = 0; i < 3; ++i) RL_ASSERT(this->word.push(i, false, 3));
  }
  void thread(unsigned) override {
    for (int round = 0; round < 2; ++round) {
      const std::int32_t first = this->word.pop();
      if (first < 0) continue;
      this->hold(first);
      const std::int32_t second = round == 0 ? this->word.pop() : -1;
      if (second >= 0) this->hold(second);
      this->let_go(first);
      RL_ASSERT(this->word.push(static_cast<std::uint32_t>(first), false, 3));
      if (second < 0) continue;
      this->let_go(second);
      RL_ASSERT(this->word.push(static_cast<std::uint32_t>(second), false, 3));
    }
  }
  void after() override {
    RL_ASSERT(this->word.look().idle() == 3 && this->word.look().spinning() == 0);
    RL_ASSERT(this->count_idle() == 3);
    RL_ASSERT(this->word.look().idle() == 0 && this->word.look().head() == -1);
  }
};

// Two spinners with a P each, and a third P that is busy for a while: the last spinner may leave only after that.
template <class Mutation, bool Refuses>
struct LastSpinner : Simulation<3>, Word<Mutation, 3> {
  static constexpr std::uint32_t kMaxprocs = 3;

  void before() override {
    for (std::int32_t i = 0; i < 3; ++i) this->hold(i);
    for (std::uint32_t i = 0; i < 2; ++i) RL_ASSERT(this->word.push(i, false, kMaxprocs));
    for (std::uint32_t i = 0; i < 2; ++i) RL_ASSERT(this->word.pop_spinning() >= 0);
  }
  void thread(unsigned id) override {
    if (id == 2) {
      this->let_go(2);
      RL_ASSERT(this->word.push(2, false, kMaxprocs));
      return;
    }
    this->let_go(static_cast<std::int32_t>(id));
    while (!this->word.push(id, true, Refuses ? kMaxprocs : 0)) rl::yield(1, RL_INFO);
  }
  void invariant() override {
    const IdleView view = this->word.look();
    RL_ASSERT(view.spinning() <= kMaxprocs);                                         // W1
    RL_ASSERT(view.spinning() > 0 || view.idle() == 0 || view.idle() == kMaxprocs);  // W2
  }
  void after() override { RL_ASSERT(this->word.look().idle() == 3 && this->count_idle() == 3); }
};

// Who finds work wakes one more, and only one: pop_for_new_spinner() under contention.
template <class Mutation>
struct OneNewSpinner : Simulation<3>, Word<Mutation, 3> {
  unsigned won = 0;

  void before() override {
    for (std::uint32_t i = 0; i < 2; ++i) RL_ASSERT(this->word.push(i, false, 3));
  }
  void thread(unsigned) override {
    const std::int32_t index = this->word.pop_for_new_spinner();
    if (index < 0) return;
    this->hold(index);
    ++won;
  }
  void after() override {
    RL_ASSERT(won == 1);
    RL_ASSERT(this->word.look().idle() == 1 && this->word.look().spinning() == 1);
    const IdleView before = this->word.stop_spinning();
    RL_ASSERT(before.spinning() == 1 && before.idle() == 1);
    RL_ASSERT(this->word.look().spinning() == 0);
  }
};

// Spinning starts and stops; never more than half of the busy Ps.
template <class Mutation>
struct SpinnersCounted : Simulation<4>, Word<Mutation, 4> {
  void before() override { RL_ASSERT(this->word.push(3, false, 4)); }  // three busy
  void thread(unsigned) override {
    for (int round = 0; round < 2; ++round)
      if (this->word.try_start_spinning(4)) this->word.stop_spinning();
  }
  void invariant() override { RL_ASSERT(this->word.look().spinning() <= 2); }
  void after() override {
    RL_ASSERT(this->word.look().spinning() == 0 && this->word.look().idle() == 1);
    RL_ASSERT(!this->word.try_start_spinning(1));  // with one P there is nobody to steal from
  }
};

// The passive spinner's sleep ends once: one of those who want to wake it does, or it wakes by itself.
template <class Mutation>
struct PassiveWokenOnce : Simulation<3>, Word<Mutation, 2> {
  unsigned woken = 0;

  void before() override {
    RL_ASSERT(this->word.try_start_spinning(2));
    RL_ASSERT(!this->word.set_passive(true).passive());
    RL_ASSERT(this->word.look().passive() && this->word.look().suppressed());
  }
  void thread(unsigned id) override {
    if (id == 0) this->word.lift_suppression();
    if (this->word.clear_passive()) ++woken;
  }
  void after() override {
    RL_ASSERT(woken == 1);
    RL_ASSERT(!this->word.look().passive() && !this->word.look().suppressed() && this->word.look().spinning() == 1);
  }
};

TEST(IdleWordModel, gives_each_processor_to_one_taker) {
  EXPECT_TRUE(holds<TakeAndGive<Faithful>>(random_search(200'000)));
  EXPECT_TRUE(holds<TakeAndGive<Faithful>>(bounded_search(2)));
}
TEST(IdleWordModel, keeps_the_last_spinner_while_another_processor_is_busy) {
  EXPECT_TRUE((holds<LastSpinner<Faithful, true>>(random_search(100'000))));
  EXPECT_TRUE((holds<LastSpinner<Faithful, true>>(bounded_search(2))));
}
TEST(IdleWordModel, makes_one_new_spinner_at_a_time) { EXPECT_TRUE(holds<OneNewSpinner<Faithful>>(full_search())); }
TEST(IdleWordModel, counts_spinners_and_bounds_them) {
  EXPECT_TRUE(holds<SpinnersCounted<Faithful>>(random_search(100'000)));
}
TEST(IdleWordModel, wakes_the_passive_spinner_once) { EXPECT_TRUE(holds<PassiveWokenOnce<Faithful>>(full_search())); }

TEST(IdleWordModel, finds_the_stack_broken_without_the_version) {
  EXPECT_TRUE(is_caught<TakeAndGive<WithoutVersion>>(random_search(100'000), kWrongResult));
}
TEST(IdleWordModel, finds_a_link_read_before_it_was_published) {
  EXPECT_TRUE(is_caught<TakeAndGive<WithoutOrderedCas>>(random_search(100'000), kWrongResult));
}
TEST(IdleWordModel, finds_a_last_spinner_that_is_not_refused) {
  EXPECT_TRUE(
      (is_caught<LastSpinner<Faithful, false>>(random_search(20'000), {rl::test_result_user_invariant_failed})));
}
TEST(IdleWordModel, finds_two_spinners_made_at_once_without_compare_and_swap) {
  EXPECT_TRUE(is_caught<OneNewSpinner<WithoutAtomicCas>>(random_search(20'000), kWrongResult));
}

}  // namespace
}  // namespace weft::model
