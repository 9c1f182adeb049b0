// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// Channels (CH01-CH22): blocking, order, closing, elements of every shape, plain threads on either side.
namespace {

using namespace weft::test;

class Chan : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Chan);

// Gives others the chance to do what they must not do.
void let_others_run() {
  for (int i = 0; i < 20; ++i) weft::this_goroutine::yield();
}

TEST_P(Chan, receivers_wait_until_something_is_sent) {
  weft::run([] {
    for (std::size_t capacity : {0u, 1u, 2u, 199u}) {
      weft::chan<int> c(capacity);
      std::atomic<int> received{0};
      weft::wait_group group;
      for (int i = 0; i < 2; ++i)
        group.go([&] {
          EXPECT_TRUE(c.recv().has_value());
          ++received;
        });
      let_others_run();
      EXPECT_EQ(received, 0);
      EXPECT_EQ(c.try_recv().status, weft::chan_status::empty);
      c.send(1);
      c.send(2);
      group.wait();
    }
  });
}

TEST_P(Chan, senders_wait_while_it_is_full) {
  weft::run([] {
    for (std::size_t capacity : {0u, 1u, 5u}) {
      weft::chan<std::size_t> c(capacity);
      for (std::size_t i = 0; i < capacity; ++i) c.send(i);
      std::atomic<bool> sent{false};
      auto sender = weft::spawn([&] {
        c.send(capacity);
        sent = true;
      });
      let_others_run();
      EXPECT_FALSE(sent);
      std::size_t value = 77;
      if (capacity > 0) {
        EXPECT_FALSE(c.try_send(value));
      }
      EXPECT_EQ(value, 77u);
      for (std::size_t i = 0; i <= capacity; ++i) EXPECT_EQ(c.recv(), i);
      sender.join();
    }
  });
}

TEST_P(Chan, what_was_sent_before_a_close_is_received_after_it) {
  weft::run([] {
    weft::chan<int> c(10);
    for (int i = 0; i < 10; ++i) c.send(i);
    EXPECT_EQ(c.size(), 10u);
    c.close();
    EXPECT_TRUE(c.closed());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(c.recv(), i);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(c.recv(), std::nullopt);
    EXPECT_EQ(c.try_recv().status, weft::chan_status::closed);
    EXPECT_EQ(c.recv_for(1h).status, weft::chan_status::closed);
  });
}

TEST_P(Chan, a_close_wakes_every_receiver_once) {
  weft::run([] {
    weft::chan<int> c;
    std::atomic<int> woken{0};
    weft::wait_group group;
    for (int i = 0; i < 1000; ++i)
      group.go([&] {
        EXPECT_EQ(c.recv(), std::nullopt);
        ++woken;
      });
    let_others_run();
    c.close();
    group.wait();
    EXPECT_EQ(woken, 1000);
  });
}

// What was written before a send is there after the receive, also if neither has waited and both used the lock as their thread's own. (Here it
// cannot fail but under TSan, which takes goroutines of one thread for strangers.)
TEST_P(Chan, what_was_written_before_a_send_is_there_after_the_receive) {
  weft::run([] {
    constexpr int kItems = 50;
    std::vector<int> contents(kItems);
    weft::chan<int*> c(kItems);
    for (int round = 0; round < 20; ++round) {
      weft::wait_group both;
      both.go([&] {
        for (int i = 0; i < kItems; ++i) {
          contents[static_cast<std::size_t>(i)] = round + i;
          c.send(&contents[static_cast<std::size_t>(i)]);
        }
      });
      both.go([&] {
        weft::this_goroutine::yield();
        for (int i = 0; i < kItems; ++i) EXPECT_EQ(**c.recv(), round + i);
      });
      both.wait();
    }
  });
}

TEST_P(Chan, keeps_the_order_and_loses_nothing) {
  weft::run([] {
    for (std::size_t capacity : {0u, 1u, 7u, 100u}) {
      weft::chan<int> c(capacity);
      weft::go([c]() mutable {
        for (int i = 0; i < 100; ++i) c.send(i);
        c.close();
      });
      int expected = 0;
      for (int value : c) EXPECT_EQ(value, expected++);
      EXPECT_EQ(expected, 100);

      weft::chan<int> many(capacity);
      std::vector<std::atomic<int>> seen(1000);
      weft::wait_group producers, consumers;
      for (int k = 0; k < 4; ++k) {
        producers.go([&] {
          for (int i = 0; i < 1000; ++i) many.send(i);
        });
        consumers.go([&] {
          for (int value : many) ++seen[static_cast<std::size_t>(value)];
        });
      }
      producers.wait();
      many.close();
      consumers.wait();
      EXPECT_TRUE(std::ranges::all_of(seen, [](const std::atomic<int>& count) { return count == 4; }));
    }
  });
}

