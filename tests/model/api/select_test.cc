// SPDX-License-Identifier: MIT
// api/select.cc as it ships: whatever competes (channels, other selects, a close, a time limit), one wins, and the losers' values
// stay where they were.
//
// mutant: queues_without_looking in api/select.cc, caught by two_selects_that_face_each_other_meet
//   -       if (WEFT_LIKELY(locked && !channel->is_timer() && !channel->looks_ready(one->is_send))) {
//   +       if (WEFT_LIKELY(locked && !channel->is_timer())) {
// mutant: looks_and_queues_at_two_moments in api/select.cc, caught by both_values_arrive_once_on_a_thread
//   -     const std::int64_t wake_at = when_to_wake();
//   +     locks.unlock(), locks.lock(); const std::int64_t wake_at = when_to_wake();
// mutant: waits_for_the_old_time_of_a_timer in api/select.cc, caught by a_timer_set_while_a_thread_queues_is_not_missed
//   -     const std::int64_t wake_at = when_to_wake();
//   +     locks.unlock(); const std::int64_t wake_at = when_to_wake(); locks.lock();
// mutant: stays_on_the_lists_it_lost in api/select.cc, caught by both_values_arrive_once
//   -         MayHaveTimers ? one->channel->leave_any(one->is_send, *waiter) : one->channel->leave(one->is_send, *waiter);
//   +         static_cast<void>(winner);
// mutant: arms_no_timer in api/select.cc, caught by a_timer_set_while_a_select_queues_is_not_missed
//   -     arm_timers();
//   +
// mutant: can_be_chosen_twice in api/select.cc, caught by losers_keep_their_values
//   -     waiter.choice = &choice;
//   +     static_cast<void>(choice);
// mutant: looks_at_one_channel_after_the_other in api/select.cc, caught by a_default_is_true_of_one_moment
//   -       const std::size_t chosen = deadline_ns_ == 0 ? decide_at_one_moment() : wait_for_one();
//   +       const std::size_t chosen = deadline_ns_ == 0 ? no_case : wait_for_one();
// mutant: looks_without_the_locks in api/select.cc, caught by a_default_is_true_of_one_moment
//   -     locks.lock();
//   -     const bool ready = is_any_ready();
//   -     locks.unlock();
//   +     const bool ready = is_any_ready();
// mutant: forgets_strays in api/chan_core.cc, caught by a_channel_stays_until_the_select_has_left_it
//   -   const bool unused = is_unused();
//   +   const bool unused = receivers_.empty() && senders_.empty();
// mutant: closes_without_waking_receivers in api/chan_core.cc, caught by a_close_wakes_a_select
//   -   while (Waiter* waiter = pop(receivers_)) released.push(*waiter);
//   +
#include "api/chan_core.h"

#include "model/api/item.h"
#include "model/api/world.h"

namespace weft::model {
namespace {

using detail::chan_outcome;
using detail::no_case;
using detail::select_case;
using os::kForever;

constexpr std::int64_t kSoon = 1'000'000;

template <int Threads, std::size_t Capacity = 0, bool HasClock = false>
struct OnTwoChannels : ApiSimulation<Threads, HasClock> {
  detail::chan_core *a = nullptr, *b = nullptr;
  Received received;

  void prepare() override {
    a = detail::make_chan(Capacity, Item::kOps);
    b = detail::make_chan(Capacity, Item::kOps);
  }
  void after() override {
    detail::release_chan(a);
    detail::release_chan(b);
    RL_ASSERT(Item::alive == 0);
  }

