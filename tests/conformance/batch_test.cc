// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include "support/runtime_test.h"

// The policy batch: which goroutines it groups, and that groups which have nothing to do with each other are separated.
namespace {

using namespace weft::test;
using weft::batch_info;
using weft::goroutine_id;
using weft::policy_kind;

class Batches : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    weft::runtime::set_maxprocs(GetParam());
    weft::runtime::set_policy(policy_kind::batch);
  }
  void TearDown() override { weft::runtime::set_policy(policy_kind::classic); }

  static const batch_info* batch_of(const std::vector<batch_info>& batches, goroutine_id member) {
    const auto found = std::ranges::find_if(batches, [&](const batch_info& one) {
      return std::ranges::find(one.members, member) != one.members.end();
    });
    return found == batches.end() ? nullptr : &*found;
  }
  static bool names(const batch_info& batch, const std::string& channel) {
    return std::ranges::find(batch.channels, channel) != batch.channels.end();
  }

 private:
  Watchdog watchdog_{40 * kSlowdown};
};
std::string number_of(const ::testing::TestParamInfo<int>& info) { return std::to_string(info.param); }
INSTANTIATE_TEST_SUITE_P(P, Batches, ::testing::Values(1, 2, 4), number_of);

// Two goroutines that send numbers back and forth, and then wait until they may end.
struct Pair {
  weft::chan<int> there{0, "there"}, back{0, "back"}, end{0, "end"};
  goroutine_id one, two;

  void start(weft::wait_group& rounds_done, weft::wait_group& group, int rounds) {
    rounds_done.add(2);
    group.go([this, rounds, &rounds_done] {
      one = weft::this_goroutine::get_id();
      for (int i = 0; i < rounds; ++i) {
        there.send(i);
        static_cast<void>(back.recv());
      }
      rounds_done.done();
      static_cast<void>(end.recv());
    });
    group.go([this, rounds, &rounds_done] {
      two = weft::this_goroutine::get_id();
      for (int i = 0; i < rounds; ++i) {
        static_cast<void>(there.recv());
        back.send(i);
      }
      rounds_done.done();
      static_cast<void>(end.recv());
    });
  }
};

TEST_P(Batches, hold_those_who_talk_with_each_other) {
  weft::run([] {
    constexpr int kPairs = 4, kRounds = 1000;
    Pair pairs[kPairs];
    weft::wait_group done, group;
    for (Pair& pair : pairs) pair.start(done, group, kRounds);
    done.wait();
    const std::vector<batch_info> batches = weft::runtime::batches();
    const std::string dump = dump_text();
    EXPECT_EQ(batches.size(), std::size_t{kPairs});
    std::vector<std::uint64_t> ids;
    for (const Pair& pair : pairs) {
      const batch_info* batch = batch_of(batches, pair.one);
      ASSERT_NE(batch, nullptr);
      EXPECT_EQ(batch, batch_of(batches, pair.two));
      EXPECT_EQ(batch->members.size(), 2u);
      EXPECT_TRUE(names(*batch, "there") || names(*batch, "back"));
      EXPECT_FALSE(names(*batch, "end"));
      EXPECT_GT(batch->meetings, std::uint64_t{kRounds} / 2);
      EXPECT_LT(batch->meetings, std::uint64_t{kRounds} * 4);
      EXPECT_GE(batch->processor, 0);
      EXPECT_LT(batch->processor, GetParam());
      EXPECT_NE(dump.find("batch " + std::to_string(batch->id)), std::string::npos) << dump;
      ids.push_back(batch->id);
    }
    std::ranges::sort(ids);
    EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end()) << "each batch has an id of its own";
    EXPECT_GE(weft::runtime::read_stats().batches, std::uint64_t{kPairs});
    EXPECT_GE(weft::runtime::read_stats().batch_joins, std::uint64_t{2 * kPairs});
    for (Pair& pair : pairs) pair.end.close();
    group.wait();
    EXPECT_EQ(batch_of(weft::runtime::batches(), pairs[0].one), nullptr) << "it has ended";
  });
}

TEST_P(Batches, are_not_known_under_other_policies) {
  weft::run([] {
    Pair pair;
    weft::wait_group done, group;
    pair.start(done, group, 100);
    done.wait();
    EXPECT_FALSE(weft::runtime::batches().empty());
    weft::runtime::set_policy(policy_kind::classic);
    EXPECT_TRUE(weft::runtime::batches().empty());
    EXPECT_EQ(dump_text().find(", batch "), std::string::npos);
    weft::runtime::set_policy(policy_kind::global);
    EXPECT_TRUE(weft::runtime::batches().empty());
    weft::runtime::set_policy(policy_kind::batch);
    pair.end.close();
    group.wait();
  });
}

