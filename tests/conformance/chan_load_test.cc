// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/runtime_test.h"

// Channels with many waiters, many values and deep stacks.
namespace {

using namespace weft::test;

class ChanLoad : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(ChanLoad);

TEST_P(ChanLoad, sizes_are_exact_when_nobody_is_at_work) {  // CH07
  for (std::size_t capacity = 0; capacity < 200; capacity += capacity < 4 ? 1 : 39) {
    weft::chan<int> c(capacity);
    EXPECT_EQ(c.capacity(), capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_EQ(c.size(), i);
      c.send(1);
    }
    EXPECT_EQ(c.size(), capacity);
    EXPECT_FALSE(c.try_send(1));
    for (std::size_t i = capacity; i > 0; --i) {
      EXPECT_EQ(c.size(), i);
      c.recv();
    }
    EXPECT_EQ(c.size(), 0u);
  }
}

TEST_P(ChanLoad, every_worker_gets_its_share_and_no_item_is_lost) {  // CH15
  weft::run([] {
    constexpr int kWorkers = 23;
    const int items = scaled(271'828);
    weft::chan<int> work(10), results(10);
    weft::wait_group workers;
    for (int i = 0; i < kWorkers; ++i)
      workers.go([=]() mutable {
        for (int& item : work) results.send(2 * item);
      });
    weft::go([=, &workers]() mutable {
      for (int i = 0; i < items; ++i) work.send(i);
      work.close();
      workers.wait();
      results.close();
    });
    std::int64_t sum = 0;
    int count = 0;
    for (const int result : results) {
      sum += result;
      ++count;
    }
    EXPECT_EQ(count, items);
    EXPECT_EQ(sum, std::int64_t{items} * (items - 1));
  });
}

// Each waits in the shared channel's list and is woken through its own: leaving a list may not depend on its length.
TEST_P(ChanLoad, leaving_a_long_list_of_waiters_takes_no_longer) {  // CH16
  const auto round_trip = [](int count) {
    weft::chan<int> shared;
    std::vector<weft::chan<int>> own(static_cast<std::size_t>(count));
    weft::wait_group all;
    for (int i = 0; i < count; ++i)
      all.go([&, i] { weft::select(weft::on_recv(shared), weft::on_recv(own[static_cast<std::size_t>(i)])); });
    EXPECT_TRUE(spin_until([&] { return weft::runtime::read_stats().waiting >= static_cast<std::uint64_t>(count); }));
    const Stopwatch watch;
    for (int i = 0; i < count; ++i) own[static_cast<std::size_t>(i)].send(i);
    all.wait();
    return watch.elapsed();
  };
  weft::run([&] {
    // In no cache a waiter takes a microsecond; to look for it in the list would take 16,000 steps, 80 us at the least.
    // TSan needs two mappings for each goroutine, of which a process has 65,530 (vm.max_map_count).
    constexpr int kCount = kTsan ? 24'000 : 32'000, kFew = 1'000;
    const auto limit = 15us * kSlowdown + (kTsan ? round_trip(kFew) / kFew : 0ns);  // TSan takes long for each that ends
    auto each = round_trip(kCount) / kCount;
    for (int attempt = 0; attempt < 3 && each >= limit; ++attempt)
      each = std::min(each, round_trip(kCount) / kCount);
    EXPECT_LT(each, limit);
  });
}

// A value on a stack that is used heavily before and after.
template <class Body>
[[gnu::noinline]] std::uint64_t deep_below(int depth, std::uint64_t seed, Body& body) {
  std::array<std::uint64_t, 32> frame;
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = seed + i;
  if (depth == 0) {
    body();
  } else {
    seed = deep_below(depth - 1, seed + 1, body) - 1;
  }
  for (std::size_t i = 0; i < frame.size(); ++i)
    if (frame[i] != seed + i) ADD_FAILURE() << "a frame was overwritten";
  return seed;
}

TEST_P(ChanLoad, a_value_on_the_senders_stack_arrives_whole) {  // CH22
  weft::run([] {
    using Block = std::array<std::uint64_t, 64>;
    weft::chan<Block> c;
    constexpr int kSenders = 8;
    const int rounds = scaled(50);
    weft::wait_group senders;
    for (int me = 0; me < kSenders; ++me)
      senders.go([&, me] {
        for (int round = 0; round < rounds; ++round) {
          auto send = [&] {
            Block block;
            block.fill(static_cast<std::uint64_t>(me * 1000 + round));
            weft::select(weft::on_send(c, block));
            EXPECT_EQ(block.back(), static_cast<std::uint64_t>(me * 1000 + round)) << "copied, not taken";
          };
          deep_below(round % 40, static_cast<std::uint64_t>(me), send);
          auto nothing = [] {};
          deep_below(40, 7, nothing);
        }
      });
    for (int i = 0; i < kSenders * rounds; ++i) {
      auto receive = [&] {
        const Block block = *c.recv();
        EXPECT_TRUE(std::ranges::all_of(block, [&](std::uint64_t word) { return word == block.front(); }));
      };
      deep_below(i % 30, 3, receive);
    }
    senders.wait();
  });
}

}  // namespace
