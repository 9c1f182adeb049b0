// SPDX-License-Identifier: MIT
#include "sched/core/hold.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "os/clock.h"
#include "sched/model/machine.h"
#include "sched/state/scheduler.h"

namespace weft::sched {
namespace {

// A thread that computes, and does what the signal's handler does whenever there is a reason to hold it.
class Exile {
 public:
  Exile() : thread_([this] { run(); }) {}
  ~Exile() {
    stop_ = true;
    thread_.join();
  }
  bool ask(HoldReason reason) { return ask_to_hold(m, reason, os::now_ns(), 0); }
  long steps() const { return steps_.load(std::memory_order_relaxed); }
  bool moves() const {
    const long before = steps();
    const std::int64_t end = os::now_ns() + 10'000'000'000;
    while (steps() == before && os::now_ns() < end) std::this_thread::yield();
    return steps() != before;
  }
  void wait_until_held() const {
    while (!is_held(m.hold)) std::this_thread::yield();
  }

  Machine m;

 private:
  void run() {
    while (!stop_) {
      if (m.hold.word.load_relaxed() != 0) stay_while_held(m, this);
      steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  }
  std::atomic<bool> stop_{false};
  std::atomic<long> steps_{0};
  std::thread thread_;
};

// Each round may ask the thread again just when it is about to leave.
TEST(Hold, who_is_seen_to_be_held_stays_until_it_is_let_go) {
  Exile exile;
  for (int i = 0; i < 20'000; ++i) {
    exile.ask(kHoldWorld);
    exile.wait_until_held();
    const long before = exile.steps();
    for (int looks = 0; looks < 20; ++looks) ASSERT_EQ(exile.steps(), before) << "in round " << i;
    let_go(exile.m, kHoldWorld);
  }
  EXPECT_TRUE(exile.moves());
}

TEST(Hold, each_reason_is_enough) {
  Exile exile;
  exile.ask(kHoldShare);
  exile.wait_until_held();
  EXPECT_TRUE(exile.ask(kHoldWorld)) << "it is held already";
  scheduler.coarse_ms.store_relaxed(static_cast<std::uint32_t>(os::now_ns() / 1'000'000));
  let_go(exile.m, kHoldShare);
  const long before = exile.steps();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(exile.steps(), before);
    std::this_thread::yield();
  }
  let_go(exile.m, kHoldWorld);
  EXPECT_TRUE(exile.moves());
}

TEST(Hold, without_word_from_sysmon_an_exile_takes_its_turn_itself) {
  scheduler.coarse_ms.store_relaxed(static_cast<std::uint32_t>(os::now_ns() / 1'000'000) - 10'000);
  Exile exile;
  exile.ask(kHoldShare);
  EXPECT_TRUE(exile.moves());
  while (exile.m.hold.word.load_relaxed() != 0) std::this_thread::yield();
  EXPECT_FALSE(exile.ask(kHoldExit));
  exile.wait_until_held();
  const long before = exile.steps();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(exile.steps(), before) << "but not what others want";
  let_go(exile.m, kHoldExit);
}

}  // namespace
}  // namespace weft::sched
