// SPDX-License-Identifier: MIT
// api/time.cc and sched/timer/timer_heap.cc as they ship: each start of a function timer ends in one run of its function or in one stop or reset that
// says it had not fired, and the last one out destroys it, after everybody's last access.
//
// mutant: drops_a_pending_one in api/time.cc, caught by a_start_ends_in_a_run_or_a_stop
//   -       } else if (leave_to_heap()) {
//   +       } else if (false) {
// mutant: forgets_that_it_may_have_fired in api/time.cc, caught by a_start_ends_in_a_run_or_a_stop
//   -       } else if ((references = references_.load_acquire()) == 1) {  // pairs: function_timer.references
//   +       } else {
// mutant: counts_without_looking in api/time.cc, caught by a_start_ends_in_a_run_or_a_stop
//   -         if (references_.cas_acq_rel(references, references - 1)) return;  // pairs: function_timer.references
//   +         if (references_.store_release(references - 1), true) return;
// mutant: runs_without_a_reference in api/time.cc, caught by a_start_ends_in_a_run_or_a_stop
//   -       self->retain();  // for the run
//   +
// mutant: claims_what_another_claims in api/time.cc, caught by two_resets_do_not_meet
//   -       } else if (heap.cas_acquire(state, busy())) {  // pairs: timer.heap
//   +       } else if (heap.store_relaxed(busy()), true) {
// mutant: reads_the_record_too_late in api/time.cc, caught by a_start_ends_in_a_run_or_a_stop
//   -     const prepared_record before = armed();
//   -     heap.store_release(nullptr);  // pairs: timer.heap
//   +     heap.store_release(nullptr), heap.load_relaxed();  // a step of the search
//   +     const prepared_record before = armed();
#include "weft/time.h"

#include "model/api/launching.h"
#include "model/api/world.h"

namespace weft::model {
namespace {

constexpr std::int64_t kSoon = 1'000'000;

// One timer, a handle for each thread.
template <int Threads>
struct OneTimer : ApiSimulation<Threads, true> {
  Launching launch;
  detail::function_timer* timer = nullptr;
  int starts = 1, cancelled = 0, runs = 0, destroyed = 0;

  static OneTimer* of(void* storage) { return *static_cast<OneTimer**>(storage); }

  void prepare() override {
    launching = &launch;
    static constexpr detail::stored_function::operations kUse{[](void* storage) {
                                                               RL_ASSERT(of(storage)->destroyed == 0);
                                                               ++of(storage)->runs;
                                                             },
                                                             [](void* storage) noexcept { ++of(storage)->destroyed; }};
    detail::stored_function function{&kUse, {}};
    auto* self = this;
    std::memcpy(function.storage, &self, sizeof self);
    timer = detail::make_function_timer(kSoon, function);
    for (int i = 1; i < Threads; ++i) detail::retain_function_timer(timer);
  }

  void stop() { cancelled += detail::stop_function_timer(timer); }
  void reset(std::int64_t when_ns) {
    ++starts;
    cancelled += detail::reset_function_timer(timer, when_ns);
  }
  void drop() { detail::release_function_timer(timer); }

  // The clock's thread also runs what it has launched.
  void fire_timers() override {
    ApiSimulation<Threads, true>::fire_timers();
    launch.run_launched();
  }

  void after() override {
    fire_timers();  // what nobody stopped before the clock
    RL_ASSERT(starts == runs + cancelled);
    RL_ASSERT(destroyed == 1);
    RL_ASSERT(launch.records_out == 0 && launch.blocks_out == 0);
    launch.free_blocks();
  }
};

struct StopResetDrop : OneTimer<3> {
  void act(unsigned id) override {
    if (id == 0) stop();
    if (id == 1) reset(kSoon);
    drop();
  }
};

struct TwoResets : OneTimer<2> {
  void act(unsigned id) override {
    if (id == 0) {
      stop();
      reset(kSoon);
    } else {
      reset(kSoon);
    }
    drop();
  }
};

struct ForEver : OneTimer<2> {
  void act(unsigned id) override {
    if (id == 0) {
      reset(detail::forever);
      stop();
    } else {
      stop();
    }
    stop();
    drop();
  }
};

TEST(FunctionTimerModel, a_start_ends_in_a_run_or_a_stop) { EXPECT_TRUE(judge<StopResetDrop>(random_search(60'000))); }
TEST(FunctionTimerModel, two_resets_do_not_meet) { EXPECT_TRUE(judge<TwoResets>(random_search(60'000))); }
TEST(FunctionTimerModel, one_that_waits_for_ever_is_stopped_once) {
  EXPECT_TRUE(judge<ForEver>(random_search(60'000)));
}

TEST(FunctionTimerModel, finds_a_claim_that_is_no_single_step) {
  EXPECT_TRUE(is_caught_with<StopResetDrop>({"function_timer::claim", Fault::kSplit}, random_search(60'000)) ||
              is_caught_with<TwoResets>({"function_timer::claim", Fault::kSplit}, random_search(60'000)));
}

}  // namespace
}  // namespace weft::model
