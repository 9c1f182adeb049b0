// SPDX-License-Identifier: MIT
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// Select (SE01-SE17): fairness, one winner, nothing lost on the losing side.
namespace {

using namespace weft::test;
using weft::on_default;
using weft::on_recv;
using weft::on_send;
using weft::on_timeout;

class Select : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Select);

TEST_P(Select, takes_the_default_only_when_nothing_is_ready) {
  weft::run([] {
    weft::chan<int> empty, full(1);
    full.send(1);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(weft::select(on_recv(empty), on_default()), 1u);
      EXPECT_EQ(weft::select(on_recv(full), on_default()), 0u);
      full.send(i);
    }
    EXPECT_EQ(weft::select(on_recv(weft::chan<int>::nil()), on_default()), 1u);
  });
}

TEST_P(Select, passes_values_and_closes_to_the_handler) {
  weft::run([] {
    weft::chan<std::string> c(1);
    c.send("x");
    std::string got;
    bool closed = false;
    weft::select(on_recv(c, [&](std::optional<std::string> value) { got = value.value_or("nothing"); }));
    c.close();
    weft::select(on_recv(c, [&](std::optional<std::string> value) { closed = !value; }));
    EXPECT_EQ(got, "x");
    EXPECT_TRUE(closed);
  });
}

// A case keeps its channel, whoever made it and let go.
TEST_P(Select, a_case_may_be_made_elsewhere) {
  weft::run([] {
    const auto made = [](int& got) {
      weft::chan<int> only(1);
      only.send(7);
      return on_recv(only, [&](std::optional<int> value) { got = value.value_or(0); });
    };
    int got = 0;
    EXPECT_EQ(weft::select(made(got)), 0u);
    EXPECT_EQ(got, 7);
  });
}

// A case borrows a handle that is named in it, and owns its channel from the moment it outlives its expression.
TEST_P(Select, a_case_that_is_kept_outlives_the_handle_it_was_made_of) {
  weft::run([] {
    const auto content = std::make_shared<int>(7);
    weft::chan<std::shared_ptr<int>> full(1), empty(1), other;
    full.send(content);
    const weft::chan<std::shared_ptr<int>> reader = empty;
    auto receives = on_recv(full);
    auto moved = std::move(receives);
    auto sends = on_send(empty, content);
    full = empty = weft::chan<std::shared_ptr<int>>::nil();
    EXPECT_EQ(weft::select(on_recv(other), std::move(sends)), 1u);
    EXPECT_EQ(reader.size(), 1u);
    EXPECT_EQ(content.use_count(), 3);  // in full and empty
    EXPECT_EQ(weft::select(std::move(moved), on_recv(other)), 0u);
    EXPECT_EQ(content.use_count(), 2);
  });
}

TEST_P(Select, a_case_keeps_no_channel_when_it_has_gone) {
  weft::run([] {
    const auto content = std::make_shared<int>(7);
    const auto filled = [&] {
      weft::chan<std::shared_ptr<int>> full(2);
      full.send(content);
      full.send(content);
      return full;
    };
    {
      weft::chan<std::shared_ptr<int>> full = filled();
      const auto never_used = on_recv(full);
      const auto sent_never = on_send(full, content);
    }
    EXPECT_EQ(content.use_count(), 1);
    weft::chan<std::shared_ptr<int>> full = filled(), other;
    const auto drop = [&](auto) { full = weft::chan<std::shared_ptr<int>>::nil(); };
    EXPECT_EQ(weft::select(on_recv(full, drop), on_recv(other)), 0u);  // a handler may change what its case names
    EXPECT_EQ(content.use_count(), 1);
    EXPECT_EQ(weft::select(on_recv(filled()), on_recv(other)), 0u);
    EXPECT_EQ(content.use_count(), 1);
  });
}

TEST_P(Select, who_has_heard_from_a_select_may_let_go_of_its_channels) {
  weft::run([] {
    for (int i = 0; i < 300; ++i) {
      auto left = std::make_unique<weft::chan<int>>(), right = std::make_unique<weft::chan<int>>();
      weft::wait_group done;
      done.add(1);
      weft::go([&] {
        EXPECT_EQ(weft::select(on_recv(*left), on_recv(*right)), static_cast<std::size_t>(i % 2));
        done.done();
      });
      (i % 2 == 0 ? left : right)->send(i);
      left.reset();
      right.reset();
      done.wait();
    }
  });
}