TEST_P(Chan, waiters_are_served_in_their_order) {
  weft::run([] {
    for (const int count : {10, scaled(10'000)}) {
      weft::chan<int> c;
      std::vector<int> got(static_cast<std::size_t>(count), -1);
      weft::wait_group group;
      for (int i = 0; i < count; ++i) {
        weft::event waiting;
        group.go([&, i] {
          waiting.set();
          got[static_cast<std::size_t>(i)] = *c.recv();
        });
        waiting.wait();
        // Its place in the queue is taken when the runtime shows it waiting.
        ASSERT_TRUE(
            spin_until([&] { return weft::runtime::read_stats().waiting >= static_cast<std::uint64_t>(i + 1); }));
      }
      for (int i = 0; i < count; ++i) c.send(i);
      group.wait();
      std::vector<int> expected(static_cast<std::size_t>(count));
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(got, expected);
    }
  });
}

TEST_P(Chan, nil_is_never_ready) {
  weft::run([] {
    auto c = weft::chan<int>::nil();
    int value = 1;
    EXPECT_FALSE(c.try_send(value));
    EXPECT_FALSE(c.send_for(value, 1ms));
    EXPECT_EQ(c.try_recv().status, weft::chan_status::empty);
    EXPECT_EQ(c.recv_for(1ms).status, weft::chan_status::empty);
    EXPECT_EQ(c.size() + c.capacity(), 0u);
    EXPECT_THROW(c.close(), weft::logic_error);
  });
}

TEST_P(Chan, misuse_throws_and_harms_nothing) {
  weft::run([] {
    weft::chan<std::string> c(1);
    c.send("kept");
    c.close();
    EXPECT_THROW(c.close(), weft::logic_error);
    EXPECT_THROW(c.send("x"), weft::logic_error);
    std::string mine = "mine";
    EXPECT_THROW(c.try_send(mine), weft::logic_error);
    EXPECT_THROW(c.send_for(mine, 1s), weft::logic_error);
    EXPECT_EQ(mine, "mine");
    EXPECT_EQ(c.recv(), "kept");
    EXPECT_EQ(c.recv(), std::nullopt);
  });
}

TEST_P(Chan, a_sender_that_waits_learns_of_the_close) {
  weft::run([] {
    weft::chan<int> c;
    auto sender = weft::spawn([&] { c.send(1); });
    let_others_run();
    c.close();
    EXPECT_THROW(sender.join(), weft::logic_error);
  });
}

TEST_P(Chan, refuses_an_impossible_capacity_before_it_allocates) {
  EXPECT_THROW(weft::chan<int>(static_cast<std::size_t>(-1)), std::length_error);
  EXPECT_THROW(weft::chan<int>(std::size_t{1} << 59), std::length_error);
  EXPECT_THROW(weft::chan<std::string>(std::size_t{1} << 62), std::length_error);
  weft::chan<std::monostate> counted(static_cast<std::size_t>(-1));  // an empty type needs no memory
  counted.send({});
  EXPECT_EQ(counted.size(), 1u);
}

struct alignas(128) Wide {
  explicit Wide(int v) : value(v) {}
  int value;
};
struct Huge {
  std::array<std::uint8_t, 65536> bytes{};
};

TEST_P(Chan, carries_elements_of_every_shape) {
  weft::run([] {
    for (std::size_t capacity : {0u, 3u}) {
      weft::chan<std::unique_ptr<int>> moved(capacity);
      weft::chan<Wide> wide(capacity);
      weft::chan<Huge> huge(capacity);
      weft::chan<Counted> counted(capacity);
      weft::chan<std::monostate> empty(capacity);
      weft::chan<weft::chan<int>> channels(capacity);
      weft::go([=]() mutable {
        moved.send(std::make_unique<int>(5));
        wide.send(Wide(6));
        Huge h;
        h.bytes.back() = 7;
        huge.send(h);
        counted.send({});
        empty.send({});
        weft::chan<int> inner(1);
        inner.send(8);
        channels.send(inner);
      });
      EXPECT_EQ(**moved.recv(), 5);
      const auto w = wide.recv();
      EXPECT_EQ(w->value, 6);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&*w) % 128, 0u);
      EXPECT_EQ(huge.recv()->bytes.back(), 7);
      EXPECT_TRUE(counted.recv());
      EXPECT_TRUE(empty.recv());
      EXPECT_EQ(channels.recv()->recv(), 8);
    }
  });
  EXPECT_TRUE(spin_until([] { return Counted::alive == 0; }, 5s));
}

TEST_P(Chan, destroys_what_nobody_received) {
  {
    weft::chan<Counted> c(5);
    for (int i = 0; i < 3; ++i) c.send({});
    EXPECT_EQ(Counted::alive, 3);
  }
  EXPECT_EQ(Counted::alive, 0);
}

// A move that throws when told to.
struct Grumpy {
  explicit Grumpy(int v) : value(v) { ++alive; }
  Grumpy(Grumpy&& other) : value(other.value) {
    if (throws) throw std::runtime_error("grumpy");
    other.value = -1;
    ++alive;
  }
  ~Grumpy() { --alive; }
  int value;
  static inline thread_local bool throws = false;
  static inline std::atomic<int> alive{0};
};

