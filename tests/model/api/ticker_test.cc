// SPDX-License-Identifier: MIT
// api/chan_timer.cc as it ships, over chan_core.cc, select.cc and timer_heap.cc: a tick wakes one of those who wait,
// none is lost when the first of them leaves, resets reach everybody, and no entry is left in a heap when nobody waits.
//
// mutant: forgets_those_who_wait_on in api/chan_timer.cc, caught by a_tick_wakes_one
//   -     self->heap.load_relaxed()->add_again(self);
//   +
// mutant: serves_without_moving_on in api/chan_timer.cc, caught by a_tick_wakes_one
//   -   when_ns_.store_relaxed(next);
//   +
// mutant: arms_beside_another in api/chan_timer.cc, caught by resets_reach_those_who_wait
//   -   if (is_arming_) return;
//   +
// mutant: looks_once_only in api/chan_timer.cc, caught by resets_reach_those_who_wait
//   -   while (!is_settled()) {
//   +   if (!is_settled()) {
// mutant: resets_without_telling_the_heap in api/chan_timer.cc, caught by resets_reach_those_who_wait
//   -   take_threads(threads);
//   -   settle_and_unlock();
//   +   take_threads(threads);
//   +   lock_.unlock();
// mutant: leaves_its_entry_behind in api/chan_timer.cc, caught by the_last_who_leaves_takes_the_entry_along
//   -   take_off(receivers_, waiter);
//   -   static_cast<timer_chan*>(this)->settle_and_unlock();
//   +   take_off(receivers_, waiter);
//   +   lock_.unlock();
// mutant: gives_the_tick_to_one_that_has_left in api/chan_timer.cc, caught by a_tick_is_not_lost_when_the_first_leaves
//   -   Waiter* first = pop(receivers_);
//   +   Waiter* first = receivers_.front();
//   +   if (first != nullptr) receivers_.take_off(first);
// mutant: leaves_threads_with_the_old_time in api/chan_timer.cc, caught by threads_hear_of_resets
//   -     waiter->retry = true;
//   -     taken.push(*waiter);
//   +
// mutant: is_gone_while_it_arms in api/chan_timer.cc, caught by it_stays_until_those_who_queued_have_left
//   -   ++strays_;
//   -   while (!is_settled()) {
//   +   ++strays_, --strays_;
//   +   while (!is_settled()) {
// mutant: is_left_behind_by_one_that_arms in api/chan_timer.cc, caught by it_stays_until_those_who_queued_have_left
//   -   if (unused) destroy(this);
//   +   static_cast<void>(unused);
#include "api/timer_chan.h"

#include "model/api/item.h"
#include "model/api/world.h"

namespace weft::model {
namespace {

using detail::chan_outcome;
using detail::select_case;
using os::kForever;

constexpr std::int64_t kSoon = 1'000'000, kLater = 5'000'000, kPeriod = 10'000'000;

template <int Threads>
struct OnTimer : ApiSimulation<Threads, true> {
  detail::chan_core* timer = nullptr;
  std::int64_t ticks[Threads] = {};  // the simulation's own knowledge

  void prepare() override { timer = detail::make_timer_chan(when(), period()); }
  virtual std::int64_t when() const { return kSoon; }
  virtual std::int64_t period() const { return 0; }