TEST_P(Select, chooses_evenly_among_the_ready) {
  weft::run([] {
    weft::chan<int> a(1000), b(1000), never, c(1000);
    for (int i = 0; i < 1000; ++i) {
      a.send(i);
      b.send(i);
      c.send(i);
    }
    int counts[4] = {};
    for (int i = 0; i < 900; ++i) ++counts[weft::select(on_recv(a), on_recv(b), on_recv(never), on_recv(c))];
    for (int index : {0, 1, 3}) {
      EXPECT_GT(counts[index], 220) << index;
      EXPECT_LT(counts[index], 380) << index;
    }
  });
}

TEST_P(Select, a_default_is_true_of_one_moment) {
  // One of the two is ready at any time: a look at one after the other could miss both.
  weft::run([] {
    for (int i = 0; i < 2000; ++i) {
      weft::chan<int> a(1), b(1);
      a.send(1);
      auto other = weft::spawn([=]() mutable {
        b.send(1);
        a.try_recv();
      });
      EXPECT_NE(weft::select(on_recv(a), on_recv(b), on_default()), 2u);
      other.join();
    }
  });
}

TEST_P(Select, no_value_is_sent_twice_or_lost) {
  weft::run([] {
    const int kValues = scaled(20'000);
    std::vector<weft::chan<int>> channels(4);
    weft::chan<int> collected(16);
    weft::wait_group forwarders;
    for (auto& c : channels)
      forwarders.go([c, collected]() mutable {
        for (int value : c) collected.send(value);
      });
    weft::go([&] {
      for (int i = 0; i < kValues; ++i)
        weft::select(on_send(channels[0], int(i)), on_send(channels[1], int(i)), on_send(channels[2], int(i)),
                     on_send(channels[3], int(i)));
      for (auto& c : channels) c.close();
    });
    std::vector<int> seen(static_cast<std::size_t>(kValues), 0);
    for (int i = 0; i < kValues; ++i) ++seen[static_cast<std::size_t>(*collected.recv())];
    forwarders.wait();
    for (int count : seen) ASSERT_EQ(count, 1);
    EXPECT_EQ(collected.size(), 0u);
  });
}

TEST_P(Select, the_same_channel_may_stand_in_several_cases) {
  weft::run([] {
    weft::chan<int> c, d;
    auto selecting = weft::spawn([&] { return weft::select(on_recv(c), on_recv(c), on_recv(d)); });
    for (int i = 0; i < 20; ++i) weft::this_goroutine::yield();
    d.send(1);
    EXPECT_EQ(selecting.join(), 2u);
    auto later = weft::spawn([&] { return c.recv(); });
    c.send(5);
    EXPECT_EQ(later.join(), 5);
  });
}

TEST_P(Select, never_receives_what_it_sends_itself) {
  weft::run([] {
    for (std::size_t capacity : {0u, 10u}) {
      weft::chan<int> c(capacity);
      weft::wait_group group;
      for (int me = 0; me < 2; ++me)
        group.go([&, me] {
          for (int i = 0; i < 500; ++i)
            weft::select(on_send(c, int(me)), on_recv(c, [&](std::optional<int> value) {
                           if (capacity == 0) {
                             EXPECT_NE(*value, me);
                           }
                         }));
        });
      // One may be left over: help it out.
      while (!group.wait_for(20ms)) {
        int value = 7;
        c.try_recv();
        c.try_send(value);
      }
    }
  });
}

TEST_P(Select, losing_values_stay_with_the_caller) {
  weft::run([] {
    weft::chan<std::unique_ptr<int>> full;
    weft::chan<int> ready(1);
    ready.send(1);
    auto mine = std::make_unique<int>(4);
    EXPECT_EQ(weft::select(on_send(full, std::move(mine)), on_recv(ready)), 1u);
    ASSERT_NE(mine, nullptr);
    EXPECT_EQ(weft::select(on_send(full, std::move(mine)), on_timeout(1ms)), 1u);
    ASSERT_NE(mine, nullptr);
    auto receiver = weft::spawn([&] { return **full.recv(); });
    EXPECT_EQ(weft::select(on_send(full, std::move(mine)), on_timeout(20s)), 0u);
    EXPECT_EQ(mine, nullptr);
    EXPECT_EQ(receiver.join(), 4);
  });
}

struct Copied {
  Copied() = default;
  Copied(const Copied& other) : value(other.value) { ++copies; }
  Copied(Copied&& other) noexcept : value(other.value) {}
  int value = 3;
  static inline std::atomic<int> copies{0};
};

TEST_P(Select, an_lvalue_is_copied_only_when_it_wins) {
  weft::run([] {
    Copied::copies = 0;
    weft::chan<Copied> c;
    Copied mine;
    EXPECT_EQ(weft::select(on_send(c, mine), on_default()), 1u);
    EXPECT_EQ(weft::select(on_send(c, mine), on_timeout(2ms)), 1u);
    EXPECT_EQ(Copied::copies, 0);
    auto receiver = weft::spawn([&] { return c.recv()->value; });
    EXPECT_EQ(weft::select(on_send(c, mine), on_timeout(20s)), 0u);
    EXPECT_EQ(receiver.join(), 3);
    EXPECT_EQ(Copied::copies, 1);
  });
}

// A lambda that is not mutable has const captures: moving one copies it, as everywhere else.
TEST_P(Select, a_const_object_is_never_moved_from) {
  struct Careless {  // its move may throw, so it travels in a box
    Careless() = default;
    Careless(const Careless&) = default;
    Careless(Careless&& other) : text(std::move(other.text)) {}
    std::string text = std::string(100, 'y');
  };
  weft::run([] {
    const std::string text(100, 'x');
    const Careless careless;
    weft::chan<std::string> c(3), received;
    weft::chan<Careless> boxes(1);
    EXPECT_EQ(weft::select(on_send(c, std::move(text))), 0u);
    EXPECT_EQ(weft::select(on_send(weft::chan(c), std::move(text))), 0u);
    EXPECT_EQ(weft::select(on_send(boxes, std::move(careless))), 0u);
    weft::selector selector;
    selector.send(c, std::move(text));
    EXPECT_EQ(selector.wait(), 0u);
    auto receiver = weft::spawn([&] { return received.recv(); });
    EXPECT_EQ(weft::select(on_send(received, std::move(text)), on_timeout(20s)), 0u);
    EXPECT_EQ(receiver.join(), std::string(100, 'x'));
    EXPECT_EQ(text, std::string(100, 'x'));
    EXPECT_EQ(careless.text, std::string(100, 'y'));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(c.recv(), text);
    EXPECT_EQ(boxes.recv()->text, careless.text);
  });
}

TEST_P(Select, a_send_on_a_closed_channel_throws_and_leaves_no_case_behind) {
  weft::run([] {
    weft::chan<int> closed, other;
    closed.close();
    EXPECT_THROW(weft::select(on_send(closed, 1), on_recv(other)), weft::logic_error);
    int value = 1;
    EXPECT_FALSE(other.try_send(value));  // nobody waits there
    weft::chan<int> closing;
    auto selecting = weft::spawn([&] { weft::select(on_send(closing, 1), on_recv(other)); });
    for (int i = 0; i < 20; ++i) weft::this_goroutine::yield();
    closing.close();
    EXPECT_THROW(selecting.join(), weft::logic_error);
    EXPECT_FALSE(other.try_send(value));
  });
}

TEST_P(Select, time_limits_are_kept) {
  weft::run([] {
    weft::chan<int> c;
    const Stopwatch watch;
    EXPECT_EQ(weft::select(on_recv(c), on_timeout(5ms)), 1u);
    EXPECT_EQ(weft::select(on_recv(c), weft::on_deadline(Clock::now() + 5ms)), 1u);
    EXPECT_GE(watch.elapsed(), 10ms);
    EXPECT_EQ(weft::select(on_recv(c), on_timeout(-1s)), 1u);
  });
}

TEST_P(Select, opposite_orders_do_not_deadlock) {
  weft::run([] {
    std::vector<weft::chan<int>> channels(8);
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int direction = 0; direction < 2; ++direction)
      group.go([&, direction] {
        weft::selector selector;
        for (int i = 0; i < 1000; ++i) {
          selector.clear();
          for (std::size_t k = 0; k < channels.size(); ++k) {
            auto& c = channels[direction == 0 ? k : channels.size() - 1 - k];
            selector.recv(c);
            selector.send(c, i);
          }
          selector.wait_for(100us);
        }
        stop = true;
      });
    group.wait();
  });
}