TEST_P(Chan, a_throwing_move_reaches_its_own_side_only) {
  for (std::size_t capacity : {0u, 2u}) {
    weft::chan<Grumpy> c(capacity);
    std::thread receiver([&] {
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(c.recv());
    });
    std::thread sender([&] {
      c.send(Grumpy(1));
      Grumpy mine(2);
      Grumpy::throws = true;
      EXPECT_THROW(while (!c.try_send(mine)) std::this_thread::yield(), std::runtime_error);  // once there is room
      Grumpy::throws = false;
      EXPECT_EQ(mine.value, 2);
      c.send(Grumpy(3));
      c.send(Grumpy(4));
    });
    sender.join();
    receiver.join();
  }
  EXPECT_EQ(Grumpy::alive, 0);
}

TEST_P(Chan, a_try_never_misses_what_is_there) {
  weft::run([] {
    for (int i = 0; i < scaled(10'000); ++i) {
      weft::chan<int> c(1);
      c.send(1);
      auto other = weft::spawn([c]() mutable {
        c.close();
        return c.recv().has_value();
      });
      const auto mine = c.try_recv();
      EXPECT_NE(mine.status, weft::chan_status::empty);
      EXPECT_NE(static_cast<bool>(mine), other.join());  // one of the two got the value
    }
  });
}

TEST_P(Chan, timed_operations_are_never_early_and_keep_the_value) {
  weft::run([] {
    weft::chan<std::string> c;
    std::string value = "still here";
    const Stopwatch watch;
    EXPECT_FALSE(c.send_for(value, 5ms));
    EXPECT_EQ(c.recv_for(5ms).status, weft::chan_status::empty);
    EXPECT_GE(watch.elapsed(), 10ms);
    EXPECT_EQ(value, "still here");
    auto sender = weft::spawn([&] { return c.send_for(value, 20s); });
    EXPECT_EQ(c.recv_for(20s).value, "still here");
    EXPECT_TRUE(sender.join());
  });
}

TEST_P(Chan, a_value_and_its_time_limit_may_come_together) {
  weft::run([] {
    weft::chan<int> c;
    int sent = 0, received = 0;
    for (int i = 0; i < 300; ++i) {
      auto receiver = weft::spawn([&] { return c.recv_for(50us).value.has_value(); });
      int value = i;
      if (c.send_for(value, 50us)) ++sent;
      if (receiver.join()) ++received;
    }
    EXPECT_EQ(sent, received);
  });
}

TEST_P(Chan, threads_and_goroutines_share_one) {
  weft::chan<int> c(4);
  std::atomic<long> sum{0};
  std::vector<std::thread> threads;
  weft::wait_group group;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k) c.send(1);
    });
    group.go([&] {
      for (int k = 0; k < 500; ++k) c.send(1);
    });
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k) sum += *c.recv();
    });
    group.go([&] {
      for (int k = 0; k < 500; ++k) sum += *c.recv();
    });
  }
  for (std::thread& thread : threads) thread.join();
  group.wait();
  EXPECT_EQ(sum, 2000);
}

TEST_P(Chan, a_handle_may_go_while_its_channel_is_waited_on) {
  weft::run([] {
    auto c = std::make_unique<weft::chan<int>>();
    auto copy = *c;
    auto receiver = weft::spawn([copy]() mutable { return copy.recv(); });
    let_others_run();
    copy.send(3);
    c.reset();
    EXPECT_EQ(receiver.join(), 3);
  });
}

TEST_P(Chan, a_loop_keeps_the_channel_it_began_with) {
  weft::run([] {
    weft::chan<int> c(3), other(1);
    for (int i = 0; i < 3; ++i) c.send(i);
    c.close();
    other.send(7);
    int expected = 0;
    for (auto& value : c) {
      EXPECT_EQ(value, expected++);
      c = other;
    }
    EXPECT_EQ(expected, 3);
    EXPECT_EQ(other.size(), 1u);

    auto only = std::make_unique<weft::chan<std::string>>(2);
    for (const char* text : {"a", "b"}) only->send(text);
    only->close();
    std::string all;
    for (auto& text : *only) {
      all += text;
      only.reset();
    }
    EXPECT_EQ(all, "ab");
  });
}

TEST_P(Chan, a_sieve_finds_the_primes) {
  weft::run([] {
    weft::chan<int> numbers;
    weft::wait_group group;
    std::vector<weft::chan<int>> all{numbers};
    group.go([c = numbers]() mutable {
      try {
        for (int i = 2;; ++i) c.send(i);
      } catch (const weft::logic_error&) {
      }
    });
    std::vector<int> primes;
    for (int i = 0; i < 100; ++i) {
      const int prime = *numbers.recv();
      primes.push_back(prime);
      weft::chan<int> next;
      group.go([in = numbers, out = next, prime]() mutable {
        try {
          for (int value : in)
            if (value % prime != 0) out.send(value);
        } catch (const weft::logic_error&) {
        }
      });
      numbers = next;
      all.push_back(next);
    }
    EXPECT_EQ(primes.back(), 541);
    for (auto& c : all) c.close();
    group.wait();
  });
}

}  // namespace
