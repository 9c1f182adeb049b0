// SPDX-License-Identifier: MIT
// test-labels: serial
#include "support/runtime_test.h"

// D05: while every P has work of its own no goroutine moves, and stealing moves far fewer than sharing one queue does.
namespace {

using namespace weft::test;

class Migration : public ::testing::TestWithParam<int> {
 protected:
  void TearDown() override {
    weft::runtime::set_policy(weft::policy_kind::classic);
    weft::runtime::set_maxprocs(1);
  }
  Watchdog watchdog_{60 * kSlowdown};
};
INSTANTIATE_TEST_SUITE_P(P, Migration, ::testing::Values(2, 4));

struct Moves {
  double switches, moved, stolen;
};

// Forty goroutines a P that compute a little, let others run, and never wait: what moved once they had spread?
Moves moves_of_a_saturated_load(weft::policy_kind policy, int maxprocs) {
  weft::runtime::set_policy(policy);
  weft::runtime::set_maxprocs(maxprocs);
  return weft::run([&] {
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int i = 0; i < 40 * maxprocs; ++i) {
      group.go([&] {
        while (!stop) {
          compute_for(2us);
          weft::this_goroutine::yield();
        }
      });
    }
    weft::this_goroutine::sleep_for(100ms * kSlowdown);
    const weft::stats before = weft::runtime::read_stats();
    weft::stats after = before;
    for (int waits = 0; waits < 20 && after.switches - before.switches < 20'000; ++waits) {  // a busy machine takes longer
      weft::this_goroutine::sleep_for(300ms * kSlowdown);
      after = weft::runtime::read_stats();
    }
    stop = true;
    group.wait();
    const auto switches = static_cast<double>(after.switches - before.switches);
    return Moves{switches, switches - static_cast<double>(after.same_processor - before.same_processor),
                 static_cast<double>(after.goroutines_stolen - before.goroutines_stolen)};
  });
}

TEST_P(Migration, goroutines_stay_where_they_are_while_every_processor_has_work) {
  const Moves stealing = moves_of_a_saturated_load(weft::policy_kind::classic, GetParam());
  ASSERT_GT(stealing.switches, 1000);
  EXPECT_LT(stealing.moved / stealing.switches, 0.01) << stealing.moved << " of " << stealing.switches << " moved";
  EXPECT_LT(stealing.stolen / stealing.switches, 0.01)
      << stealing.stolen << " were stolen in " << stealing.switches << " switches";
  const Moves sharing = moves_of_a_saturated_load(weft::policy_kind::global, GetParam());
  ASSERT_GT(sharing.switches, 1000);
  EXPECT_GT(sharing.moved / sharing.switches, 10 * stealing.moved / stealing.switches);
  // On a busy machine the Ps take turns on one CPU: then only the first goroutines of each turn have moved.
  EXPECT_GT(sharing.moved / sharing.switches, 0.01)
      << "one queue for all, and still nobody moves: what is it that is compared?";
  std::printf("moved per 1000 switches: %.3f when stealing, %.0f when sharing\n",
              1000 * stealing.moved / stealing.switches, 1000 * sharing.moved / sharing.switches);
}

}  // namespace
