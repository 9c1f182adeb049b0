// SPDX-License-Identifier: MIT
// test-timeout: 240
#include <atomic>
#include <thread>
#include <vector>

#include "support/chan_history.h"
#include "support/stress.h"

// Goroutines and plain threads use two channels in every way at once; what each of them saw is recorded with the order of calls and
// returns, and must be explained by one order of steps.
namespace {

using namespace weft::test;
using Verdict = HistoryChecker::Verdict;

class ChanHistory : public StressTest {};
WEFT_AT_ALL_CONFIGURATIONS(ChanHistory);

constexpr int kGoroutines = 4, kThreads = 2, kClients = kGoroutines + kThreads;
constexpr int kCallsEach = 12;

class Recording {
 public:
  Recording(std::uint64_t seed, std::size_t first_capacity, std::size_t second_capacity)
      : seed_(seed), channels_{weft::chan<int>(first_capacity), weft::chan<int>(second_capacity)} {
    histories_[0].capacity = first_capacity;
    histories_[1].capacity = second_capacity;
    for (History& history : histories_) history.clients.resize(kClients);
  }
  const History& history(int channel) const { return histories_[channel]; }

  void act(int client) {
    Random random(seed_ * 100 + static_cast<std::uint64_t>(client));
    for (int i = 0; i < kCallsEach; ++i) {
      const int which = random.below(2), value = (client + 1) * 1000 + i;
      const auto limit = std::chrono::microseconds(random.below(200));
      const std::uint64_t called = ++clock_;
      switch (random.below(12)) {
        case 0:
          sent(client, which, value, called, [&](weft::chan<int>& c) { return c.try_send(int{value}); }, true);
          break;
        case 1:
        case 2:
        case 3:
          sent(client, which, value, called, [&](weft::chan<int>& c) { return c.send_for(int{value}, limit); }, false);
          break;
        case 4:  received(client, which, called, channels_[which].try_recv(), true); break;
        case 5:
        case 6:
        case 7:  received(client, which, called, channels_[which].recv_for(limit), false); break;
        case 8:
        case 9:  select_receive(client, called, limit); break;
        case 10: select_send(client, value, called, limit); break;
        default:
          if (i > kCallsEach / 2 && random.below(6) == 0) close(client, which, called);
      }
      if (random.below(4) == 0) weft::this_goroutine::yield();
    }
  }

 private:
  void note(int client, int channel, Call::Kind kind, int value, std::uint64_t called) {
    histories_[channel].clients[static_cast<std::size_t>(client)].push_back({kind, value, called, ++clock_});
  }
  // One that gave up after a while says nothing of any single moment.
  template <class Send>
  void sent(int client, int which, int value, std::uint64_t called, Send send, bool at_once) {
    try {
      if (send(channels_[which])) {
        note(client, which, Call::kSend, value, called);
      } else if (at_once) {
        note(client, which, Call::kFull, 0, called);
      }
    } catch (const weft::logic_error&) {
      note(client, which, Call::kSendOnClosed, 0, called);
    }
  }
  void received(int client, int which, std::uint64_t called, const weft::recv_result<int>& result, bool at_once) {
    if (result) {
      note(client, which, Call::kReceive, *result.value, called);
    } else if (result.status == weft::chan_status::closed) {
      note(client, which, Call::kReceiveClosed, 0, called);
    } else if (at_once) {
      note(client, which, Call::kEmpty, 0, called);
    }
  }
  void select_receive(int client, std::uint64_t called, std::chrono::microseconds limit) {
    std::optional<int> value;
    const auto keep = [&](std::optional<int> got) { value = got; };
    const auto chosen = static_cast<int>(
        weft::select(weft::on_recv(channels_[0], keep), weft::on_recv(channels_[1], keep), weft::on_timeout(limit)));
    if (chosen < 2) note(client, chosen, value ? Call::kReceive : Call::kReceiveClosed, value.value_or(0), called);
  }
  // Offers on both; the value that was not taken must not appear.
  void select_send(int client, int value, std::uint64_t called, std::chrono::microseconds limit) {
    if (channels_[0].closed() || channels_[1].closed()) return;
    try {
      const auto chosen = static_cast<int>(weft::select(
          weft::on_send(channels_[0], int{value}), weft::on_send(channels_[1], int{value}), weft::on_timeout(limit)));
      if (chosen < 2) note(client, chosen, Call::kSend, value, called);
    } catch (const weft::logic_error&) {  // one of them was closed; which is not said
    }
  }
  void close(int client, int which, std::uint64_t called) {
    try {
      channels_[which].close();
      note(client, which, Call::kClose, 0, called);
    } catch (const weft::logic_error&) {
      note(client, which, Call::kSendOnClosed, 0, called);  // the same: it was closed
    }
  }

