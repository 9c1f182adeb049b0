// SPDX-License-Identifier: MIT
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// broadcast: every receiver gets every value sent after it subscribed, or is told how many it missed.
namespace {

using namespace weft::test;
using weft::chan_status;

class Broadcast : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Broadcast);

TEST_P(Broadcast, every_receiver_gets_every_value_sent_after_it_subscribed) {
  weft::broadcast<int> sender(8);
  EXPECT_EQ(sender.capacity(), 8u);
  EXPECT_EQ(sender.send(0), 0u) << "nobody to get it";
  auto first = sender.subscribe();
  EXPECT_EQ(sender.send(1), 1u);
  auto second = sender.subscribe();
  EXPECT_EQ(sender.receivers(), 2u);
  EXPECT_EQ(sender.send(2), 2u);
  EXPECT_EQ(first.size(), 2u);
  EXPECT_EQ(*first.recv(), 1);
  EXPECT_EQ(*first.recv(), 2);
  EXPECT_EQ(*second.recv(), 2);
  EXPECT_EQ(first.try_recv().status, chan_status::empty);
  EXPECT_EQ(second.recv_for(1ms).status, chan_status::empty);
  auto third = second.resubscribe();
  sender.send(3);
  for (auto* one : {&first, &second, &third}) EXPECT_EQ(*one->try_recv(), 3);
}

TEST_P(Broadcast, one_that_lags_is_told_how_many_it_missed) {
  weft::broadcast<int> sender(4);
  auto slow = sender.subscribe();
  auto quick = sender.subscribe();
  for (int i = 0; i < 10; ++i) {
    sender.send(i);
    const auto got = quick.recv();
    EXPECT_EQ(*got, i);
    EXPECT_EQ(got.missed, 0u);
  }
  EXPECT_EQ(slow.size(), 10u);
  for (int i = 6; i < 10; ++i) {
    const auto got = slow.recv();
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, i);
    EXPECT_EQ(got.missed, i == 6 ? 6u : 0u);
  }
  EXPECT_FALSE(slow.try_recv());
  weft::broadcast<int> narrow(1);
  auto receiver = narrow.subscribe();
  for (int i = 0; i < 3; ++i) narrow.send(i);
  const auto got = receiver.recv();
  EXPECT_EQ(*got, 2);
  EXPECT_EQ(got.missed, 2u);
}

TEST_P(Broadcast, a_close_ends_the_receiving_after_the_last_value) {
  std::optional<weft::broadcast<int>> sender(2);
  std::optional<weft::broadcast<int>> other(*sender);
  weft::wait_group group;
  auto late = sender->subscribe();
  for (int i = 0; i < 5; ++i)
    group.go([receiver = sender->subscribe()]() mutable {
      EXPECT_EQ(*receiver.recv(), 1);
      const auto end = receiver.recv();
      EXPECT_EQ(end.status, chan_status::closed);
    });
  ASSERT_TRUE(spin_until([] { return occurrences(dump_text(), "[broadcast receive") == 5; }));
  sender->send(1);
  sender.reset();
  EXPECT_FALSE(late.closed());
  other.reset();
  EXPECT_TRUE(late.closed());
  group.wait();
  EXPECT_EQ(*late.recv(), 1);
  EXPECT_EQ(late.recv_for(1h).status, chan_status::closed);
  EXPECT_EQ(late.try_recv().status, chan_status::closed);
  weft::broadcast<int> closed(1);
  closed.close();
  closed.close();
  EXPECT_THROW(closed.send(1), weft::logic_error);
  EXPECT_THROW(weft::broadcast<int>(0), weft::logic_error);
}

TEST_P(Broadcast, time_limits_and_cancellation_are_kept) {
  weft::broadcast<int> sender(2);
  auto receiver = sender.subscribe();
  const auto check = [&] {
    const Stopwatch watch;
    EXPECT_EQ(receiver.recv_for(10ms).status, chan_status::empty);
    EXPECT_GE(watch.elapsed(), 10ms);
    const auto [timed, cancel] = weft::with_timeout(weft::context::background(), 5ms);
    EXPECT_EQ(receiver.recv(timed).status, chan_status::empty);
    sender.send(1);
    EXPECT_EQ(receiver.recv(timed).status, chan_status::empty) << "cancelled before the call";
    EXPECT_EQ(*receiver.recv(weft::context::background()), 1);
  };
  check();
  weft::run(check);
}

