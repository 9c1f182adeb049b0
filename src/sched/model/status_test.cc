// SPDX-License-Identifier: MIT
#include "sched/model/status.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "sched/model/goroutine.h"
#include "sched/tracing/trace_points.h"

namespace weft::sched {
namespace {

using enum GStatus;

constexpr GStatus kAll[] = {kDead, kRunnable, kRunning, kWaiting, kInCall};
static_assert(std::size(kAll) == kGStatusCount);

TEST(Status, allows_these_moves_and_no_others) {
  const std::set<std::pair<GStatus, GStatus>> legal = {
      {kDead, kRunning},                                                                     // starts
      {kRunnable, kRunning},                                                                 // is resumed
      {kRunning, kWaiting},  {kRunning, kRunnable}, {kRunning, kInCall}, {kRunning, kDead},  // park, yield, call, end
      {kWaiting, kRunnable}, {kWaiting, kRunning},                                           // is woken, calls it off
      {kInCall, kRunning},   {kInCall, kRunnable},                                           // returns with P, without
  };
  for (const GStatus from : kAll)
    for (const GStatus to : kAll)
      EXPECT_EQ(is_legal_move(from, to), legal.contains({from, to})) << name_of(from) << " to " << name_of(to);
}

TEST(Status, is_decided_while_compiling) {
  static_assert(is_legal_move(kRunning, kWaiting));
  static_assert(!is_legal_move(kDead, kRunnable), "what has not run is a record, not a goroutine");
  static_assert(!is_legal_move(kWaiting, kDead), "a goroutine ends by running to its end");
}

TEST(Status, every_state_and_reason_has_a_name_of_its_own) {
  std::set<std::string> names;
  for (const GStatus status : kAll) names.insert(name_of(status));
  EXPECT_EQ(names.size(), kGStatusCount);
  EXPECT_FALSE(names.contains("?"));

  std::set<std::string> reasons;
  const int last = static_cast<int>(WaitReason::kSignal);
  for (int i = 0; i <= last; ++i) reasons.insert(name_of(static_cast<WaitReason>(i)));
  EXPECT_EQ(reasons.size(), static_cast<std::size_t>(last) + 1);
}

TEST(Status, a_transition_writes_the_new_state) {
  Goroutine g;
  transition(&g, kDead, kRunning);
  EXPECT_EQ(g.status.load_relaxed(), kRunning);
  transition(&g, kRunning, kWaiting);
  transition(&g, kWaiting, kRunnable);
  EXPECT_EQ(g.status.load_relaxed(), kRunnable);
}

#if WEFT_DEBUG_CHECKS
TEST(StatusDeathTest, a_wrong_transition_ends_the_program) {
  Goroutine g;
  EXPECT_DEATH(transition(&g, kRunning, kWaiting), "from the state its owner put it in");
  EXPECT_DEATH(transition(&g, kDead, kRunnable), "along the table in status.h");
}
#endif

}  // namespace
}  // namespace weft::sched
