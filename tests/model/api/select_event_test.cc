// SPDX-License-Identifier: MIT
// Tasks and futures in api/select.cc, with api/task_core.cc and api/countdown.cc, as they ship: whatever competes, one case wins, the others
// are there afterwards, and nobody touches the frame of a select that has returned.
//
// mutant: parks_for_what_has_happened in api/select.cc, caught by a_task_and_a_future_compete
//   -     if (HasEvents && !enlist_all(waiters) && wait.choice().fire(nullptr)) {  // one is there, and nobody wakes us now
//   +     if (HasEvents && !enlist_all(waiters) && false) {
// mutant: goes_on_although_it_is_woken in api/select.cc, caught by a_task_and_a_channel_compete
//   -     if (HasEvents && !enlist_all(waiters) && wait.choice().fire(nullptr)) {  // one is there, and nobody wakes us now
//   +     if (HasEvents && !enlist_all(waiters)) {
// mutant: stays_with_the_events_it_lost in api/select.cc, caught by a_task_and_a_future_compete
//   -     if (HasEvents) withdraw_from_events(waiters, winner);
//   +
// mutant: looks_at_events_before_the_locks in api/select.cc, caught by a_default_is_true_of_one_moment
//   -       if (is_event(cases_[i]) && has_happened(cases_[i])) return true;
//   +
// mutant: does_not_wait_for_the_last_access in api/task_core.cc, caught by a_task_and_a_channel_compete
//   -   while (!joiner.released.load_acquire()) sched_yield();                                // pairs: task.released
//   +
// mutant: withdraws_a_joiner_that_is_not_there in api/task_core.cc, caught by a_task_stands_in_two_cases
//   -   if (!joiner.queued) return done();
//   +
// mutant: replaces_its_other_joiner in api/task_core.cc, caught by a_task_stands_in_two_cases
//   -   joiner.queued = word_.compare_exchange_strong(expected, mine, std::memory_order_acq_rel);  // pairs: task.word
//   +   joiner.queued = (expected = word_.exchange(mine, std::memory_order_acq_rel)) != kDone;
// mutant: queues_without_saying_so in api/countdown.cc, caught by a_task_and_a_future_compete
//   -   const bool waits = note_waiting();
//   +   const bool waits = !is_zero();
// mutant: looks_before_it_locks in api/countdown.cc, caught by a_task_and_a_future_compete
//   -   queue.lock.lock();
//   -   const bool waits = note_waiting();
//   +   const bool waits = note_waiting();
//   +   queue.lock.lock();
// mutant: withdraws_nothing in api/countdown.cc, caught by two_futures_and_a_time_limit_compete
//   -   queue.list.remove(waiter);
//   +
#include "api/chan_core.h"
#include "weft/detail/countdown.h"
#include "weft/detail/task_core.h"

#include "model/api/item.h"
#include "model/api/world.h"

namespace weft::detail {
void free_block(void*) noexcept {}
}  // namespace weft::detail

namespace weft::model {
namespace {

using detail::case_source;
using detail::chan_outcome;
using detail::no_case;
using detail::select_case;
using os::kForever;

constexpr std::int64_t kSoon = 1'000'000;

struct State : detail::task_core {
  rl::var<unsigned> result{0};
};
struct Later {
  detail::countdown pending{1};
  rl::var<unsigned> result{0};
};

select_case end_of(State* state) {
  return {nullptr, static_cast<detail::task_core*>(state), false, false, case_source::task};
}
select_case ready(Later* later) { return {nullptr, &later->pending, false, false, case_source::future}; }

// The select is always the last thread's.
template <int Threads, bool HasClock = false>
struct WithEvents : ApiSimulation<Threads, HasClock> {
  State* state = nullptr;
  Later* later = nullptr;
  Later* another = nullptr;
  detail::chan_core* channel = nullptr;