TEST_P(Broadcast, values_go_when_all_have_got_them) {
  weft::broadcast<Counted> sender(4);
  sender.send(Counted());
  EXPECT_EQ(Counted::alive, 0);
  {
    auto first = sender.subscribe();
    std::optional<weft::broadcast<Counted>::receiver> second(sender.subscribe());
    for (int i = 0; i < 6; ++i) sender.send(Counted());
    EXPECT_EQ(Counted::alive, 4) << "as many as it keeps";
    for (int i = 0; i < 3; ++i) first.recv();
    EXPECT_EQ(Counted::alive, 4) << "the other has not got them";
    second->recv();
    EXPECT_EQ(Counted::alive, 3);
    second.reset();
    EXPECT_EQ(Counted::alive, 1) << "what only the one that left had not got";
    EXPECT_EQ(sender.receivers(), 1u);
    auto moved = std::move(first);
    EXPECT_EQ(sender.receivers(), 1u);
    sender.send(Counted());
    EXPECT_EQ(moved.size(), 2u);
    moved = sender.subscribe();
    EXPECT_EQ(sender.receivers(), 1u);
    EXPECT_EQ(Counted::alive, 0);
    sender.send(Counted());
  }
  EXPECT_EQ(sender.receivers(), 0u);
  EXPECT_EQ(Counted::alive, 0);
}

TEST_P(Broadcast, values_need_not_be_copyable_and_are_shared) {
  weft::broadcast<std::unique_ptr<int>> sender(2);
  auto first = sender.subscribe(), second = sender.subscribe();
  sender.send(std::make_unique<int>(5));
  const auto one = first.recv(), other = second.recv();
  EXPECT_EQ(one.value.get(), other.value.get());
  EXPECT_EQ(**one, 5);
  EXPECT_EQ(*one->get(), 5);
}

TEST_P(Broadcast, many_senders_and_receivers_goroutines_and_threads) {
  constexpr int kSenders = 4, kReceivers = 4, kEach = scaled(500);
  weft::broadcast<std::pair<int, int>> sender(64);
  const auto receive = [](weft::broadcast<std::pair<int, int>>::receiver receiver, bool by_select) {
    std::uint64_t seen = 0, missed = 0;
    std::vector<int> last(kSenders, -1);
    bool open = true;
    const auto take = [&](weft::broadcast_result<std::pair<int, int>> got) {
      open = static_cast<bool>(got);
      if (!open) return;
      ++seen;
      missed += got.missed;
      EXPECT_GT(got->second, last[static_cast<std::size_t>(got->first)]) << "the order of each sender";
      last[static_cast<std::size_t>(got->first)] = got->second;
    };
    while (open) {
      if (by_select) {
        weft::select(weft::on_recv(receiver, take));
      } else {
        take(receiver.recv());
      }
    }
    EXPECT_EQ(seen + missed, static_cast<std::uint64_t>(kSenders * kEach));
  };
  weft::wait_group receivers, senders;
  for (int i = 0; i < kReceivers; ++i)
    receivers.go([receive, i, receiver = sender.subscribe()]() mutable { receive(std::move(receiver), i % 2 == 0); });
  std::thread plain(receive, sender.subscribe(), false), selecting(receive, sender.subscribe(), true);
  for (int i = 0; i < kSenders; ++i)
    senders.go([&, i] {
      for (int k = 0; k < kEach; ++k) {
        sender.send({i, k});
        if (k % 16 == 0) weft::this_goroutine::yield();
      }
    });
  senders.wait();
  sender.close();
  receivers.wait();
  plain.join();
  selecting.join();
}

TEST_P(Broadcast, is_a_case_of_a_select) {
  weft::broadcast<int> sender(4);
  auto receiver = sender.subscribe();
  weft::chan<int> other;
  EXPECT_EQ(weft::select(weft::on_recv(receiver), weft::on_recv(other), weft::on_timeout(1ms)), 2u);
  int got = 0;
  const auto take = [&](weft::broadcast_result<int> result) { got = *result; };
  sender.send(5);
  EXPECT_EQ(weft::select(weft::on_recv(receiver, take), weft::on_recv(other), weft::on_default()), 0u);
  EXPECT_EQ(got, 5);
  EXPECT_EQ(weft::select(weft::on_recv(receiver, take), weft::on_recv(other), weft::on_default()), 2u);
  weft::wait_group group;
  group.go([&] { sender.send(6); });
  EXPECT_EQ(weft::select(weft::on_recv(other), weft::on_recv(receiver, take)), 1u);
  EXPECT_EQ(got, 6);
  group.wait();
}

TEST_P(Broadcast, a_receiver_may_leave_while_others_wait) {
  weft::broadcast<int> sender(2);
  weft::wait_group group;
  group.go([receiver = sender.subscribe()]() mutable { EXPECT_EQ(*receiver.recv(), 9); });
  for (int i = 0; i < 50; ++i) group.go([receiver = sender.subscribe()]() mutable { receiver.recv_for(10us); });
  ASSERT_TRUE(spin_until([&] { return sender.receivers() == 1; }));
  EXPECT_EQ(sender.send(9), 1u);
  group.wait();
}

}  // namespace