TEST_P(Batches, know_channels_of_selects_and_of_close) {
  weft::run([] {
    weft::chan<int> work(0, "work"), other(0, "other"), end(0, "end");
    weft::wait_group group, done;
    goroutine_id selecting, sending;
    done.add(2);
    group.go([&] {
      selecting = weft::this_goroutine::get_id();
      int sum = 0;
      for (bool open = true; open;)
        weft::select(weft::on_recv(work,
                                   [&](std::optional<int> value) { value ? void(sum += *value) : void(open = false); }),
                     weft::on_recv(other, [](std::optional<int>) {}));
      EXPECT_EQ(sum, 4950);
      done.done();
      static_cast<void>(end.recv());
    });
    group.go([&] {
      sending = weft::this_goroutine::get_id();
      for (int i = 0; i < 100; ++i) work.send(i);
      work.close();
      done.done();
      static_cast<void>(end.recv());
    });
    done.wait();
    const std::vector<batch_info> batches = weft::runtime::batches();
    const batch_info* batch = batch_of(batches, selecting);
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch, batch_of(batches, sending));
    EXPECT_TRUE(names(*batch, "work"));
    EXPECT_FALSE(names(*batch, "other")) << "it was one of the cases, but nobody met there";
    end.close();
    group.wait();
  });
}

// Eight goroutines in a ring. They may begin as several batches, but each talks only with its neighbours in the ring.
TEST_P(Batches, of_a_ring_become_one) {
  weft::run([] {
    constexpr std::size_t kMembers = 8;
    std::vector<weft::chan<int>> ring;
    for (std::size_t i = 0; i < kMembers; ++i) ring.emplace_back(0);
    std::atomic<bool> over{false};
    std::vector<goroutine_id> ids(kMembers);
    weft::wait_group group;
    for (std::size_t i = 0; i < kMembers; ++i)
      group.go([&, i] {
        ids[i] = weft::this_goroutine::get_id();
        for (;;) {
          const std::optional<int> token = ring[i].recv();
          if (!token || over) break;
          ring[(i + 1) % kMembers].send(*token + 1);
        }
        ring[(i + 1) % kMembers].close();
      });
    ring[0].send(1);
    const auto is_one = [&] {
      const std::vector<batch_info> batches = weft::runtime::batches();
      const batch_info* batch = batch_of(batches, ids[0]);
      return batch != nullptr && batch->members.size() >= kMembers &&
             std::ranges::all_of(ids, [&](goroutine_id id) { return batch_of(batches, id) == batch; });
    };
    const auto end = Clock::now() + 20s;
    bool became_one = false;
    while (!(became_one = is_one()) && Clock::now() < end) weft::this_goroutine::sleep_for(1ms);
    EXPECT_TRUE(became_one);
    over = true;
    group.wait();
  });
}

TEST_P(Batches, do_not_grow_with_the_clients_of_a_server) {
  weft::run([] {
    constexpr int kClients = 200;
    weft::chan<weft::chan<int>> requests(0, "requests");
    weft::chan<int> end(0, "end");
    weft::wait_group group, done;
    done.add(kClients);
    group.go([&] {
      while (const std::optional<weft::chan<int>> answer = requests.recv()) answer->send(1);
    });
    for (int i = 0; i < kClients; ++i)
      group.go([&] {
        weft::chan<int> answer(0);
        for (int k = 0; k < 20; ++k) {
          requests.send(answer);
          static_cast<void>(answer.recv());
        }
        done.done();
        static_cast<void>(end.recv());
      });
    done.wait();
    const std::vector<batch_info> batches = weft::runtime::batches();
    EXPECT_FALSE(batches.empty());
    for (const batch_info& batch : batches) EXPECT_LE(batch.members.size(), 64u);
    requests.close();
    end.close();
    group.wait();
  });
}

TEST_P(Batches, keep_the_woken_on_the_processor_of_the_waker) {
  weft::run([] {
    Pair pair;
    weft::wait_group done, group;
    const weft::stats before = weft::runtime::read_stats();
    pair.start(done, group, scaled(5000));
    done.wait();
    const weft::stats after = weft::runtime::read_stats();
    const std::uint64_t switches = after.switches - before.switches;
    EXPECT_GE(switches, std::uint64_t(scaled(5000)));
    EXPECT_LT((after.migrations - before.migrations) * 10, switches);
    EXPECT_GT((after.same_p_wakes - before.same_p_wakes) * 10, switches * 9 - 20);
    pair.end.close();
    group.wait();
  });
}

// C14: unrelated pairs that are mixed in one batch are separated by its splits, each of which takes one goroutine out. After
// k splits they run apart, and a batch that holds one pair is never split.
TEST(BatchSplits, separate_k_mixed_pairs_with_at_most_k) {
  constexpr int kPairs = 32;
  const Watchdog watchdog(60 * kSlowdown);
  weft::runtime::set_maxprocs(1);
  weft::runtime::set_policy(policy_kind::batch);
  weft::run([] {
    Pair pairs[kPairs];
    weft::wait_group done, group;
    const std::uint64_t before = weft::runtime::read_stats().batch_splits;
    for (Pair& pair : pairs) pair.start(done, group, scaled(4000));
    done.wait();
    const std::uint64_t splits = weft::runtime::read_stats().batch_splits - before;
    EXPECT_GT(splits, 0u) << "they were never mixed";
    EXPECT_LE(splits, std::uint64_t{kPairs});
    for (Pair& pair : pairs) pair.end.close();
    group.wait();
  });
  weft::runtime::set_policy(policy_kind::classic);
}

}  // namespace
