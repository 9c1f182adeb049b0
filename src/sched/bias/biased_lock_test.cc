// SPDX-License-Identifier: MIT
#include "sched/bias/biased_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/random.h"
#include "sched/bias/test_owners.h"

namespace weft::sched {
namespace {

using Lock = BiasedLock<base::StdAtomics, TestOwners>;

class BiasedLockTest : public OwnersTest {
 protected:
  static void use(Lock& lock, int times) {
    for (int i = 0; i < times; ++i) {
      lock.lock_unranked();
      lock.unlock_counted_unranked();
    }
  }

  Lock lock_;
};

TEST_F(BiasedLockTest, becomes_the_own_of_who_uses_it_alone) {
  use(lock_, 4);
  EXPECT_FALSE(lock_.is_biased());
  use(lock_, 1);
  EXPECT_TRUE(lock_.is_biased());
  use(lock_, 1'000);
  EXPECT_EQ(TestOwners::biased, 1);
}

TEST_F(BiasedLockTest, a_use_by_another_is_a_meeting_and_begins_a_new_streak) {
  use(lock_, 3);
  EXPECT_EQ(TestOwners::meetings, 0);
  on_another_thread(&TestOwners::owners[1], [&] { use(lock_, 3); });
  EXPECT_EQ(TestOwners::meetings, 1);
  use(lock_, 4);
  EXPECT_EQ(TestOwners::meetings, 2);
  EXPECT_FALSE(lock_.is_biased());
  use(lock_, 1);
  EXPECT_TRUE(lock_.is_biased());
  use(lock_, 10);
  on_another_thread(&TestOwners::owners[1], [&] { use(lock_, 1); });
  EXPECT_EQ(TestOwners::revoked, 1);
}

TEST_F(BiasedLockTest, uses_that_do_not_count_leave_it_nobodys) {
  for (int i = 0; i < 1'000; ++i) {
    lock_.lock_unranked();
    lock_.unlock_unranked();
  }
  EXPECT_FALSE(lock_.is_biased());
}

TEST_F(BiasedLockTest, a_streak_begins_anew_when_it_may_not_be_anybodys) {
  TestOwners::allowed = false;
  use(lock_, 1'000);
  EXPECT_FALSE(lock_.is_biased());
  TestOwners::allowed = true;
  use(lock_, 6);
  EXPECT_TRUE(lock_.is_biased());
}

TEST_F(BiasedLockTest, is_taken_once_also_by_its_owner) {
  use(lock_, 10);
  ASSERT_TRUE(lock_.is_biased());
  ASSERT_TRUE(lock_.try_lock_unranked());
  EXPECT_FALSE(lock_.try_lock_unranked());
  lock_.unlock_unranked();
  EXPECT_TRUE(lock_.try_lock_unranked());
  lock_.unlock_unranked();
}

TEST_F(BiasedLockTest, tells_whether_it_is_in_use_or_only_owned) {
  EXPECT_FALSE(lock_.seems_in_use());
  lock_.lock_unranked();
  EXPECT_TRUE(lock_.seems_in_use());
  EXPECT_FALSE(lock_.is_own());
  lock_.unlock_unranked();
  use(lock_, 10);
  ASSERT_TRUE(lock_.is_biased());
  EXPECT_FALSE(lock_.seems_in_use());
  lock_.lock_unranked();
  EXPECT_TRUE(lock_.seems_in_use());
  EXPECT_TRUE(lock_.is_own());
  lock_.unlock_unranked();
  EXPECT_FALSE(lock_.seems_in_use());
}

TEST_F(BiasedLockTest, goes_to_another_thread_that_wants_it) {
  use(lock_, 10);
  ASSERT_TRUE(lock_.is_biased());
  on_another_thread(&TestOwners::owners[1], [&] {
    EXPECT_FALSE(lock_.try_lock_unranked()) << "a try waits for nobody, and takes nothing away";
    lock_.lock_unranked();
    EXPECT_FALSE(lock_.is_biased());
    lock_.unlock_unranked();
    use(lock_, 10);
    EXPECT_TRUE(lock_.is_biased());
  });
  EXPECT_EQ(TestOwners::revoked, 1);
  use(lock_, 1);
  EXPECT_EQ(TestOwners::revoked, 2);
}

TEST_F(BiasedLockTest, a_thread_without_a_number_takes_it_away_and_never_owns_it) {
  use(lock_, 10);
  on_another_thread(nullptr, [&] {
    use(lock_, 1'000);
    EXPECT_FALSE(lock_.is_biased());
  });
  EXPECT_EQ(TestOwners::revoked, 1);
}

// Threads use two locks in bursts, each lock by itself or one inside the other (in the order of their addresses), with
// and without counting.
TEST_F(BiasedLockTest, is_held_by_one_thread_at_a_time_while_it_changes_owners) {
  struct Guarded {
    Lock lock;
    long uses = 0, again = 0;
  } guarded[2];
  constexpr int kBursts = 10'000;
  std::atomic<long> total[2] = {0, 0};
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < TestOwners::kThreads; ++id)
    threads.emplace_back([&, id] {
      if (id + 1 < TestOwners::kThreads) TestOwners::current = &TestOwners::owners[id];  // the last thread owns nothing
      base::Random random(id + 1);
      long mine[2] = {0, 0};
      for (int burst = 0; burst < kBursts; ++burst) {
        if (burst % 4 == 0) std::this_thread::yield();
        const std::uint32_t which = random.below(3), times = 1 + random.below(40);
        for (std::uint32_t i = 0; i < times; ++i) {
          for (unsigned k = 0; k < 2; ++k) {
            if (which != k && which != 2) continue;
            if (random.below(4) != 0 || !guarded[k].lock.try_lock_unranked()) guarded[k].lock.lock_unranked();
            const long uses = ++guarded[k].uses;
            EXPECT_EQ(++guarded[k].again, uses);
            ++mine[k];
          }
          for (unsigned k = 0; k < 2; ++k) {
            if (which != k && which != 2) continue;
            if (random.below(8) != 0) {
              guarded[k].lock.unlock_counted_unranked();
            } else {
              guarded[k].lock.unlock_unranked();
            }
          }
        }
      }
      total[0] += mine[0];
      total[1] += mine[1];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(guarded[0].uses, total[0]);
  EXPECT_EQ(guarded[1].uses, total[1]);
  EXPECT_GT(TestOwners::biased, 100);
  EXPECT_GT(TestOwners::revoked, 100);
}

}  // namespace
}  // namespace weft::sched