  std::uint64_t seed_;
  weft::chan<int> channels_[2];
  History histories_[2];
  std::atomic<std::uint64_t> clock_{0};
};

// A value that arrives a second time in place of another must be found in whatever was recorded.
void expect_corruption_is_found(History history) {
  Call* first = nullptr;
  for (auto& calls : history.clients)
    for (Call& call : calls)
      if (call.kind == Call::kReceive) {
        if (first != nullptr) {
          call.value = first->value;
          EXPECT_EQ(check(history), Verdict::kImpossible) << history.text();
          return;
        }
        first = &call;
      }
}

TEST_P(ChanHistory, is_explained_by_one_order_of_steps) {
  const Budget budget(500ms);
  static std::uint64_t seed = 0;
  std::size_t histories = 0, values = 0, corrupted = 0;
  do {
    ++seed;
    static constexpr std::size_t kCapacities[] = {0, 1, 2, 5};
    Recording recording(seed, kCapacities[seed % 4], kCapacities[(seed / 4) % 4]);
    std::atomic<int> arrived{0};
    const auto start_together = [&] {
      ++arrived;
      return spin_until([&] { return arrived == kClients; });
    };
    weft::wait_group group;
    for (int i = 0; i < kGoroutines; ++i) {
      group.go([&, i] {
        if (start_together()) recording.act(i);
      });
    }
    std::vector<std::thread> threads;
    for (int i = kGoroutines; i < kClients; ++i) {
      threads.emplace_back([&, i] {
        if (start_together()) recording.act(i);
      });
    }
    for (std::thread& thread : threads) thread.join();
    group.wait();
    for (int channel = 0; channel < 2; ++channel) {
      const History& history = recording.history(channel);
      const Verdict verdict = check(history);
      ++histories;
      ASSERT_NE(verdict, Verdict::kImpossible) << "seed " << seed << ", channel " << channel << '\n' << history.text();
      ASSERT_NE(verdict, Verdict::kTooHard) << "seed " << seed << ": the histories are too long to be checked\n"
                                            << history.text();
      for (const auto& calls : history.clients)
        values += static_cast<std::size_t>(
            std::count_if(calls.begin(), calls.end(), [](const Call& call) { return call.kind == Call::kReceive; }));
      if (seed % 8 == 0 && corrupted < 20) {
        expect_corruption_is_found(history);
        ++corrupted;
      }
    }
  } while (budget.is_left() && !HasFailure());
  EXPECT_GT(values, 0u) << "nothing was ever received";
  RecordProperty("histories", static_cast<int>(histories));
  RecordProperty("values", static_cast<int>(values));
}

// --- the checker itself ---

History history(std::size_t capacity, std::vector<std::vector<Call>> clients) { return {capacity, std::move(clients)}; }

TEST(HistoryChecker, accepts_what_overlaps) {
  EXPECT_EQ(check(history(0, {{{Call::kSend, 1, 1, 4}}, {{Call::kReceive, 1, 2, 3}}})), Verdict::kExplained);
  EXPECT_EQ(check(history(2, {{{Call::kSend, 1, 1, 8}},
                              {{Call::kSend, 2, 2, 7}},
                              {{Call::kReceive, 2, 3, 4}, {Call::kReceive, 1, 5, 6}}})),
            Verdict::kExplained);
  EXPECT_EQ(check(history(1, {{{Call::kSend, 1, 1, 2}, {Call::kFull, 0, 3, 4}, {Call::kClose, 0, 5, 6}},
                              {{Call::kReceive, 1, 7, 8}, {Call::kReceiveClosed, 0, 9, 10}}})),
            Verdict::kExplained);
}

TEST(HistoryChecker, finds_what_cannot_have_happened) {
  const auto rejects = [](std::size_t capacity, std::vector<std::vector<Call>> clients) {
    return check(history(capacity, std::move(clients))) == Verdict::kImpossible;
  };
  EXPECT_TRUE(rejects(1, {{{Call::kReceive, 1, 1, 2}}, {{Call::kSend, 1, 3, 4}}})) << "received before it was sent";
  EXPECT_TRUE(rejects(2, {{{Call::kSend, 1, 1, 2}}, {{Call::kReceive, 1, 3, 4}, {Call::kReceive, 1, 5, 6}}}))
      << "twice";
  EXPECT_TRUE(rejects(
      2, {{{Call::kSend, 1, 1, 2}, {Call::kSend, 2, 3, 4}}, {{Call::kReceive, 2, 5, 6}, {Call::kReceive, 1, 7, 8}}}))
      << "out of order";
  EXPECT_TRUE(rejects(
      1, {{{Call::kSend, 1, 1, 2}, {Call::kSend, 2, 3, 4}}, {{Call::kReceive, 1, 5, 6}, {Call::kReceive, 2, 7, 8}}}))
      << "more than fits";
  EXPECT_TRUE(rejects(0, {{{Call::kSend, 1, 1, 2}}, {{Call::kReceive, 1, 3, 4}}})) << "no buffer, and they never met";
  EXPECT_TRUE(rejects(1, {{{Call::kSend, 1, 1, 2}}, {{Call::kEmpty, 0, 3, 4}}})) << "empty, although full";
  EXPECT_TRUE(rejects(1, {{{Call::kFull, 0, 1, 2}}})) << "full, although empty";
  EXPECT_TRUE(rejects(1, {{{Call::kSend, 1, 1, 2}, {Call::kClose, 0, 3, 4}}, {{Call::kReceiveClosed, 0, 5, 6}}}))
      << "lost by a close";
  EXPECT_TRUE(rejects(1, {{{Call::kClose, 0, 1, 2}, {Call::kSend, 1, 3, 4}}})) << "sent after the close";
  EXPECT_TRUE(rejects(1, {{{Call::kReceiveClosed, 0, 1, 2}}})) << "closed by nobody";
}

}  // namespace