TEST_P(Select, selectors_are_used_again) {
  weft::run([] {
    weft::chan<int> a(3), b(3);
    weft::chan<std::string> c(2);
    weft::selector selector;
    int sum = 0;
    const std::string text(100, 'x');
    EXPECT_EQ(selector.recv(a, [&](std::optional<int> value) { sum += *value; }), 0u);
    EXPECT_EQ(selector.send(b, 9), 1u);
    EXPECT_EQ(selector.send(c, text), 2u);
    for (int i = 0; i < 5; ++i) EXPECT_NE(selector.wait(), 0u);  // until both are full
    EXPECT_EQ(selector.try_wait(), std::nullopt);
    EXPECT_EQ(selector.wait_for(1ms), std::nullopt);
    a.send(4);
    EXPECT_EQ(selector.try_wait(), 0u);
    EXPECT_EQ(sum, 4);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(b.recv(), 9);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(c.recv(), text);
  });
}

TEST_P(Select, a_value_moved_into_a_selector_is_sent_once) {
  weft::run([] {
    weft::chan<std::unique_ptr<int>> c(2);
    weft::selector selector;
    selector.send(c, std::make_unique<int>(9));
    EXPECT_EQ(selector.wait(), 0u);
    EXPECT_EQ(selector.try_wait(), std::nullopt);
    EXPECT_EQ(selector.wait_for(1ms), std::nullopt);
    EXPECT_EQ(**c.recv(), 9);
    EXPECT_EQ(c.size(), 0u);
  });
}

