// SPDX-License-Identifier: MIT
// api/chan_core.cc as it ships: hand-off into the waiter's stack, the buffer's ends, close, time limits.
//
// mutant: forgets_to_wake_its_partner in api/chan_core.cc, caught by a_value_passes_from_stack_to_stack
//   -   partner.success = true;
//   -   sched::wake(&partner);
//   +
// mutant: hands_over_after_the_wake_up in api/chan_core.cc, caught by a_value_passes_from_stack_to_stack
//   -   order_.meets(partner);
//   -   {
//   -     [[maybe_unused]] const OfSleeper element(order_);
//   -     move(to, from);
//   -   }
//   -   order_.has_met(partner);
//   -   partner.success = true;
//   -   sched::wake(&partner);
//   +   sched::wake(&partner);
//   +   move(to, from);
//   +   partner.success = true;
// mutant: queues_after_the_lock in api/chan_core.cc, caught by a_value_passes_from_stack_to_stack
//   -   list.push(waiter);
//   -   lock_.unlock();
//   -   sched::park();
//   +   lock_.unlock();
//   +   list.push(waiter);
//   +   sched::park();
// mutant: forgets_the_sender_behind_a_full_buffer in api/chan_core.cc, caught by room_in_the_buffer_releases_a_sender
//   -   while (Waiter* sender = pop(senders_)) {  // C2: there is room for one now
//   +   while (Waiter* sender = nullptr) {
// mutant: closes_without_waking_senders in api/chan_core.cc, caught by a_close_wakes_everybody
//   -   while (Waiter* waiter = pop(senders_)) released.push(*waiter);
//   +
// mutant: wakes_a_second_time_at_the_time_limit in sched/wait/waiter.cc, caught by a_time_limit_and_a_sender_compete
//   -   if (wait->choice_.fire(nullptr)) wait->sleeper().wake();
//   +   wait->choice_.fire(nullptr), wait->sleeper().wake();
// mutant: gives_up_although_chosen in sched/wait/waiter.cc, caught by a_threads_time_limit_and_a_sender_compete
//   -     if (choice_.fire(nullptr)) return false;
//   +     choice_.fire(nullptr);
//   +     return false;
#include "api/chan_core.h"

#include "model/api/item.h"
#include "model/api/world.h"

namespace weft::model {
namespace {

using detail::chan_outcome;
using os::kForever;

constexpr std::int64_t kSoon = 1'000'000;

template <int Threads, std::size_t Capacity, bool HasClock = false>
struct OnChannel : ApiSimulation<Threads, HasClock> {
  detail::chan_core* channel = nullptr;
  Received received;

