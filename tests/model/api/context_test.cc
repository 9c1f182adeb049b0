// SPDX-License-Identifier: MIT
// api/context.cc and api/context_lifetime.cc as they ship: a context is cancelled at one moment, for all who ask, once,
// and with all below it; what was registered runs once or was stopped; the last one out frees it, after everybody's
// last access. Not here: contexts that linger for a channel or stop token only (Lingering is one object of the process,
// older than any execution).
//
// mutant: closes_before_the_error_is_written in api/context.cc, caught by all_answers_change_at_one_moment
//   -       state->error = error;
//   +       state->done.core()->close_silently(receivers); state->references.load_relaxed();  // a step of the search
//   +       state->error = error;
// mutant: is_cancelled_before_done_is_closed in api/context_state.h, caught by all_answers_change_at_one_moment
//   -   bool is_cancelled() const noexcept { return chan_closed(done.core()); }
//   +   bool is_cancelled() const noexcept { return chan_closed(done.core()) || cause != nullptr; }
// mutant: wakes_no_receiver in api/context.cc, caught by all_below_are_cancelled
//   -     sched::wake_all(receivers);
//   +
// mutant: forgets_those_below in api/context.cc, caught by all_below_are_cancelled
//   -       taken_.add_all_below(state);
//   +
// mutant: joins_one_that_is_cancelled in api/context.cc, caught by all_below_are_cancelled
//   -   if (child->above->is_cancelled()) return false;
//   +
// mutant: joins_without_the_lock in api/context.cc, caught by all_below_are_cancelled
//   -   std::lock_guard guard(child->above->lock);
//   -   if (child->above->is_cancelled()) return false;
//   +   if (child->above->is_cancelled()) return false;
//   +   std::lock_guard guard(child->above->lock);
// mutant: lets_the_second_decide in api/context.cc, caught by the_first_decides
//   -       if (state->is_cancelled()) return false;
//   +
// mutant: tells_watches_before_it_is_so in api/context.cc, caught by a_watch_is_told_after_it
//   -       state->done.core()->close_silently(receivers);  // from now on everybody sees it
//   -       std::swap(limit, state->limit);
//   -       taken_.add_all_below(state);
//   +       std::swap(limit, state->limit); taken_.add_all_below(state);
//   +       if (state->watches != nullptr) state->watches->fired(state->watches), state->watches = nullptr;
//   +       state->done.core()->close_silently(receivers);
// mutant: watches_without_the_lock in api/context.cc, caught by a_watch_is_told_after_it
//   -   std::lock_guard guard(state.lock);
//   -   if (state.is_cancelled()) return false;
//   +   if (state.is_cancelled()) return false;
//   +   std::lock_guard guard(state.lock);
// mutant: registers_a_function_too_late in api/context.cc, caught by a_function_runs_or_is_stopped
//   -     too_late = state->is_cancelled();
//   -     if (!too_late) {
//   +     {
// mutant: stops_what_will_run in api/context.cc, caught by a_function_runs_or_is_stopped
//   -       for (const std::shared_ptr<context_hook>& hook : state->hooks) hook->index = SIZE_MAX;
//   +
// mutant: reaches_a_child_that_goes in api/context_state.h, caught by a_child_may_go_meanwhile
//   -     if (!child->try_hold()) return;  // it is being destroyed, and waits for this lock
//   +     child->references.fetch_add_relaxed(context_state::kHold);
// mutant: goes_without_leaving_its_parent in api/context_state.h, caught by a_child_may_go_meanwhile
//   -     if (above != nullptr) leave_parent();
//   +
// mutant: cancels_without_a_hold in api/context.cc, caught by a_context_may_go_meanwhile
//   -   return link.state != nullptr && link.state->try_hold() ? link.state : nullptr;
//   +   return link.state;
#include "weft/context.h"

#include "api/context_state.h"

#include "model/api/launching.h"
#include "model/api/world.h"

namespace weft::model {
namespace {

// A deadline that the clock's thread lets come whenever the search wants it.
constexpr auto kLater = std::chrono::hours(1);

const std::error_code kCancelled = std::make_error_code(std::errc::operation_canceled);

bool is_closed(const context& ctx) {
  return detail::receive_from(ctx.done().core(), nullptr, 0) == detail::chan_outcome::closed;
}
void wait_for_done(const context& ctx) {
  RL_ASSERT(detail::receive_from(ctx.done().core(), nullptr, os::kForever) == detail::chan_outcome::closed);
}

// `root` is made before the threads begin.
template <int Threads, bool HasClock = false>
struct WithRoot : ApiSimulation<Threads, HasClock> {
  Launching launch;
  context root = context::background();
  cancel_function cancel;
  rl::var<unsigned> before_the_cancellation{0};

