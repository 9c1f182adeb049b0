// SPDX-License-Identifier: MIT
// api/broadcast.cc as it ships.
//
// mutant: forgets_those_who_wait in api/broadcast.cc, caught by values_go_when_all_have_passed_them
//   -     order_release(&own);
//   -     take_all(queue.list, released);
//   +     order_release(&own);
// mutant: leaves_them_at_the_end in api/broadcast.cc, caught by every_receiver_hears_of_every_value
//   -   closed_ = true;
//   -   take_all(queue.list, released);
//   +   closed_ = true;
// mutant: takes_without_the_lock in api/broadcast.cc, caught by every_receiver_hears_of_every_value
//   -   if (done && got.status == chan_status::empty) {  // woken: there is something now
//   -     queue.lock.lock();
//   -     take_now(next, got);
//   -     queue.lock.unlock();
//   -   }
//   +   if (done && got.status == chan_status::empty) got.status = chan_status::closed;
// mutant: counts_none_as_missed in api/broadcast.cc, caught by every_receiver_hears_of_every_value
//   -   out.missed = first - next;
//   +   out.missed = 0;
// mutant: passes_what_it_did_not_count_for in api/broadcast.cc, caught by values_go_when_all_have_passed_them
//   -   --receivers_;
//   -   const std::uint64_t end = end_;
//   -   queue.lock.unlock();
//   +   --receivers_;
//   +   queue.lock.unlock();
//   +   queue.lock.lock();
//   +   const std::uint64_t end = end_;
//   +   queue.lock.unlock();
// mutant: passes_nothing in api/broadcast.cc, caught by values_go_when_all_have_passed_them
//   -     if (next < end && --at(next).missing == 0) gone = std::move(at(next).value);
//   +
#include "weft/broadcast.h"

#include "model/api/model_context.h"

namespace weft::model {
namespace {

constexpr std::int64_t kSoon = 1'000'000;

// A value that is read by who gets it; `alive` is the simulation's own knowledge.
struct Made {
  Made(unsigned number, int& counted) : alive(counted) {
    value(RL_INFO) = number;
    ++alive;
  }
  ~Made() { --alive; }
  rl::var<unsigned> value{0};
  int& alive;
};

unsigned number_of(const ::std::shared_ptr<const void>& value) {
  return const_cast<Made*>(static_cast<const Made*>(value.get()))->value(RL_INFO).load();
}

// Two values through a ring of one, then the end.
template <bool AsThread>
struct Following : ApiSimulation<3> {
  int alive = 0;
  detail::broadcast_core core{1, nullptr};
  std::uint64_t next[3] = {};
  void prepare() override {
    world.is_thread[1] = AsThread;
    next[1] = core.subscribe();
    next[2] = core.subscribe();
  }
  void act(unsigned id) override {
    if (id == 0) {
      for (unsigned i = 1; i <= 2; ++i) RL_ASSERT(core.send(::std::make_shared<Made>(i, alive)) == 2);
      core.close();
      return;
    }
    std::uint64_t position = 0;
    for (;;) {
      const detail::broadcast_core::taken got = core.take(next[id], os::kForever, nullptr);
      if (got.status == chan_status::closed) break;
      position += got.missed + 1;
      RL_ASSERT(number_of(got.value) == position);
    }
    RL_ASSERT(position == 2);
  }
  void after() override { RL_ASSERT(alive == 0); }
};

// One receives, one leaves, one sends.
struct Leaving : ApiSimulation<3> {
  int alive = 0;
  detail::broadcast_core core{2, nullptr};
  std::uint64_t next[3] = {};
  void prepare() override {
    next[1] = core.subscribe();
    next[2] = core.subscribe();
  }
  void act(unsigned id) override {
    if (id == 0) {
      for (unsigned i = 1; i <= 2; ++i) core.send(::std::make_shared<Made>(i, alive));
    } else if (id == 1) {
      core.unsubscribe(next[id]);
    } else {
      for (unsigned i = 1; i <= 2; ++i)
        RL_ASSERT(number_of(core.take(next[id], os::kForever, nullptr).value) == i);
    }
  }
  void after() override { RL_ASSERT(alive == 0 && core.receivers() == 1); }
};

struct Timed : ApiSimulation<3, true> {
  int alive = 0;
  detail::broadcast_core core{1, nullptr};
  ::std::pair<context, cancel_function> made = with_cancel(context::background());
  std::uint64_t next[3] = {};
  unsigned got = 0;
  void prepare() override {
    next[1] = core.subscribe();
    next[2] = core.subscribe();
  }
  void act(unsigned id) override {
    if (id == 0) {
      core.send(::std::make_shared<Made>(1u, alive));
    } else if (id == 1) {
      if (core.take(next[id], kSoon, nullptr).status == chan_status::received) ++got;
      made.second();
    } else {
      if (core.take(next[id], os::kForever, &made.first).status == chan_status::received) ++got;
    }
  }
  void after() override { RL_ASSERT(alive == (got == 2 ? 0 : 1)); }
};

struct Selecting : ApiSimulation<2> {
  int alive = 0;
  detail::broadcast_core core{2, nullptr};
  std::uint64_t next = 0;
  void prepare() override { next = core.subscribe(); }
  void act(unsigned id) override {
    if (id == 0) {
      for (unsigned i = 1; i <= 2; ++i) core.send(::std::make_shared<Made>(i, alive));
      return;
    }
    auto last = detail::change_bell::bell::nil();
    for (unsigned i = 1; i <= 2; ++i) {
      detail::ready_bell(
          last, nullptr, [&] { return core.waiting(next) != 0; },
          [&](auto& fresh) { return core.next_bell(next, fresh); });
      detail::select_case one{last.core(), nullptr, false, false};
      RL_ASSERT(detail::select_among(&one, 1, os::kForever) == 0 && !one.received);
      RL_ASSERT(number_of(core.take(next, 0, nullptr).value) == i);
    }
  }
};

TEST(BroadcastModel, every_receiver_hears_of_every_value) {
  EXPECT_TRUE(judge<Following<false>>(random_search(20'000)));
}
TEST(BroadcastModel, every_receiver_hears_of_every_value_on_threads) {
  EXPECT_TRUE(judge<Following<true>>(random_search(20'000)));
}
TEST(BroadcastModel, values_go_when_all_have_passed_them) { EXPECT_TRUE(judge<Leaving>(random_search(20'000))); }
TEST(BroadcastModel, time_limits_and_cancellations_compete_with_a_send) {
  EXPECT_TRUE(judge<Timed>(random_search(20'000)));
}
TEST(BroadcastModel, a_select_hears_of_every_value) { EXPECT_TRUE(judge<Selecting>(random_search(20'000))); }

}  // namespace
}  // namespace weft::model
