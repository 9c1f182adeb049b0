// SPDX-License-Identifier: MIT
#include <malloc.h>

#include <array>
#include <atomic>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/runtime_test.h"

// Select under load: chance, one winner, nothing left behind in the lists of the losers, no growth.
namespace {

using namespace weft::test;
using weft::on_default;
using weft::on_recv;
using weft::on_send;
using weft::on_timeout;

class SelectLoad : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(SelectLoad);

TEST_P(SelectLoad, only_nil_channels_are_never_ready) {  // SE02
  weft::run([] {
    auto nil = weft::chan<int>::nil();
    EXPECT_EQ(weft::select(on_recv(nil), on_send(nil, 1), on_default()), 2u);
    const Stopwatch watch;
    EXPECT_EQ(weft::select(on_recv(nil), on_send(nil, 1), on_timeout(5ms)), 2u);
    EXPECT_GE(watch.elapsed(), 5ms);
  });
}

// There is always something ready in one of the two: a look at one after the other could miss both.
TEST_P(SelectLoad, a_close_counts_as_ready_at_the_same_moment) {  // SE04
  weft::run([] {
    for (int i = 0; i < scaled(4000); ++i) {
      weft::chan<int> a(1), b(1);
      a.send(1);
      auto other = weft::spawn([=]() mutable {
        b.close();
        a.try_recv();
      });
      EXPECT_NE(weft::select(on_recv(a), on_recv(b), on_default()), 2u);
      other.join();
    }
  });
}

TEST_P(SelectLoad, two_sends_to_one_channel_are_chosen_by_chance) {  // SE06
  weft::run([] {
    weft::chan<int> c;
    constexpr int kRounds = 200;
    auto sender = weft::spawn([&] {
      for (int i = 0; i < kRounds; ++i) weft::select(on_send(c, 0), on_send(c, 1));
    });
    std::array<int, 2> counts{};
    for (int i = 0; i < kRounds; ++i) ++counts[static_cast<std::size_t>(*c.recv())];
    sender.join();
    EXPECT_GT(counts[0], kRounds / 10);
    EXPECT_GT(counts[1], kRounds / 10);
  });
}

TEST_P(SelectLoad, one_that_sends_and_receives_alone_waits) {  // SE09
  weft::run([] {
    weft::chan<int> c;
    EXPECT_EQ(weft::select(on_send(c, 1), on_recv(c), on_timeout(5ms)), 2u);
    EXPECT_EQ(weft::select(on_send(c, 1), on_recv(c), on_default()), 2u);
  });
}

TEST_P(SelectLoad, everybody_finishes_however_they_meet) {  // SE10
  weft::run([] {
    // Two unbuffered, two with room; on each as many sends as receives. Who has done his part on a channel drops the case.
    const std::array<std::size_t, 4> capacities{0, 0, 2, 3};
    std::vector<weft::chan<int>> channels;
    for (const std::size_t capacity : capacities) channels.emplace_back(capacity);
    const int rounds = scaled(4000);
    std::atomic<long> sent{0}, received{0};
    weft::wait_group group;
    for (auto& one : channels) {
      group.go([&, c = one]() mutable {
        for (int i = 0; i < rounds; ++i) c.send(1), ++sent;
      });
      group.go([&, c = one]() mutable {
        for (int i = 0; i < rounds; ++i) received += *c.recv();
      });
    }
    group.go([&, mine = channels]() mutable {
      std::array<int, 4> left;
      left.fill(rounds);
      for (long n = 4L * rounds; n > 0; --n) {
        const std::size_t i =
            weft::select(on_send(mine[0], 1), on_send(mine[1], 1), on_send(mine[2], 1), on_send(mine[3], 1));
        ++sent;
        if (--left[i] == 0) mine[i] = weft::chan<int>::nil();
      }
    });
    group.go([&, mine = channels]() mutable {
      std::array<int, 4> left;
      left.fill(rounds);
      const auto count = [&](std::optional<int> value) { received += *value; };
      for (long n = 4L * rounds; n > 0; --n) {
        const std::size_t i = weft::select(on_recv(mine[0], count), on_recv(mine[1], count), on_recv(mine[2], count),
                                           on_recv(mine[3], count));
        if (--left[i] == 0) mine[i] = weft::chan<int>::nil();
      }
    });
    group.wait();
    EXPECT_EQ(sent, 8L * rounds);
    EXPECT_EQ(received, 8L * rounds);
  });
}

TEST_P(SelectLoad, one_that_leaves_a_list_takes_nobody_along) {  // SE11
  weft::run([] {
    for (int place = 0; place < 4; ++place) {  // of the select in the list
      weft::chan<int> c, other;
      weft::wait_group group;
      std::atomic<int> received{0};
      for (int i = 0; i < 4; ++i) {
        weft::event started;
        group.go([&, is_select = i == place] {
          started.set();
          if (is_select) {
            EXPECT_EQ(weft::select(on_recv(c), on_recv(other)), 1u);
          } else {
            received += *c.recv();
          }
        });
        started.wait();
        ASSERT_TRUE(
            spin_until([&] { return weft::runtime::read_stats().waiting >= static_cast<std::uint64_t>(i + 1); }));
      }
      other.send(1);
      for (int i = 0; i < 3; ++i) c.send(1);
      group.wait();
      EXPECT_EQ(received, 3);
      EXPECT_FALSE(c.try_send(1)) << "nobody is left in the list";
    }
  });
}

TEST_P(SelectLoad, selects_leave_no_memory_behind) {  // SE12
  weft::run([] {
    weft::chan<int> a, b;
    const auto exchange = [&](int count) {
      auto partner = weft::spawn([&] {
        for (int i = 0; i < count; ++i) weft::select(on_recv(a), on_recv(b));
      });
      for (int i = 0; i < count; ++i) weft::select(on_send(a, i), on_send(b, i));
      partner.join();
    };
    const auto heap_bytes = [] {
      const struct mallinfo2 info = mallinfo2();
      return info.uordblks + info.hblkhd;
    };
    exchange(2000);
    const std::size_t before = resident_bytes(), heap_before = heap_bytes();
    exchange(scaled(100'000));
    if (!kSanitized) {
      EXPECT_LE(heap_bytes(), heap_before + 110'000);
      EXPECT_LE(resident_bytes(), before + 1'500'000) << "more than a thread or two that were started meanwhile";
    }
  });
}

// All channels of a select are locked for a moment: two that lock them in their own order would meet.
TEST_P(SelectLoad, many_channels_in_opposite_orders) {  // SE17
  weft::run([] {
    for (const std::size_t count : {2u, 5u, 64u}) {
      std::vector<weft::chan<int>> channels(count);
      weft::wait_group group;
      for (int direction = 0; direction < 2; ++direction)
        group.go([&, direction] {
          weft::selector selector;
          for (std::size_t k = 0; k < count; ++k) {
            selector.recv(channels[direction == 0 ? k : count - 1 - k]);
          }
          for (int i = 0; i < scaled(20'000 / static_cast<int>(count)); ++i)
            EXPECT_EQ(selector.try_wait(), std::nullopt);
        });
      group.wait();
    }
  });
}

// A move that throws when told to, and counts.
struct Fragile {
  explicit Fragile(int v) : value(v) { ++alive; }
  Fragile(Fragile&& other) noexcept(false) : value(other.value) { arrive(other); }
  Fragile(const Fragile& other) : value(other.value) { arrive(other); }
  ~Fragile() { --alive; }
  void arrive(const Fragile& other) {
    ++moves;
    if (other.throws) throw std::runtime_error("fragile");
    ++alive;
  }
  int value;
  bool throws = false;
  static inline std::atomic<int> alive{0}, moves{0};
};

TEST_P(SelectLoad, what_is_not_sent_is_not_touched_even_if_its_move_may_throw) {
  weft::run([] {
    Fragile::moves = 0;
    weft::chan<Fragile> c, full(1);
    full.send(Fragile(0));
    const int before = Fragile::moves;
    Fragile mine(1);
    mine.throws = true;  // whoever touches it shows
    EXPECT_FALSE(c.try_send(mine));
    EXPECT_FALSE(full.try_send(std::move(mine)));
    EXPECT_FALSE(full.send_for(mine, 1ms));
    EXPECT_EQ(weft::select(on_send(c, mine), on_send(full, std::move(mine)), on_default()), 2u);
    EXPECT_EQ(weft::select(on_send(c, std::move(mine)), on_send(full, mine), on_timeout(1ms)), 2u);
    full.recv();
    full.close();
    EXPECT_THROW(full.try_send(mine), weft::logic_error);
    EXPECT_THROW(weft::select(on_send(full, std::move(mine))), weft::logic_error);
    EXPECT_EQ(mine.value, 1);
    EXPECT_LE(Fragile::moves - before, 2) << "only what was received was moved";
  });
  EXPECT_EQ(Fragile::alive, 0);
}

// Until so many goroutines wait for that: what is queued on a channel is seen in a stopped world only.
bool spin_until_waiting(std::string_view reason, int count) {
  return spin_until([=] {
    std::ostringstream out;
    weft::runtime::dump(out);
    const std::string dump = out.str();
    int found = 0;
    for (std::size_t at = dump.find(reason); at != std::string::npos; at = dump.find(reason, at + 1)) ++found;
    return found == count;
  });
}

TEST_P(SelectLoad, a_move_that_throws_is_the_senders_and_loses_no_receiver) {
  weft::run([] {
    for (const std::size_t capacity : {0u, 1u}) {
      weft::chan<Fragile> c(capacity);
      auto receiver = weft::spawn([&] { return c.recv()->value; });
      ASSERT_TRUE(spin_until_waiting("[chan receive", 1));
      Fragile bad(1), good(2);
      bad.throws = true;
      EXPECT_THROW(weft::select(on_send(c, std::move(bad))), std::runtime_error);
      EXPECT_THROW(c.send_for(bad, 10s), std::runtime_error);
      EXPECT_THROW(c.send(std::move(bad)), std::runtime_error);
      EXPECT_TRUE(c.send_for(good, 10s));
      EXPECT_EQ(receiver.join(), 2);
      // Senders that wait: the first one's move fails when its turn has come.
      if (capacity == 1) c.send(Fragile(0));
      auto failing = weft::spawn([&] { c.send_for(bad, 10s); });
      ASSERT_TRUE(spin_until_waiting("[select]", 1));
      auto following = weft::spawn([&] { c.send_for(good, 10s); });
      ASSERT_TRUE(spin_until_waiting("[select]", 2));
      if (capacity == 1) {
        EXPECT_EQ(c.recv()->value, 0);
      }
      EXPECT_EQ(c.recv()->value, 2);
      EXPECT_THROW(failing.join(), std::runtime_error);
      following.join();
    }
  });
  EXPECT_EQ(Fragile::alive, 0);
}

}  // namespace