  void prepare() override { channel = detail::make_chan(Capacity, Item::kOps); }
  void after() override {
    detail::release_chan(channel);
    RL_ASSERT(Item::alive == 0);
  }
  chan_outcome send(unsigned value, std::int64_t deadline_ns = kForever) {
    Item item(value);
    const chan_outcome outcome = channel->send(&item, deadline_ns);
    RL_ASSERT(item.value() == (outcome == chan_outcome::done ? 0 : value));  // only a sent value has left its sender
    return outcome;
  }
  chan_outcome receive(std::int64_t deadline_ns = kForever) {
    Room room;
    const chan_outcome outcome = channel->receive(&room, deadline_ns);
    if (outcome == chan_outcome::done) received.note(room.take());
    return outcome;
  }
};

// Goroutine or plain thread on either side.
template <bool Thread0, bool Thread1>
struct HandOff : OnChannel<2, 0> {
  void prepare() override {
    OnChannel::prepare();
    world.is_thread[0] = Thread0;
    world.is_thread[1] = Thread1;
  }
  void act(unsigned id) override {
    for (unsigned i = 1; i <= 2; ++i) RL_ASSERT((id == 0 ? send(i) : receive()) == chan_outcome::done);
  }
  void after() override {
    received.check_in_order(2);
    OnChannel::after();
  }
};

TEST(ChanModel, a_value_passes_from_stack_to_stack) {
  EXPECT_TRUE((judge<HandOff<false, false>>(random_search(30'000))));
}
TEST(ChanModel, a_value_passes_between_threads_and_goroutines) {
  EXPECT_TRUE((judge<HandOff<true, false>>(random_search(30'000))));
  EXPECT_TRUE((judge<HandOff<false, true>>(random_search(30'000))));
}

// One more than fits: the last send waits until there is room, and the order stays.
struct Buffered : OnChannel<2, 1> {
  void act(unsigned id) override {
    for (unsigned i = 1; i <= 3; ++i) RL_ASSERT((id == 0 ? send(i) : receive()) == chan_outcome::done);
  }
  void after() override {
    received.check_in_order(3);
    OnChannel::after();
  }
};

TEST(ChanModel, a_full_buffer_blocks_and_keeps_the_order) { EXPECT_TRUE(judge<Buffered>(random_search(30'000))); }

// The second send needs the room that the receive makes, and nobody else comes.
struct RoomForOne : OnChannel<2, 1> {
  void act(unsigned id) override {
    if (id == 1) {
      RL_ASSERT(receive() == chan_outcome::done);
      return;
    }
    for (unsigned i = 1; i <= 2; ++i) RL_ASSERT(send(i) == chan_outcome::done);
  }
  void after() override {
    received.check_in_order(1);
    RL_ASSERT(channel->size() == 1);
    OnChannel::after();
  }
};

TEST(ChanModel, room_in_the_buffer_releases_a_sender) { EXPECT_TRUE(judge<RoomForOne>(random_search(30'000))); }

// Two senders, one receiver who takes both.
template <std::size_t Capacity>
struct TwoSenders : OnChannel<3, Capacity> {
  void act(unsigned id) override {
    if (id < 2) {
      RL_ASSERT(this->send(id + 1) == chan_outcome::done);
      return;
    }
    RL_ASSERT(this->receive() == chan_outcome::done);
    RL_ASSERT(this->receive() == chan_outcome::done);
  }
  void after() override {
    this->received.check_each_once(2);
    OnChannel<3, Capacity>::after();
  }
};

TEST(ChanModel, every_value_arrives_once) {
  EXPECT_TRUE(judge<TwoSenders<0>>(random_search(30'000)));
  EXPECT_TRUE(judge<TwoSenders<1>>(random_search(30'000)));
}

// One sends, one receives, one closes: whoever waits is woken. What was sent is received, or nobody was there and nothing is lost.
template <std::size_t Capacity>
struct Closing : OnChannel<3, Capacity> {
  bool was_sent = false;
  unsigned got = 0;

  void act(unsigned id) override {
    if (id == 0) {
      was_sent = this->send(1) == chan_outcome::done;
    } else if (id == 1) {
      while (this->receive() == chan_outcome::done) ++got;
    } else {
      RL_ASSERT(this->channel->close());
    }
  }
  void after() override {
    RL_ASSERT(got == (was_sent ? 1u : 0u));
    RL_ASSERT(this->channel->is_closed() && !this->channel->close());
    OnChannel<3, Capacity>::after();
  }
};
// Two on one side when it happens.
template <bool Senders>
struct ClosingOnTwo : OnChannel<3, 0> {
  void act(unsigned id) override {
    if (id == 2) {
      RL_ASSERT(channel->close());
      return;
    }
    RL_ASSERT((Senders ? send(1) : receive()) == chan_outcome::closed);
  }
};

TEST(ChanModel, a_close_wakes_everybody) { EXPECT_TRUE(judge<ClosingOnTwo<true>>(random_search(30'000))); }
TEST(ChanModel, a_close_wakes_everybody_who_receives) {
  EXPECT_TRUE(judge<ClosingOnTwo<false>>(random_search(30'000)));
}
TEST(ChanModel, a_close_loses_nothing_that_was_sent) {
  EXPECT_TRUE(judge<Closing<0>>(random_search(30'000)));
  EXPECT_TRUE(judge<Closing<1>>(random_search(30'000)));
}

// A receiver with a time limit: either it got the value, or the sender still has it (and is released by the close).
template <bool AsThread>
struct TimeLimit : OnChannel<2, 0, true> {
  chan_outcome sent{}, got{};
  void prepare() override {
    OnChannel::prepare();
    world.is_thread[1] = AsThread;
  }
  void act(unsigned id) override {
    if (id == 0) {
      sent = send(1);
      return;
    }
    got = receive(kSoon);
    channel->close();
  }
  void after() override {
    RL_ASSERT((sent == chan_outcome::done) == (got == chan_outcome::done));
    RL_ASSERT(got != chan_outcome::closed);
    OnChannel::after();
  }
};
// Both sides with one.
struct TimeLimits : OnChannel<2, 0, true> {
  chan_outcome outcome[2] = {};
  void act(unsigned id) override { outcome[id] = id == 0 ? send(1, kSoon) : receive(kSoon); }
  void after() override {
    RL_ASSERT(outcome[0] == outcome[1]);
    OnChannel::after();
  }
};

TEST(ChanModel, a_time_limit_and_a_sender_compete) { EXPECT_TRUE(judge<TimeLimit<false>>(random_search(30'000))); }
TEST(ChanModel, a_threads_time_limit_and_a_sender_compete) {
  EXPECT_TRUE(judge<TimeLimit<true>>(random_search(30'000)));
}
TEST(ChanModel, two_time_limits_leave_both_or_neither) { EXPECT_TRUE(judge<TimeLimits>(random_search(30'000))); }

TEST(ChanModel, finds_a_lock_without_order) {
  EXPECT_TRUE(is_caught_with<Buffered>({"spin_lock.h", Fault::kUnordered}, random_search(30'000)));
}
TEST(ChanModel, finds_a_choice_that_two_can_make) {
  EXPECT_TRUE(is_caught_with<TimeLimit<false>>({"::set_shared", Fault::kSplit}, random_search(30'000)));
}
TEST(ChanModel, finds_a_wake_up_without_order) {
  EXPECT_TRUE((is_caught_with<HandOff<false, false>>({"world.cc", Fault::kUnordered}, random_search(30'000))));
}

}  // namespace
}  // namespace weft::model
