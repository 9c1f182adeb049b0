// SPDX-License-Identifier: MIT
// api/task_core.cc as it ships: word 0 / waiter / done / abandoned. Exactly one side destroys the shared state, and only after the
// other one's last access.
//
// mutant: registers_without_looking in api/task_core.cc, caught by a_joiner_sees_the_result
//   -   if (word_.compare_exchange_strong(nobody, reinterpret_cast<std::uintptr_t>(g),
//   -                                     std::memory_order_acq_rel)) {  // pairs: task.word
//   +   if (word_.store(reinterpret_cast<std::uintptr_t>(g), std::memory_order_release), nobody == 0) {
// mutant: wakes_who_gave_up in api/task_core.cc, caught by a_time_limit_and_the_end_compete
//   -   if (waiter->choice == nullptr || waiter->choice->fire(waiter)) {
//   +   if (waiter->choice == nullptr || waiter->choice->fire(waiter) || true) {
// mutant: leaves_before_it_is_released in api/task_core.cc, caught by a_time_limit_and_the_end_compete
//   -   while (!joiner.released.load_acquire()) sched_yield();                                // pairs: task.released
//   +
// mutant: finishes_without_taking_over in api/task_core.cc, caught by one_side_destroys_the_state
//   -   if (before == kAbandoned) {
//   -     order_acquire(&word_);
//   -     return true;
//   +   if (before == kAbandoned) {
//   +     order_acquire(&word_);
//   +     return false;
#include "weft/detail/task_core.h"

#include "model/api/world.h"

namespace weft::detail {
void free_block(void*) noexcept {}
}  // namespace weft::detail

namespace weft::model {
namespace {

constexpr std::int64_t kSoon = 1'000'000;

// Thread 0 is the goroutine, thread 1 has the task. The state is destroyed by whoever is told to.
template <bool HasClock>
struct Joining : ApiSimulation<2, HasClock> {
  struct State : detail::task_core {
    rl::var<unsigned> result{0};
  };
  State* state = nullptr;
  unsigned destroyed = 0;

  void prepare() override { state = new State; }
  void destroy() {
    RL_ASSERT(destroyed++ == 0);
    delete state;
  }
  void finish() {
    state->result(RL_INFO) = 7;
    if (state->finish()) destroy();
  }
  void take() { RL_ASSERT(state->result(RL_INFO).load() == 7); }
  void after() override { RL_ASSERT(destroyed == 1); }
};

template <bool AsThread>
struct Join : Joining<false> {
  void prepare() override {
    Joining::prepare();
    world.is_thread[1] = AsThread;
  }
  void act(unsigned id) override {
    if (id == 0) {
      finish();
      return;
    }
    state->wait();
    take();
    if (state->abandon()) destroy();
  }
};

struct Detach : Joining<false> {
  void act(unsigned id) override {
    if (id == 0) {
      finish();
    } else if (state->abandon()) {
      take();
      destroy();
    }
  }
};

// Gives up, asks again, then lets go or waits.
template <bool AsThread, bool WaitsInTheEnd>
struct TimeLimit : Joining<true> {
  void prepare() override {
    Joining::prepare();
    world.is_thread[1] = AsThread;
  }
  void act(unsigned id) override {
    if (id == 0) {
      finish();
      return;
    }
    bool is_done = state->wait_until(kSoon);
    if (!is_done && WaitsInTheEnd) {
      state->wait();
      is_done = true;
    }
    if (is_done) take();
    if (state->abandon()) destroy();
  }
};

TEST(JoinModel, a_joiner_sees_the_result) { EXPECT_TRUE(judge<Join<false>>(random_search(30'000))); }
TEST(JoinModel, a_joining_thread_sees_the_result) { EXPECT_TRUE(judge<Join<true>>(random_search(30'000))); }
TEST(JoinModel, one_side_destroys_the_state) { EXPECT_TRUE(judge<Detach>(random_search(30'000))); }
TEST(JoinModel, a_time_limit_and_the_end_compete) {
  EXPECT_TRUE((judge<TimeLimit<false, true>>(random_search(30'000))));
}
TEST(JoinModel, a_time_limit_and_the_end_compete_otherwise) {
  EXPECT_TRUE((judge<TimeLimit<false, false>>(random_search(30'000))));
  EXPECT_TRUE((judge<TimeLimit<true, true>>(random_search(30'000))));
}

TEST(JoinModel, finds_an_end_without_order) {
  EXPECT_TRUE(is_caught_with<Detach>({"task_core::finish", Fault::kUnordered}, random_search(30'000)));
}

}  // namespace
}  // namespace weft::model
