// SPDX-License-Identifier: MIT
#include "sched/bias/biased_flag.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "base/random.h"
#include "sched/bias/test_owners.h"

namespace weft::sched {
namespace {

using Flag = BiasedFlag<base::StdAtomics, TestOwners>;

class BiasedFlagTest : public OwnersTest {
 protected:
  Flag flag_;
};

TEST_F(BiasedFlagTest, is_set_once) {
  EXPECT_FALSE(flag_.is_set());
  EXPECT_TRUE(flag_.set());
  EXPECT_TRUE(flag_.is_set());
  EXPECT_FALSE(flag_.set());
}

TEST_F(BiasedFlagTest, is_set_by_its_owner_and_stays_its_own) {
  flag_.give_to(TestOwners::owners[0]);
  EXPECT_FALSE(flag_.is_set());
  EXPECT_TRUE(flag_.set());
  EXPECT_TRUE(flag_.is_set());
  EXPECT_FALSE(flag_.set());
  EXPECT_TRUE(flag_.is_own());
  EXPECT_EQ(TestOwners::revoked, 0);
}

TEST_F(BiasedFlagTest, is_taken_away_by_who_else_wants_to_set_it) {
  flag_.give_to(TestOwners::owners[0]);
  on_another_thread(&TestOwners::owners[1], [&] { EXPECT_TRUE(flag_.set()); });
  EXPECT_FALSE(flag_.is_own());
  EXPECT_FALSE(flag_.set());
  EXPECT_EQ(TestOwners::revoked, 1);
}

TEST_F(BiasedFlagTest, a_thread_without_a_number_sees_that_its_owner_was_first) {
  flag_.give_to(TestOwners::owners[0]);
  EXPECT_TRUE(flag_.set());
  on_another_thread(nullptr, [&] { EXPECT_FALSE(flag_.set()); });
}

// All threads try to set each of many flags at about the same time. Three of four flags have an owner, each another
// one; the fourth has none.
TEST_F(BiasedFlagTest, one_of_many_sets_it) {
  constexpr int kRounds = 300, kFlags = 64;
  struct Decided {
    Flag flag;
    std::atomic<int> firsts{0};
  };
  std::unique_ptr<Decided[]> decided;
  std::barrier meet(TestOwners::kThreads);
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < TestOwners::kThreads; ++id)
    threads.emplace_back([&, id] {
      if (id + 1 < TestOwners::kThreads) TestOwners::current = &TestOwners::owners[id];  // the last thread owns nothing
      base::Random random(id + 1);
      for (int round = 0; round < kRounds; ++round) {
        if (id == 0) {
          decided = std::make_unique<Decided[]>(kFlags);
          for (unsigned i = 0; i < kFlags; ++i)
            if (i % 4 != 3) decided[i].flag.give_to(TestOwners::owners[i % 4]);
        }
        meet.arrive_and_wait();
        const std::uint32_t first = random.below(4);  // the threads are close to each other, not in step
        for (unsigned i = 0; i < kFlags; ++i) {
          Decided& one = decided[(i + first) % kFlags];
          if (one.flag.set()) ++one.firsts;
          EXPECT_TRUE(one.flag.is_set());
        }
        meet.arrive_and_wait();
        if (id != 0) continue;
        for (unsigned i = 0; i < kFlags; ++i) ASSERT_EQ(decided[i].firsts, 1) << "flag " << i;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(TestOwners::revoked, 100);
}

}  // namespace
}  // namespace weft::sched