  bool receive(unsigned id, std::int64_t deadline = kForever) {
    const chan_outcome outcome = detail::receive_from(timer, &ticks[id], deadline);
    RL_ASSERT(outcome != chan_outcome::closed);
    RL_ASSERT(outcome == chan_outcome::would_block || ticks[id] <= os::model_now_ns);  // never early
    return outcome == chan_outcome::done;
  }
  // Not all at once: an entry is put back with a time to come, and the heap's time is the channel's.
  void fire_timers() override {
    this->advance_clock();
    this->run_due_timers(os::model_now_ns);
  }
  void set(std::int64_t when) { static_cast<void>(detail::set_timer_chan(timer, when, period())); }
  void after() override {
    RL_ASSERT(this->world.processor.timers.next_ns() == kForever);
    if (timer != nullptr) detail::release_chan(timer);
  }
};

// Three wait for one ticker: three ticks, three wake-ups at most.
struct TicksForAll : OnTimer<3> {
  std::int64_t period() const override { return kPeriod; }
  void act(unsigned id) override { RL_ASSERT(receive(id)); }
  void after() override {
    RL_ASSERT(ticks[0] != ticks[1] && ticks[1] != ticks[2] && ticks[0] != ticks[2]);
    RL_ASSERT(world.wakes <= 3);
    OnTimer::after();
  }
};

// One tick for two: the first in the line may leave. If it did not, it sets the timer again for the other.
template <bool BySelect>
struct FirstLeaves : OnTimer<3> {
  detail::chan_core* other = nullptr;
  void prepare() override {
    OnTimer::prepare();
    other = detail::make_chan(1, Item::kOps);
  }
  bool first_receives() {
    if (!BySelect) return receive(0, kSoon);
    Room room;
    select_case cases[] = {{other, &room, false, false}, {timer, &ticks[0], false, false}};
    if (detail::select_among(cases, 2, kForever) == 1) return true;
    room.take();
    return false;
  }
  void act(unsigned id) override {
    if (id == 0 && first_receives()) set(kSoon);
    if (id == 1) RL_ASSERT(receive(id));
    if (id == 2) {
      Item item(1);
      RL_ASSERT(detail::send_on(other, &item, kForever) == chan_outcome::done);
    }
  }
  void after() override {
    detail::release_chan(other);
    OnTimer::after();
  }
};

// Two give up before the time comes.
struct AllLeave : OnTimer<2> {
  std::int64_t when() const override { return kPeriod; }
  void act(unsigned id) override { static_cast<void>(receive(id, kSoon)); }
};

// Stopped, set, and set to another time while one waits and another comes. Each ends with a tick, or is given one.
template <int Threads, bool LastIsThread>
struct Resets : OnTimer<Threads> {
  std::int64_t when() const override { return kForever; }
  void prepare() override {
    OnTimer<Threads>::prepare();
    this->world.is_thread[Threads - 1] = LastIsThread;
  }
  std::int64_t period() const override { return kPeriod; }
  void act(unsigned id) override {
    if (id != 0) {
      RL_ASSERT(this->receive(id));
      return;
    }
    this->set(kLater);
    if (rl::rand(2) == 1) static_cast<void>(detail::stop_timer_chan(this->timer));
    this->set(kSoon);
  }
};

// Who has sent on `other` knows that the select has begun, and lets go of the timer, on which the select is queued.
struct Goes : OnTimer<2> {
  detail::chan_core* other = nullptr;
  std::int64_t when() const override { return kForever; }
  void prepare() override {
    OnTimer::prepare();
    other = detail::make_chan(0, Item::kOps);
  }
  void act(unsigned id) override {
    if (id == 0) {
      Item item(1);
      RL_ASSERT(detail::send_on(other, &item, kForever) == chan_outcome::done);
      set(kLater);
      detail::release_chan(std::exchange(timer, nullptr));
    } else {
      Room room;
      std::int64_t tick;
      select_case cases[] = {{other, &room, false, false}, {timer, &tick, false, false}};
      RL_ASSERT(detail::select_among(cases, 2, kForever) == 0);
      room.take();
    }
  }
  void after() override {
    detail::release_chan(other);
    OnTimer::after();
  }
};

TEST(TickerModel, a_tick_wakes_one) { EXPECT_TRUE(judge<TicksForAll>(random_search(20'000))); }
TEST(TickerModel, a_tick_is_not_lost_when_the_first_leaves) {
  EXPECT_TRUE(judge<FirstLeaves<false>>(random_search(20'000)));
}
TEST(TickerModel, a_tick_is_not_lost_when_the_first_leaves_for_another_channel) {
  EXPECT_TRUE(judge<FirstLeaves<true>>(random_search(20'000)));
}
TEST(TickerModel, the_last_who_leaves_takes_the_entry_along) { EXPECT_TRUE(judge<AllLeave>(random_search(20'000))); }
TEST(TickerModel, resets_reach_those_who_wait) { EXPECT_TRUE((judge<Resets<3, false>>(random_search(30'000)))); }
TEST(TickerModel, threads_hear_of_resets) { EXPECT_TRUE((judge<Resets<2, true>>(random_search(30'000)))); }
TEST(TickerModel, it_stays_until_those_who_queued_have_left) { EXPECT_TRUE(judge<Goes>(random_search(30'000))); }

TEST(TickerModel, finds_a_lock_without_order) {
  EXPECT_TRUE(is_caught_with<TicksForAll>({"spin_lock.h", Fault::kSplit}, random_search(20'000)) ||
              is_caught_with<FirstLeaves<true>>({"spin_lock.h", Fault::kUnordered}, random_search(20'000)));
}

}  // namespace
}  // namespace weft::model