  void prepare() override {
    state = new State;
    later = new Later;
    another = new Later;
    channel = detail::make_chan(0, Item::kOps);
  }
  void after() override {
    delete state;
    delete later;
    delete another;
    detail::release_chan(channel);
    RL_ASSERT(Item::alive == 0);
  }
  void finish() {
    state->result(RL_INFO) = 7;
    RL_ASSERT(!state->finish());
  }
  static void set(Later* one) {
    one->result(RL_INFO) = 8;
    RL_ASSERT(one->pending.subtract(1));
  }
  void join() {
    state->wait();
    RL_ASSERT(state->result(RL_INFO).load() == 7);
  }
  // As the owner of a future or task does, who has got its result.
  static void drop(Later*& one) {
    RL_ASSERT(one->result(RL_INFO).load() == 8);
    delete std::exchange(one, nullptr);
  }
  void drop_state() {
    RL_ASSERT(state->result(RL_INFO).load() == 7);
    delete std::exchange(state, nullptr);
  }
};

template <bool AsThread>
struct TaskAndChannel : WithEvents<3> {
  void prepare() override {
    WithEvents::prepare();
    world.is_thread[2] = AsThread;
  }
  void act(unsigned id) override {
    if (id == 0) return finish();
    if (id == 1) {
      Item item(1);
      RL_ASSERT(channel->send(&item, kForever) == chan_outcome::done);
      return;
    }
    Room room;
    select_case cases[] = {{channel, &room, false, false}, end_of(state)};
    if (detail::select_among_all(cases, 2, kForever) == 0) {
      RL_ASSERT(cases[0].received && room.take() == 1);
      join();
    } else {
      drop_state();
      RL_ASSERT(channel->receive(&room, kForever) == chan_outcome::done && room.take() == 1);
    }
  }
};

// The winner goes away at once, the loser after the second select.
template <bool AsThread>
struct TaskAndFuture : WithEvents<3> {
  void prepare() override {
    WithEvents::prepare();
    world.is_thread[2] = AsThread;
  }
  void act(unsigned id) override {
    if (id == 0) return finish();
    if (id == 1) return set(later);
    select_case cases[] = {end_of(state), ready(later)};
    if (detail::select_among_all(cases, 2, kForever) == 0) {
      drop_state();
      select_case rest = ready(later);
      RL_ASSERT(detail::select_among_all(&rest, 1, kForever) == 0);
      drop(later);
    } else {
      drop(later);
      select_case rest = end_of(state);
      RL_ASSERT(detail::select_among_all(&rest, 1, kForever) == 0);
      drop_state();
    }
  }
};

struct TwoFuturesAndTime : WithEvents<3, true> {
  void act(unsigned id) override {
    if (id == 0) return set(later);
    if (id == 1) return set(another);
    select_case cases[] = {ready(later), ready(another)};
    for (std::int64_t limit : {kSoon, kForever}) {
      const std::size_t chosen = detail::select_among_all(cases, 2, limit);
      if (chosen == no_case) continue;
      drop(chosen == 0 ? later : another);
      cases[chosen] = {nullptr, nullptr, false, false};
    }
    for (Later** one : {&later, &another})
      if (*one != nullptr) {
        RL_ASSERT((*one)->pending.wait(sched::WaitReason::kFuture, this, kForever));
        drop(*one);
      }
  }
};

struct TaskAndTime : WithEvents<2, true> {
  void act(unsigned id) override {
    if (id == 0) return finish();
    select_case cases[] = {end_of(state), ready(later)};
    if (detail::select_among_all(cases, 2, kSoon) == no_case) join();
    drop_state();
  }
};

struct InTwoCases : WithEvents<3> {
  void act(unsigned id) override {
    if (id == 0) return finish();
    if (id == 1) return set(later);
    select_case cases[] = {end_of(state), ready(later), end_of(state), ready(later)};
    const std::size_t chosen = detail::select_among_all(cases, 4, kForever);
    if (chosen % 2 == 0) {
      drop_state();
      RL_ASSERT(later->pending.wait(sched::WaitReason::kFuture, this, kForever));
      drop(later);
    } else {
      drop(later);
      join();
    }
  }
};

// The task has ended, or there is a value in the channel, at any time.
struct AlwaysOneReady : WithEvents<2> {
  void prepare() override {
    WithEvents::prepare();
    detail::release_chan(channel);
    channel = detail::make_chan(1, Item::kOps);
    Item item(1);
    RL_ASSERT(channel->send(&item, kForever) == chan_outcome::done);
  }
  void act(unsigned id) override {
    Room room;
    if (id == 0) {
      finish();
      if (channel->receive(&room, 0) == chan_outcome::done) room.take();
      return;
    }
    select_case cases[] = {end_of(state), {channel, &room, false, false}};
    const std::size_t chosen = detail::select_among_all(cases, 2, 0);
    RL_ASSERT(chosen != no_case);
    if (chosen == 1) room.take();
  }
};

TEST(SelectEventModel, a_task_and_a_channel_compete) {
  EXPECT_TRUE(judge<TaskAndChannel<false>>(random_search(30'000)));
}
TEST(SelectEventModel, a_task_and_a_channel_compete_on_a_thread) {
  EXPECT_TRUE(judge<TaskAndChannel<true>>(random_search(30'000)));
}
TEST(SelectEventModel, a_task_and_a_future_compete) { EXPECT_TRUE(judge<TaskAndFuture<false>>(random_search(30'000))); }
TEST(SelectEventModel, a_task_and_a_future_compete_on_a_thread) {
  EXPECT_TRUE(judge<TaskAndFuture<true>>(random_search(30'000)));
}
TEST(SelectEventModel, two_futures_and_a_time_limit_compete) {
  EXPECT_TRUE(judge<TwoFuturesAndTime>(random_search(30'000)));
}
TEST(SelectEventModel, a_task_and_a_time_limit_compete) { EXPECT_TRUE(judge<TaskAndTime>(random_search(30'000))); }
TEST(SelectEventModel, a_task_stands_in_two_cases) { EXPECT_TRUE(judge<InTwoCases>(random_search(30'000))); }
TEST(SelectEventModel, a_default_is_true_of_one_moment) { EXPECT_TRUE(judge<AlwaysOneReady>(random_search(30'000))); }

TEST(SelectEventModel, finds_an_end_without_order) {
  EXPECT_TRUE(is_caught_with<TaskAndTime>({"task_core::finish", Fault::kUnordered}, random_search(30'000)));
}

}  // namespace
}  // namespace weft::model
