// SPDX-License-Identifier: MIT
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// watch: one latest value, and receivers that wait for it to change.
namespace {

using namespace weft::test;
using weft::watch_status;

class Watch : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Watch);

TEST_P(Watch, has_a_value_from_the_start_and_then_the_latest) {
  weft::watch<std::string> sender("first");
  auto receiver = sender.subscribe();
  EXPECT_EQ(receiver.get(), "first");
  EXPECT_FALSE(receiver.has_changed());
  EXPECT_EQ(receiver.changed_for(0s), watch_status::timed_out);
  sender.send("second");
  sender.send("third");
  EXPECT_TRUE(receiver.has_changed());
  const std::shared_ptr<const std::string> kept = receiver.borrow();
  EXPECT_TRUE(receiver.has_changed()) << "borrowing is not seeing";
  EXPECT_TRUE(receiver.changed());
  EXPECT_FALSE(receiver.has_changed());
  EXPECT_EQ(receiver.changed_for(1ms), watch_status::timed_out) << "one change, however many values";
  sender.send("fourth");
  EXPECT_EQ(*kept, "third") << "what is kept stays as it is";
  EXPECT_EQ(*receiver.borrow_and_update(), "fourth");
  EXPECT_FALSE(receiver.has_changed());
  EXPECT_EQ(sender.get(), "fourth");
  EXPECT_EQ(*sender.borrow(), "fourth");
}

TEST_P(Watch, wakes_everybody_who_waits) {
  weft::watch<int> sender(0);
  std::atomic<int> woken{0};
  const auto wait = [&woken, receiver = sender.subscribe()]() mutable {
    EXPECT_TRUE(receiver.changed());
    EXPECT_EQ(receiver.get(), 7);
    ++woken;
  };
  weft::wait_group group;
  for (int i = 0; i < 10; ++i) group.go(wait);
  std::thread thread(wait);
  ASSERT_TRUE(spin_until([] { return occurrences(dump_text(), "[watch change") == 10; }));
  EXPECT_EQ(woken, 0);
  sender.send(7);
  thread.join();
  group.wait();
  EXPECT_EQ(woken, 11);
}

TEST_P(Watch, a_close_ends_the_waiting_after_the_last_value) {
  std::optional<weft::watch<int>> sender(1);
  std::optional<weft::watch<int>> other(*sender);
  auto late = sender->subscribe();
  weft::wait_group group;
  for (int i = 0; i < 5; ++i)
    group.go([receiver = sender->subscribe()]() mutable {
      EXPECT_TRUE(receiver.changed());
      EXPECT_FALSE(receiver.changed());
      EXPECT_EQ(receiver.get(), 2) << "the last value stays";
    });
  other->send(2);
  other.reset();
  EXPECT_FALSE(late.closed()) << "one sender is left";
  sender.reset();
  EXPECT_TRUE(late.closed());
  group.wait();
  EXPECT_EQ(late.changed_for(1h), watch_status::changed) << "there was something it had not seen";
  EXPECT_EQ(late.changed_for(1h), watch_status::closed);
  EXPECT_FALSE(late.changed());
  EXPECT_EQ(late.get(), 2);

  weft::watch<int> closed(3);
  auto receiver = closed.subscribe();
  closed.close();
  closed.close();
  EXPECT_THROW(closed.send(4), weft::logic_error);
  EXPECT_THROW(closed.modify([](int& value) { ++value; }), weft::logic_error);
  EXPECT_FALSE(receiver.changed());
  EXPECT_EQ(receiver.get(), 3);
}

TEST_P(Watch, time_limits_and_cancellation_are_kept) {
  weft::watch<int> sender(0);
  auto receiver = sender.subscribe();
  auto [ctx, cancel] = weft::with_cancel(weft::context::background());
  const auto check = [&] {
    const Stopwatch watch;
    EXPECT_EQ(receiver.changed_for(10ms), watch_status::timed_out);
    EXPECT_GE(watch.elapsed(), 10ms);
    EXPECT_EQ(receiver.changed_until(Clock::now() - 1s), watch_status::timed_out);
    const auto [timed, cancel_timed] = weft::with_timeout(weft::context::background(), 5ms);
    EXPECT_EQ(receiver.changed(timed), watch_status::cancelled);
  };
  check();
  weft::run(check);
  weft::wait_group group;
  group.go([receiver, of = ctx]() mutable { EXPECT_EQ(receiver.changed(of), watch_status::cancelled); });
  ASSERT_TRUE(spin_until([] { return occurrences(dump_text(), "[watch change") == 1; }));
  cancel();
  group.wait();
  sender.send(1);
  EXPECT_EQ(receiver.changed(ctx), watch_status::cancelled) << "before the call";
  EXPECT_EQ(receiver.changed(weft::context::background()), watch_status::changed);
}

