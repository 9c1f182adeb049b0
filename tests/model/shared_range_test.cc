// SPDX-License-Identifier: MIT
// api/shared_range.h under relacy: the caller of a parallel loop and two helpers. Each unit is run once, and the caller
// sees what all of them wrote when the last has left.
#include "api/shared_range.h"

#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

template <class RangeMutation, class GateMutation, std::uint32_t Units, int Threads>
struct SharedLoop : Simulation<Threads> {
  using Range = detail::SharedRange<RelacyAtomics<RangeMutation>>;
  Range ranges[Threads];
  detail::WorkGate<RelacyAtomics<GateMutation>> gate;
  rl::atomic<bool> over{false};
  rl::var<unsigned> result[Units];
  unsigned runs[Units] = {};  // the simulation's own knowledge
  bool returned = false;      // the same

  void before() override {
    for (auto& each : result) each(RL_INFO) = 0;
    ranges[0].put({0, Units});
  }

  void thread(unsigned id) override {
    if (id != 0 && !gate.enter()) return;
    RL_ASSERT(!returned);
    do {
      run_own(id);
    } while (steal(id));
    const bool was_last = gate.leave();
    if (id != 0) {
      if (was_last) over.store(true, rl::mo_release, RL_INFO);
      return;
    }
    while (!was_last && !over.load(rl::mo_acquire, RL_INFO)) rl::yield(1, RL_INFO);
    returned = true;
    for (std::uint32_t unit = 0; unit < Units; ++unit) {
      RL_ASSERT(runs[unit] == 1);
      RL_ASSERT(result[unit](RL_INFO).load() == unit + 1);
    }
  }

  void run_own(unsigned id) {
    for (;;) {
      const auto units = ranges[id].take([](std::uint32_t left) { return (left + 1) / 2; });
      if (units.count() == 0) return;
      for (std::uint32_t unit = units.low; unit < units.high; ++unit) {
        RL_ASSERT(unit < Units && runs[unit]++ == 0);
        RL_ASSERT(!returned);
        result[unit](RL_INFO) = unit + 1;
      }
    }
  }
  bool steal(unsigned id) {
    for (unsigned i = 1; i < Threads; ++i) {
      const auto units = ranges[(id + i) % Threads].take_half();
      if (units.count() == 0) continue;
      ranges[id].put(units);
      return true;
    }
    return false;
  }
};

template <class RangeMutation, class GateMutation>
using Crowd = SharedLoop<RangeMutation, GateMutation, 5, 3>;

TEST(SharedRangeModel, runs_each_unit_once_and_returns_after_the_last) {
  EXPECT_TRUE((holds<Crowd<Faithful, Faithful>>(random_search(100'000))));
}
TEST(SharedRangeModel, holds_in_every_execution_with_two_switches) {
  EXPECT_TRUE((holds<Crowd<Faithful, Faithful>>(bounded_search(2))));
}

TEST(SharedRangeModel, finds_units_taken_without_compare_and_swap) {
  EXPECT_TRUE((is_caught<Crowd<WithoutAtomicCas, Faithful>>(random_search(20'000), kWrongResult)));
}
TEST(SharedRangeModel, finds_a_gate_that_loses_count) {
  const std::initializer_list<rl::test_result_e> lost = {rl::test_result_user_assert_failed, rl::test_result_data_race,
                                                         rl::test_result_livelock};
  EXPECT_TRUE((is_caught<Crowd<Faithful, WithoutAtomicCas>>(random_search(20'000), lost)));
}
TEST(SharedRangeModel, finds_a_gate_that_orders_nothing) {
  EXPECT_TRUE((is_caught<Crowd<Faithful, WithoutOrderedCas>>(random_search(20'000), kWrongResult)));
}

}  // namespace
}  // namespace weft::model