  void prepare() override {
    launching = &launch;
    std::tie(root, cancel) = make_root();
  }
  virtual std::pair<context, cancel_function> make_root() { return with_cancel(context::background()); }

  void cancel_root() {
    before_the_cancellation(RL_INFO) = 7;
    cancel();
  }
  void drop_root() {
    root = context::background();
    cancel = cancel_function();
  }
  void fire_timers() override {
    ApiSimulation<Threads, HasClock>::fire_timers();
    launch.run_launched();
  }
  void after() override {
    launch.run_launched();
    drop_root();
    launch.run_launched();
    RL_ASSERT(launch.records_out == 0 && launch.blocks_out == 0);
    launch.free_blocks();
  }
};

// Whichever answer the reader gets first, the others agree with it.
struct OneMoment : WithRoot<2> {
  void act(unsigned id) override {
    if (id == 0) return cancel_root();
    for (int look = 0; look < 4; ++look) {
      bool seen = false;
      switch (rl::rand(4)) {
        case 0: seen = static_cast<bool>(root.err()); break;
        case 1: seen = root.cancelled(); break;
        case 2: seen = root.cause() != nullptr; break;
        default: seen = is_closed(root);
      }
      if (!seen) continue;
      RL_ASSERT(before_the_cancellation(RL_INFO).load() == 7);  // first: what follows takes locks
      RL_ASSERT(is_closed(root) && root.err() == kCancelled && root.cancelled() && root.cause() != nullptr);
      RL_ASSERT(root.stop_token().stop_requested());
      return;
    }
  }
};

// Made before, during or after the cancellation: it is cancelled, and never before the one above.
struct Below : WithRoot<3> {
  void act(unsigned id) override {
    if (id == 0) return cancel_root();
    const context child = with_cancel(root).first;
    const context below = id == 1 ? with_value(child, 1) : with_cancel(child).first;
    if (below.err()) RL_ASSERT(child.err() && root.err() && is_closed(root));
    wait_for_done(below);
    RL_ASSERT(below.err() == kCancelled && child.err() == kCancelled && is_closed(root));
    RL_ASSERT(before_the_cancellation(RL_INFO).load() == 7);
  }
};

// Two cancel, one with a cause of its own.
struct TwoCancel : WithRoot<3> {
  std::exception_ptr own = std::make_exception_ptr(1);
  void act(unsigned id) override {
    if (id == 0) return cancel(own);
    if (id == 1) return cancel();
    wait_for_done(root);
    const std::exception_ptr first = root.cause();
    RL_ASSERT(first != nullptr);
    for (int look = 0; look < 3; ++look) {
      root.cancelled();  // a step of the search
      RL_ASSERT(root.cause() == first);
    }
  }
};

// Beside a cancellation, one that came through the deadline.
struct WithDeadline : WithRoot<2, true> {
  std::pair<context, cancel_function> make_root() override { return with_timeout(context::background(), kLater); }
  void act(unsigned id) override {
    if (id == 0) return cancel_root();
    const context child = with_timeout(root, 2 * kLater).first;
    wait_for_done(child);
    RL_ASSERT(child.err() && child.err() == root.err() && child.cause() == root.cause());
  }
};

// Whoever is told by a watch looks at the context under its lock, or right after.
struct Watched : WithRoot<2> {
  struct Watch : detail::context_watch {
    Watched* scene = nullptr;
    base::Atom<std::uint32_t> told{0};
  };
  void act(unsigned id) override {
    if (id == 0) return cancel_root();
    Watch watch;
    watch.scene = this;
    watch.fired = [](detail::context_watch* raw) {
      auto* told = static_cast<Watch*>(raw);
      RL_ASSERT(told->scene->root.err() == kCancelled && is_closed(told->scene->root));
      told->told.store_release(1);
      os::futex_wake(told->told);
    };
    if (detail::watch_context(root, watch)) {
      while (watch.told.load_acquire() == 0) os::futex_wait(watch.told, 0);
      detail::unwatch_context(watch);
    }
    RL_ASSERT(root.err() == kCancelled);
  }
};

// after_func and its stop, beside the cancellation.
struct Function : WithRoot<2> {
  int runs = 0, stopped = 0;
  void act(unsigned id) override {
    if (id == 0) return cancel_root();
    const context_callback callback = after_func(root, [this] {
      RL_ASSERT(root.err() == kCancelled && is_closed(root));
      ++runs;
    });
    if (rl::rand(2) == 1) stopped += callback.stop();
  }
  void after() override {
    launch.run_launched();
    RL_ASSERT(runs + stopped == 1);
    WithRoot::after();
  }
};

// A child is dropped, and dropped and cancelled, while the cancellation looks for it.
struct ChildGoes : WithRoot<3> {
  context children[2] = {context::background(), context::background()};
  void prepare() override {
    WithRoot::prepare();
    for (context& child : children) child = with_cancel(with_value(root, 1)).first;
  }
  void act(unsigned id) override {
    if (id == 0) return cancel_root();
    context own = std::exchange(children[id - 1], context::background());
    if (id == 2) detail::cancel_context(context_state_of(own), kCancelled, nullptr);
  }
  // As cancel_function does.
  static detail::context_state* context_state_of(const context& ctx) {
    detail::context_state* state;
    std::memcpy(&state, static_cast<const void*>(&ctx), sizeof state);
    return state;
  }
};

// The last handle goes while its deadline comes, with a function registered, which may keep it.
struct LastHandle : WithRoot<2, true> {
  int runs = 0;
  std::pair<context, cancel_function> make_root() override { return with_timeout(context::background(), kLater); }
  void act(unsigned id) override {
    if (id == 0) {
      static_cast<void>(after_func(root, [this] { ++runs; }));
      drop_root();
    } else {
      std::stop_source source;
      context other = with_stop_token(context::background(), source.get_token());
      source.request_stop();
      RL_ASSERT(other.err() == kCancelled);
    }
  }
  void after() override {
    fire_timers();
    RL_ASSERT(runs == 1);
    WithRoot::after();
  }
};

// ... and without one: nobody wants it any more.
struct Dropped : WithRoot<2, true> {
  std::pair<context, cancel_function> make_root() override { return with_timeout(context::background(), kLater); }
  void act(unsigned id) override {
    if (id == 0) drop_root();
  }
  void after() override {
    fire_timers();
    WithRoot::after();
  }
};

TEST(ContextModel, all_answers_change_at_one_moment) { EXPECT_TRUE(judge<OneMoment>(random_search(30'000))); }
TEST(ContextModel, all_below_are_cancelled) { EXPECT_TRUE(judge<Below>(random_search(20'000))); }
TEST(ContextModel, the_first_decides) { EXPECT_TRUE(judge<TwoCancel>(random_search(20'000))); }
TEST(ContextModel, a_deadline_and_a_cancellation_compete) { EXPECT_TRUE(judge<WithDeadline>(random_search(10'000))); }
TEST(ContextModel, a_watch_is_told_after_it) { EXPECT_TRUE(judge<Watched>(random_search(20'000))); }
TEST(ContextModel, a_function_runs_or_is_stopped) { EXPECT_TRUE(judge<Function>(random_search(20'000))); }
TEST(ContextModel, a_child_may_go_meanwhile) { EXPECT_TRUE(judge<ChildGoes>(random_search(20'000))); }
TEST(ContextModel, a_context_may_go_meanwhile) {
  EXPECT_TRUE(judge<Dropped>(random_search(20'000)));
}
TEST(ContextModel, its_function_keeps_it) { EXPECT_TRUE(judge<LastHandle>(random_search(20'000))); }

TEST(ContextModel, finds_a_close_without_order) {
  EXPECT_TRUE(is_caught_with<OneMoment>({"close_silently", Fault::kUnordered}, random_search(30'000)));
}
TEST(ContextModel, finds_an_answer_without_order) {
  EXPECT_TRUE(is_caught_with<OneMoment>({"is_closed", Fault::kUnordered}, random_search(30'000)));
}
TEST(ContextModel, finds_references_that_are_not_counted_in_one_step) {
  EXPECT_TRUE(is_caught_with<ChildGoes>({"give_back", Fault::kSplit}, random_search(30'000)));
}

}  // namespace
}  // namespace weft::model
