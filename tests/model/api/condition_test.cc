// SPDX-License-Identifier: MIT
// api/condition_variable.cc as it ships, with the mutex that ships.
//
// mutant: queues_after_the_lock in api/condition_variable.cc, caught by a_notification_reaches_who_waits
//   -     lock.release(lock.lock);
//   +     queue.lock.lock();
//   +     queue.list.remove(waiter);
//   +     queue.lock.unlock();
//   +     lock.release(lock.lock);
//   +     queue.lock.lock();
//   +     queue.list.push(waiter);
//   +     queue.lock.unlock();
// mutant: falls_asleep_although_notified in api/condition_variable.cc, caught by a_notification_reaches_who_waits
//   -   if (waiter.state.cas_acq_rel(queued, kAsleep)) {  // pairs: condition.state
//   +   if (waiter.state.cas_acq_rel(queued, kAsleep) || true) {
// mutant: wakes_who_is_not_asleep in api/condition_variable.cc, caught by a_notification_reaches_who_waits
//   -     if (waiter->state.exchange_acq_rel(kNotified) == kAsleep) asleep.push(*waiter);  // pairs: condition.state
//   +     waiter->state.exchange_acq_rel(kNotified), asleep.push(*waiter);
// mutant: notifies_who_leaves in api/condition_variable.cc, caught by a_notification_is_not_spent_on_one_who_leaves
//   -     if (waiter->choice != nullptr && !waiter->choice->fire(waiter)) continue;  // it leaves by itself
//   +     if (waiter->choice != nullptr && !waiter->choice->fire(waiter)) break;
#include "weft/condition_variable.h"

#include "model/api/world.h"

namespace weft::model {
namespace {

constexpr std::int64_t kSoon = 1'000'000;

struct Condition : detail::condition_core {
  bool wait(mutex& lock, std::int64_t deadline_ns = os::kForever) {
    return wait_ns(detail::lock_operations::of(lock), deadline_ns);
  }
};

// Waiters wait for an item each; the notifier puts them one by one.
template <int Waiters, bool All, bool AsThread>
struct Handing : ApiSimulation<Waiters + 1> {
  mutex lock;
  Condition condition;
  rl::var<unsigned> items{0};

  void prepare() override { this->world.is_thread[0] = AsThread; }
  void act(unsigned id) override {
    if (id < Waiters) {
      lock.lock();
      while (items(RL_INFO).load() == 0) RL_ASSERT(condition.wait(lock));
      items(RL_INFO) = items(RL_INFO).load() - 1;
      lock.unlock();
      return;
    }
    for (int i = 0; i < (All ? 1 : Waiters); ++i) {
      lock.lock();
      items(RL_INFO) = items(RL_INFO).load() + (All ? Waiters : 1);
      lock.unlock();
      All ? condition.notify_all() : condition.notify_one();
    }
  }
};

TEST(ConditionModel, a_notification_reaches_who_waits) {
  EXPECT_TRUE((judge<Handing<1, false, false>>(random_search(30'000))));
}
TEST(ConditionModel, notifications_reach_all_who_wait) {
  EXPECT_TRUE((judge<Handing<2, false, false>>(random_search(20'000))));
  EXPECT_TRUE((judge<Handing<2, true, false>>(random_search(20'000))));
  EXPECT_TRUE((judge<Handing<2, false, true>>(random_search(20'000))));
}

// One waits with a time limit and one without; one notification. Who gave up has not used it, so it must reach the other one; who
// was notified passes it on.
struct OneLeaves : ApiSimulation<3, true> {
  mutex lock;
  Condition condition;
  rl::var<unsigned> items{0};

  void act(unsigned id) override {
    lock.lock();
    if (id == 2) {
      items(RL_INFO) = 1;
      lock.unlock();
      condition.notify_one();
      return;
    }
    while (items(RL_INFO).load() == 0) {
      const bool notified = condition.wait(lock, id == 0 ? kSoon : os::kForever);
      RL_ASSERT(notified || id == 0);
      if (!notified) {
        lock.unlock();
        return;
      }
    }
    if (id == 0) {  // leaves it there for the other one, who may be waiting
      lock.unlock();
      condition.notify_one();
      return;
    }
    lock.unlock();
  }
};

TEST(ConditionModel, a_notification_is_not_spent_on_one_who_leaves) {
  EXPECT_TRUE(judge<OneLeaves>(random_search(30'000)));
}

TEST(ConditionModel, finds_a_state_that_is_not_exchanged_in_one_step) {
  EXPECT_TRUE(
      (is_caught_with<Handing<1, false, false>>({"condition_core::wait_ns", Fault::kSplit}, random_search(30'000))));
}

}  // namespace
}  // namespace weft::model