// Trivially copyable, and yet it cannot be copied.
struct Token {
  explicit Token(int number) : value(number) {}
  Token(Token&&) = default;
  int value;
};
static_assert(std::is_trivially_copyable_v<Token> && !std::is_copy_constructible_v<Token>);
struct Ticket {
  Ticket(const int& number) : value(number) {}  // NOLINT(google-explicit-constructor): converted when it is given
  Ticket(Ticket&&) = default;
  int value;
};

TEST_P(Select, what_cannot_be_copied_is_moved_into_a_selector_and_sent_once) {
  weft::run([] {
    weft::chan<Token> tokens(2);
    weft::chan<Ticket> tickets(2);
    weft::selector selector;
    selector.send(tokens, Token(1));
    const int number = 2;
    selector.send(tickets, number);
    for (int i = 0; i < 2; ++i) EXPECT_NE(selector.try_wait(), std::nullopt);
    EXPECT_EQ(selector.try_wait(), std::nullopt);
    EXPECT_EQ(weft::select(on_send(tokens, Token(3))), 0u);
    tickets.send(4);
    EXPECT_EQ(tokens.recv()->value, 1);
    EXPECT_EQ(tokens.recv()->value, 3);
    EXPECT_EQ(tickets.recv()->value, 2);
    EXPECT_EQ(tickets.recv()->value, 4);
  });
}

TEST_P(Select, a_handler_changes_its_own_selector) {
  weft::run([] {
    weft::chan<int> c(4), d(4);
    for (int i = 1; i <= 4; ++i) c.send(i);
    weft::selector selector;
    int sum = 0;
    selector.recv(c, [&, factor = std::make_unique<int>(10)](std::optional<int> value) {
      selector.clear();
      selector.send(d, *value, [&] { selector.clear(); });
      EXPECT_EQ(selector.wait(), 0u);  // a wait within: its handler ends before this one
      selector.clear();
      selector.recv(c, [&](std::optional<int> next) { sum += *next; });
      sum += *factor * *value;
    });
    EXPECT_EQ(selector.wait(), 0u);
    EXPECT_EQ(sum, 10);
    EXPECT_EQ(d.recv(), 1);
    EXPECT_EQ(selector.wait(), 0u);
    EXPECT_EQ(sum, 12);
  });
}

TEST_P(Select, very_many_cases_work) {
  weft::run([] {
    constexpr std::size_t kCases = 65536;
    std::vector<weft::chan<int>> channels(kCases);
    weft::selector selector;
    for (auto& c : channels) selector.recv(c);
    auto sender = weft::spawn([&] {
      weft::this_goroutine::sleep_for(1ms);
      channels[kCases - 5].send(1);
    });
    EXPECT_EQ(selector.wait(), kCases - 5);
    sender.join();
  });
}

TEST_P(Select, threads_select_too) {
  weft::chan<int> a, b;
  std::thread selecting([&] {
    int sum = 0;
    for (int i = 0; i < 200; ++i)
      weft::select(on_recv(a, [&](std::optional<int> v) { sum += *v; }),
                   on_recv(b, [&](std::optional<int> v) { sum += *v; }));
    EXPECT_EQ(sum, 200);
  });
  weft::wait_group group;
  group.go([&] {
    for (int i = 0; i < 100; ++i) a.send(1);
  });
  group.go([&] {
    for (int i = 0; i < 100; ++i) b.send(1);
  });
  selecting.join();
  group.wait();
}

}  // namespace