  static chan_outcome send(detail::chan_core* channel, unsigned value, std::int64_t deadline_ns = kForever) {
    Item item(value);
    const chan_outcome outcome = channel->send(&item, deadline_ns);
    RL_ASSERT(item.value() == (outcome == chan_outcome::done ? 0 : value));
    return outcome;
  }
  chan_outcome receive(detail::chan_core* channel, std::int64_t deadline_ns = kForever) {
    Room room;
    const chan_outcome outcome = channel->receive(&room, deadline_ns);
    if (outcome == chan_outcome::done) received.note(room.take());
    return outcome;
  }
  // The case that ran; what it received is noted, `closed` set when the channel was.
  std::size_t select_receive(std::int64_t deadline_ns = kForever, bool* closed = nullptr) {
    Room rooms[2];
    select_case cases[] = {{a, &rooms[0], false, false}, {b, &rooms[1], false, false}};
    const std::size_t chosen = detail::select_among(cases, 2, deadline_ns);
    if (chosen == no_case) return chosen;
    if (cases[chosen].received) received.note(rooms[chosen].take());
    if (closed != nullptr) *closed = !cases[chosen].received;
    return chosen;
  }
  // Offers 1 on a and 2 on b.
  std::size_t select_send(std::int64_t deadline_ns = kForever) {
    Item one(1), two(2);
    select_case cases[] = {{a, &one, true, false}, {b, &two, true, false}};
    const std::size_t chosen = detail::select_among(cases, 2, deadline_ns);
    RL_ASSERT(one.value() == (chosen == 0 ? 0 : 1));  // the loser's value stays with its caller
    RL_ASSERT(two.value() == (chosen == 1 ? 0 : 2));
    return chosen;
  }
};

// Two senders that know nothing of each other, on two channels.
template <std::size_t Capacity, bool AsThread>
struct TwoSenders : OnTwoChannels<3, Capacity> {
  void prepare() override {
    OnTwoChannels<3, Capacity>::prepare();
    this->world.is_thread[2] = AsThread;
  }
  void act(unsigned id) override {
    if (id == 0) {
      RL_ASSERT(this->send(this->a, 1) == chan_outcome::done);
    } else if (id == 1) {
      RL_ASSERT(this->send(this->b, 2) == chan_outcome::done);
    } else {
      for (int i = 0; i < 2; ++i) RL_ASSERT(this->select_receive() != no_case);
    }
  }
  void after() override {
    this->received.check_each_once(2);
    OnTwoChannels<3, Capacity>::after();
  }
};

TEST(SelectModel, both_values_arrive_once) { EXPECT_TRUE((judge<TwoSenders<0, false>>(random_search(30'000)))); }
TEST(SelectModel, both_values_arrive_once_from_buffers) {
  EXPECT_TRUE((judge<TwoSenders<1, false>>(random_search(30'000))));
}
TEST(SelectModel, both_values_arrive_once_on_a_thread) {
  EXPECT_TRUE((judge<TwoSenders<0, true>>(random_search(30'000))));
}

// One offers on both, two want one of them each, all with time limits: at most one gets something, and it is what was given.
struct OneGivesToTwo : OnTwoChannels<3, 0, true> {
  std::size_t given = no_case;
  chan_outcome got[2] = {};
  void act(unsigned id) override {
    if (id == 2) {
      given = select_send(kSoon);
    } else {
      got[id] = receive(id == 0 ? a : b, kSoon);
    }
  }
  void after() override {
    for (unsigned i = 0; i < 2; ++i) RL_ASSERT((got[i] == chan_outcome::done) == (given == i));
    RL_ASSERT(received.count() == (given == no_case ? 0 : 1));
    OnTwoChannels::after();
  }
};
// Without a time limit on the giving side, and receivers that are released by a close when they lost.
struct OneGivesToTwoThatStay : OnTwoChannels<3> {
  void act(unsigned id) override {
    if (id == 2) {
      const std::size_t given = select_send();
      RL_ASSERT((given == 0 ? b : a)->close());
    } else {
      static_cast<void>(receive(id == 0 ? a : b));
    }
  }
  void after() override {
    RL_ASSERT(received.count() == 1);
    OnTwoChannels::after();
  }
};

TEST(SelectModel, losers_keep_their_values) { EXPECT_TRUE(judge<OneGivesToTwoThatStay>(random_search(30'000))); }
TEST(SelectModel, losers_keep_their_values_when_time_limits_compete) {
  EXPECT_TRUE(judge<OneGivesToTwo>(random_search(30'000)));
}

// Each would give on one channel or take from the other: they must agree on one of the two.
struct FaceToFace : OnTwoChannels<2> {
  std::size_t chosen[2] = {no_case, no_case};
  void act(unsigned id) override {
    Item item(id + 1);
    Room room;
    detail::chan_core *mine = id == 0 ? a : b, *other = id == 0 ? b : a;
    select_case cases[] = {{mine, &item, true, false}, {other, &room, false, false}};
    chosen[id] = detail::select_among(cases, 2, kForever);
    RL_ASSERT(item.value() == (chosen[id] == 0 ? 0 : id + 1));
    if (chosen[id] == 1) RL_ASSERT(room.take() == 2 - id);
  }
  void after() override {
    RL_ASSERT(chosen[0] + chosen[1] == 1);
    OnTwoChannels::after();
  }
};

TEST(SelectModel, two_selects_that_face_each_other_meet) { EXPECT_TRUE(judge<FaceToFace>(random_search(30'000))); }

// Both directions of one channel in each select.
struct BothDirections : OnTwoChannels<2> {
  std::size_t chosen[2] = {no_case, no_case};
  void act(unsigned id) override {
    Item item(id + 1);
    Room room;
    select_case cases[] = {{a, &item, true, false}, {a, &room, false, false}};
    chosen[id] = detail::select_among(cases, 2, kForever);
    if (chosen[id] == 1) RL_ASSERT(room.take() == 2 - id);
  }
  void after() override {
    RL_ASSERT(chosen[0] + chosen[1] == 1);
    OnTwoChannels::after();
  }
};

TEST(SelectModel, a_select_never_meets_itself) { EXPECT_TRUE(judge<BothDirections>(random_search(30'000))); }

// A close and a send compete for a select that waits.
struct CloseAndSend : OnTwoChannels<3> {
  void act(unsigned id) override {
    if (id == 0) {
      RL_ASSERT(a->close());
    } else if (id == 1) {
      RL_ASSERT(send(b, 2) == chan_outcome::done);
    } else {
      bool closed = false;
      const std::size_t first = select_receive(kForever, &closed);
      RL_ASSERT(first == (closed ? 0u : 1u));
      if (first == 0) RL_ASSERT(receive(b) == chan_outcome::done);
    }
  }
  void after() override {
    RL_ASSERT(received.count() == 1);
    OnTwoChannels::after();
  }
};
// Nobody but the close.
struct CloseOnly : OnTwoChannels<2> {
  void act(unsigned id) override {
    bool closed = false;
    if (id == 0) {
      RL_ASSERT(b->close());
    } else {
      RL_ASSERT(select_receive(kForever, &closed) == 1 && closed);
    }
  }
};

TEST(SelectModel, a_close_wakes_a_select) { EXPECT_TRUE(judge<CloseOnly>(random_search(30'000))); }
TEST(SelectModel, a_close_and_a_send_compete) { EXPECT_TRUE(judge<CloseAndSend>(random_search(30'000))); }

// A stopped timer is set while a select looks at its channel and queues there.
template <bool AsThread>
struct TimerSetMeanwhile : OnTwoChannels<2, 0, true> {
  detail::chan_core* timer = nullptr;
  void prepare() override {
    OnTwoChannels::prepare();
    world.is_thread[1] = AsThread;
    timer = detail::make_timer_chan(kForever, 0);
  }
  void act(unsigned id) override {
    if (id == 0) {
      static_cast<void>(detail::set_timer_chan(timer, kSoon, 0));
    } else {
      std::int64_t when = 0;
      Room room;
      select_case cases[] = {{a, &room, false, false}, {timer, &when, false, false}};
      RL_ASSERT(detail::select_among(cases, 2, kForever) == 1);
      RL_ASSERT(cases[1].received && when == kSoon);
    }
  }
  void after() override {
    detail::release_chan(timer);
    OnTwoChannels::after();
  }
};

TEST(SelectModel, a_timer_set_while_a_select_queues_is_not_missed) {
  EXPECT_TRUE(judge<TimerSetMeanwhile<false>>(random_search(30'000)));
}
TEST(SelectModel, a_timer_set_while_a_thread_queues_is_not_missed) {
  EXPECT_TRUE(judge<TimerSetMeanwhile<true>>(random_search(30'000)));
}

// Who has sent on b knows that the select has begun, and lets go of a, on which the select may still be queued.
struct GoesMeanwhile : OnTwoChannels<2> {
  void act(unsigned id) override {
    if (id == 0) {
      RL_ASSERT(send(b, 1) == chan_outcome::done);
      RL_ASSERT(send(a, 2, 0) == chan_outcome::would_block);  // drops the waiter it finds there
      detail::release_chan(a);
    } else {
      RL_ASSERT(select_receive() == 1);
    }
  }
  void after() override {
    detail::release_chan(b);
    RL_ASSERT(received.count() == 1);
  }
};

TEST(SelectModel, a_channel_stays_until_the_select_has_left_it) {
  EXPECT_TRUE(judge<GoesMeanwhile>(random_search(30'000)));
}

// There is a value in a or in b at any time: a look that finds neither was no look at one moment.
struct AlwaysOneReady : OnTwoChannels<2, 1> {
  void prepare() override {
    OnTwoChannels::prepare();
    RL_ASSERT(send(a, 1) == chan_outcome::done);
  }
  void act(unsigned id) override {
    if (id == 0) {
      RL_ASSERT(send(b, 2) == chan_outcome::done);
      static_cast<void>(receive(a, 0));
      RL_ASSERT(send(a, 3) == chan_outcome::done);
      static_cast<void>(receive(b, 0));
    } else {
      Room rooms[2];
      select_case cases[] = {{b, &rooms[0], false, false}, {a, &rooms[1], false, false}};
      const std::size_t chosen = detail::select_among(cases, 2, 0);
      RL_ASSERT(chosen != no_case);
      rooms[chosen].take();
    }
  }
};

TEST(SelectModel, a_default_is_true_of_one_moment) { EXPECT_TRUE(judge<AlwaysOneReady>(random_search(30'000))); }

TEST(SelectModel, finds_a_choice_that_two_can_make) {
  EXPECT_TRUE((is_caught_with<TwoSenders<0, false>>({"::set_shared", Fault::kSplit}, random_search(30'000))));
}
TEST(SelectModel, finds_locks_without_order) {
  EXPECT_TRUE((is_caught_with<TwoSenders<1, false>>({"spin_lock.h", Fault::kUnordered}, random_search(30'000))));
}

}  // namespace
}  // namespace weft::model
