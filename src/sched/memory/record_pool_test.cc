// SPDX-License-Identifier: MIT
#include "sched/memory/record_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace weft::sched {
namespace {

class RecordPoolTest : public testing::Test {
 protected:
  std::vector<SpawnRecord*> take(Processor& p, std::size_t count) {
    std::vector<SpawnRecord*> taken;
    for (std::size_t i = 0; i < count; ++i) taken.push_back(pool_->take(p));
    return taken;
  }
  void give(Processor& p, const std::vector<SpawnRecord*>& records) {
    for (SpawnRecord* record : records) pool_->give(p, record);
  }
  static bool are_distinct(std::vector<SpawnRecord*> records) {
    std::ranges::sort(records);
    return std::ranges::find(records, nullptr) == records.end() && std::ranges::adjacent_find(records) == records.end();
  }

  const std::unique_ptr<RecordPool> pool_ = std::make_unique<RecordPool>();
  Processor first_, second_;
};

// Records that a P leaves behind when maxprocs shrinks are used again, however full its magazine was.
TEST_F(RecordPoolTest, processors_that_come_and_go_need_no_more_memory) {
  give(first_, take(first_, 600));
  const std::size_t before = pool_->bytes_reserved();
  for (std::size_t round = 0; round < 10'000; ++round) {
    give(second_, take(second_, 1 + round % 300));
    pool_->drain(second_);
  }
  EXPECT_EQ(pool_->bytes_reserved(), before);
}

// A P takes the records and a plain thread gives them back, as happens with timers whose handles the thread drops.
TEST_F(RecordPoolTest, what_threads_give_back_serves_processors) {
  give(first_, take(first_, 600));
  const std::size_t before = pool_->bytes_reserved();
  for (int round = 0; round < 1000; ++round)
    for (SpawnRecord* record : take(first_, 100)) pool_->give_shared(record);
  EXPECT_EQ(pool_->bytes_reserved(), before);
}

TEST_F(RecordPoolTest, what_processors_give_back_serves_threads) {
  give(first_, take(first_, 600));
  const std::size_t before = pool_->bytes_reserved();
  for (int round = 0; round < 100'000; ++round) pool_->give(first_, pool_->take_shared());
  EXPECT_EQ(pool_->bytes_reserved(), before);
}

TEST_F(RecordPoolTest, no_record_is_handed_out_twice) {
  std::vector<SpawnRecord*> out = take(first_, 700);
  std::vector<SpawnRecord*> of_thread;
  for (int i = 0; i < 700; ++i) of_thread.push_back(pool_->take_shared());
  out.insert(out.end(), of_thread.begin(), of_thread.end());
  ASSERT_TRUE(are_distinct(out));
  for (SpawnRecord* record : of_thread) pool_->give_shared(record);
  out.resize(700);
  give(second_, out);
  pool_->drain(second_);
  pool_->drain(first_);
  EXPECT_TRUE(are_distinct(take(first_, 1400)));
}

}  // namespace
}  // namespace weft::sched