TEST_P(Watch, modify_loses_no_change) {
  weft::watch<std::vector<int>> sender({});
  weft::wait_group group;
  for (int i = 0; i < 8; ++i)
    group.go([&, sender, i] {
      for (int k = 0; k < 20; ++k) sender.modify([&](std::vector<int>& all) { all.push_back(i); });
    });
  group.wait();
  EXPECT_EQ(sender.borrow()->size(), 160u);
  auto receiver = sender.subscribe();
  EXPECT_FALSE(sender.modify([](std::vector<int>& all) {
    all.clear();
    return false;
  }));
  EXPECT_THROW(sender.modify([](std::vector<int>&) { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(sender.borrow()->size(), 160u);
  EXPECT_FALSE(receiver.has_changed());
  EXPECT_TRUE(sender.modify([](std::vector<int>& all) { return all.clear(), true; }));
  EXPECT_TRUE(receiver.has_changed());
}

TEST_P(Watch, values_need_not_be_copyable_and_go_when_nobody_looks) {
  {
    weft::watch<std::unique_ptr<int>> sender(std::make_unique<int>(1));
    auto receiver = sender.subscribe();
    sender.send(std::make_unique<int>(2));
    EXPECT_TRUE(receiver.changed());
    EXPECT_EQ(**receiver.borrow(), 2);
  }
  std::shared_ptr<const Counted> kept;
  {
    weft::watch<Counted> sender{Counted()};
    auto receiver = sender.subscribe();
    EXPECT_EQ(Counted::alive, 1);
    for (int i = 0; i < 5; ++i) sender.send(Counted());
    EXPECT_EQ(Counted::alive, 1);
    kept = receiver.borrow();
    sender.send(Counted());
    EXPECT_EQ(Counted::alive, 2);
  }
  EXPECT_EQ(Counted::alive, 1);
  kept.reset();
  EXPECT_EQ(Counted::alive, 0);
}

TEST_P(Watch, waits_for_a_value_that_suits) {
  weft::watch<int> sender(0);
  weft::wait_group group;
  group.go([receiver = sender.subscribe()]() mutable {
    const auto found = receiver.wait([](int value) { return value >= 5; });
    ASSERT_TRUE(found);
    EXPECT_GE(*found, 5);
    EXPECT_FALSE(receiver.wait([](int value) { return value > 1000; }));
  });
  for (int i = 1; i <= 10; ++i) {
    sender.send(i);
    weft::this_goroutine::yield();
  }
  sender.close();
  group.wait();
}

TEST_P(Watch, is_a_case_of_a_select) {
  weft::run([] {
    weft::watch<int> sender(0);
    auto receiver = sender.subscribe();
    weft::chan<int> other;
    EXPECT_EQ(weft::select(weft::on_changed(receiver), weft::on_recv(other), weft::on_default()), 2u);
    weft::wait_group group;
    group.go([&] {
      for (int i = 1; i <= 100; ++i) {
        sender.send(i);
        if (i % 10 == 0) other.send(i);
      }
      sender.close();
    });
    int latest = 0, received = 0;
    for (bool open = true; open;) {
      weft::select(weft::on_changed(receiver,
                                    [&](std::shared_ptr<const int> value) {
                                      open = value != nullptr;
                                      if (!open) return;
                                      EXPECT_GT(*value, latest);
                                      latest = *value;
                                    }),
                   weft::on_recv(other, [&](std::optional<int>) { ++received; }));
    }
    group.wait();
    EXPECT_EQ(latest, 100);
    EXPECT_EQ(received, 10);
    EXPECT_EQ(weft::select(weft::on_changed(receiver), weft::on_default()), 0u) << "closed: always ready";
  });
}

TEST_P(Watch, a_select_waits_for_the_next_change_and_not_for_the_last) {
  weft::watch<int> sender(0);
  auto receiver = sender.subscribe();
  for (int i = 1; i <= 3; ++i) {
    const auto waiting = weft::select(weft::on_changed(receiver), weft::on_timeout(1ms));
    EXPECT_EQ(waiting, 1u);
    sender.send(i);
    EXPECT_EQ(weft::select(weft::on_changed(receiver), weft::on_timeout(1h)), 0u);
    sender.send(-i);
    EXPECT_TRUE(receiver.changed()) << "seen in another way";
  }
}

TEST_P(Watch, no_change_is_missed_and_no_value_is_older_than_the_last) {
  constexpr int kLast = 2000;
  weft::watch<int> sender(0);
  auto follow = [receiver = sender.subscribe()](bool by_select) mutable {
    int last = 0;
    while (last != kLast) {
      if (by_select) {
        weft::select(weft::on_changed(receiver));
      } else {
        ASSERT_TRUE(receiver.changed());
      }
      const int now = receiver.get();
      ASSERT_GE(now, last);
      last = now;
    }
  };
  weft::wait_group group;
  for (int i = 0; i < 6; ++i) group.go([follow, i]() mutable { follow(i % 2 == 0); });
  std::thread thread(follow, false), selecting(follow, true);
  for (int i = 1; i <= kLast; ++i) {
    sender.send(i);
    if (i % 64 == 0) weft::this_goroutine::yield();
  }
  thread.join();
  selecting.join();
  group.wait();
}

}  // namespace
