// SPDX-License-Identifier: MIT
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// Contexts: cancellation downwards only, deadlines, causes, values, and stop tokens both ways.
namespace {

using namespace weft::test;
using weft::context;

class Context : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Context);

const std::error_code kCancelled = std::make_error_code(std::errc::operation_canceled);
const std::error_code kTimedOut = std::make_error_code(std::errc::timed_out);

std::string text_of(const std::exception_ptr& cause) {
  if (cause == nullptr) return "none";
  try {
    std::rethrow_exception(cause);
  } catch (const std::system_error& error) {
    return "error " + std::to_string(error.code().value());
  } catch (const std::exception& error) {
    return error.what();
  }
}

template <class F>
std::string refusal_of(F&& f) {
  try {
    f();
    return "none";
  } catch (const weft::logic_error& error) {
    return error.what();
  }
}

TEST_P(Context, the_background_is_never_cancelled) {
  const context background = context::background();
  EXPECT_FALSE(background.cancelled());
  EXPECT_FALSE(background.err());
  EXPECT_EQ(background.cause(), nullptr);
  EXPECT_FALSE(background.deadline().has_value());
  EXPECT_EQ(background.value<int>(), nullptr);
  EXPECT_EQ(background.done(), weft::chan<std::monostate>::nil());
  EXPECT_FALSE(background.stop_token().stop_possible());
  weft::cancel_function()();  // of the background: nothing happens
  EXPECT_FALSE(background.cancelled());
}

TEST_P(Context, a_cancellation_reaches_all_below_and_nobody_above) {
  weft::run([] {
    auto [top, cancel_top] = weft::with_cancel(context::background());
    auto [middle, cancel_middle] = weft::with_cancel(top);
    auto [below, cancel_below] = weft::with_cancel(weft::with_value(middle, 5));
    auto [beside, cancel_beside] = weft::with_cancel(top);
    EXPECT_FALSE(below.cancelled());
    EXPECT_EQ(below.done().try_recv().status, weft::chan_status::empty);
    cancel_middle();
    EXPECT_TRUE(middle.cancelled());
    EXPECT_TRUE(below.cancelled());
    EXPECT_EQ(below.err(), kCancelled);
    EXPECT_FALSE(below.done().recv().has_value());
    EXPECT_FALSE(top.cancelled());
    EXPECT_FALSE(beside.cancelled());
    cancel_middle();  // again: nothing
    cancel_top();
    EXPECT_TRUE(beside.cancelled());
    EXPECT_EQ(*below.value<int>(), 5);
  });
}

// What a user does to the channel of one context may not stand in the way of the cancellation of the others.
TEST_P(Context, only_the_context_closes_its_channel) {
  weft::run([] {
    auto [parent, cancel] = weft::with_cancel(context::background());
    auto [first, cancel_first] = weft::with_cancel(parent);
    auto [second, cancel_second] = weft::with_timeout(parent, 1h);
    auto [third, cancel_third] = weft::with_cancel(parent);
    auto waiting = weft::spawn([done = second.done()]() mutable { return done.recv().has_value(); });
    auto done = second.done();
    std::monostate nothing;
    for (int i = 0; i < 2; ++i) {  // with and without somebody who waits
      EXPECT_THROW(done.send(nothing), weft::logic_error);
      EXPECT_THROW(done.try_send(nothing), weft::logic_error);
      EXPECT_THROW(done.send_for(nothing, 1h), weft::logic_error);
      EXPECT_THROW(weft::select(weft::on_send(done, nothing), weft::on_default()), weft::logic_error);
      EXPECT_THROW(weft::select(weft::on_send(done, nothing), weft::on_timeout(1h)), weft::logic_error);
      EXPECT_EQ(refusal_of([&] { done.close(); }),
                "weft: close of the channel of a context: only the context closes it; cancel it instead");
      EXPECT_FALSE(done.closed());
      EXPECT_EQ(done.try_recv().status, weft::chan_status::empty);
      EXPECT_EQ(done.recv_for(1us).status, weft::chan_status::empty);
      weft::this_goroutine::sleep_for(1ms);
    }
    EXPECT_FALSE(second.cancelled());
    cancel();
    EXPECT_FALSE(waiting.join());
    EXPECT_TRUE(first.cancelled() && second.cancelled() && third.cancelled());
    EXPECT_TRUE(first.done().closed() && second.done().closed() && third.done().closed());
    EXPECT_THROW(done.close(), weft::logic_error);
    EXPECT_THROW(done.send(nothing), weft::logic_error);
  });
}

TEST_P(Context, the_first_cancellation_decides_the_cause) {
  weft::run([] {
    auto [parent, cancel] = weft::with_cancel(context::background());
    auto [child, cancel_child] = weft::with_cancel(parent);
    EXPECT_EQ(text_of(child.cause()), "none");
    cancel_child(std::make_exception_ptr(std::runtime_error("the child")));
    cancel(std::make_exception_ptr(std::runtime_error("the parent")));
    cancel(std::make_exception_ptr(std::runtime_error("too late")));
    EXPECT_EQ(text_of(child.cause()), "the child");
    EXPECT_EQ(text_of(parent.cause()), "the parent");
    EXPECT_EQ(parent.err(), kCancelled);
    auto [late, cancel_late] = weft::with_cancel(parent);
    EXPECT_TRUE(late.cancelled()) << "the parent was already";
    EXPECT_EQ(text_of(late.cause()), "the parent");
    EXPECT_FALSE(late.done().recv().has_value());
    auto [plain, cancel_plain] = weft::with_cancel(context::background());
    cancel_plain();
    EXPECT_EQ(text_of(plain.cause()), "error " + std::to_string(kCancelled.value()));
  });
}

TEST_P(Context, a_deadline_cancels_and_never_early) {
  weft::run([] {
    const auto start = Clock::now();
    auto [limited, cancel] = weft::with_timeout(context::background(), 10ms);
    EXPECT_TRUE(limited.deadline().has_value());
    auto [below, cancel_below] = weft::with_cancel(limited);
    EXPECT_EQ(below.deadline(), limited.deadline());
    EXPECT_FALSE(below.done().recv().has_value());
    EXPECT_GE(Clock::now() - start, 10ms);
    EXPECT_EQ(below.err(), kTimedOut);
    EXPECT_EQ(text_of(limited.cause()), "error " + std::to_string(kTimedOut.value()));
    cancel();  // too late
    EXPECT_EQ(limited.err(), kTimedOut);
  });
}

TEST_P(Context, the_earlier_deadline_counts) {
  weft::run([] {
    auto [outer, cancel_outer] = weft::with_timeout(context::background(), 5ms);
    auto [later, cancel_later] = weft::with_timeout(outer, 1h);
    auto [earlier, cancel_earlier] = weft::with_timeout(later, 1ms);
    EXPECT_EQ(later.deadline(), outer.deadline());
    EXPECT_LT(*earlier.deadline(), *outer.deadline());
    EXPECT_FALSE(earlier.done().recv().has_value());
    EXPECT_FALSE(later.done().recv().has_value());
    EXPECT_EQ(later.err(), kTimedOut);

    auto [past, cancel_past] = weft::with_deadline(context::background(), Clock::now() - 1h);
    EXPECT_TRUE(past.cancelled());
    EXPECT_EQ(past.err(), kTimedOut);
    auto [before_time, cancel_before_time] = weft::with_deadline(context::background(), weft::time_point::min());
    EXPECT_TRUE(before_time.cancelled());
    auto [never, cancel_never] = weft::with_timeout(context::background(), std::chrono::hours::max());
    EXPECT_FALSE(never.deadline().has_value());
    auto [also_never, cancel_also] = weft::with_deadline(context::background(), weft::time_point::max());
    EXPECT_FALSE(also_never.deadline().has_value());
    EXPECT_FALSE(never.cancelled() || also_never.cancelled());
    auto [negative, cancel_negative] = weft::with_timeout(context::background(), -1s);
    EXPECT_EQ(negative.err(), kTimedOut);
  });
}

TEST_P(Context, values_are_found_by_type_and_the_nearest_wins) {
  struct User {
    std::string name;
  };
  const context outer = weft::with_value(weft::with_value(context::background(), User{"outer"}), 1);
  const context inner = weft::with_value(outer, User{"inner"});
  EXPECT_EQ(inner.value<User>()->name, "inner");
  EXPECT_EQ(outer.value<User>()->name, "outer");
  EXPECT_EQ(*inner.value<int>(), 1);
  EXPECT_EQ(inner.value<long>(), nullptr);
  weft::run([&] {
    auto [cancellable, cancel] = weft::with_timeout(inner, 1h);
    cancel();
    EXPECT_EQ(cancellable.value<User>()->name, "inner");
  });
}

TEST_P(Context, without_cancel_keeps_values_only) {
  weft::run([] {
    auto [parent, cancel] = weft::with_timeout(weft::with_value(context::background(), 7), 1h);
    const context shielded = weft::without_cancel(parent);
    auto [below, cancel_below] = weft::with_cancel(shielded);
    cancel();
    EXPECT_FALSE(shielded.cancelled() || below.cancelled());
    EXPECT_FALSE(shielded.deadline().has_value() || below.deadline().has_value());
    EXPECT_EQ(*below.value<int>(), 7);
    EXPECT_EQ(shielded.done(), weft::chan<std::monostate>::nil());
    cancel_below();
    EXPECT_TRUE(below.cancelled());
  });
}

TEST_P(Context, its_stop_token_is_stopped_with_it) {
  weft::run([] {
    auto [parent, cancel] = weft::with_cancel(context::background());
    auto [child, cancel_child] = weft::with_cancel(parent);
    const std::stop_token token = child.stop_token();
    EXPECT_TRUE(token.stop_possible());
    EXPECT_FALSE(token.stop_requested());
    EXPECT_EQ(token, child.stop_token());
    EXPECT_EQ(token, weft::with_value(child, 1).stop_token());
    int calls = 0;
    bool all_cancelled = false;
    std::stop_callback on_stop(token, [&] {
      ++calls;
      all_cancelled = parent.cancelled() && child.cancelled();
      weft::this_goroutine::yield();  // callbacks may park
    });
    cancel();
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(all_cancelled);
    EXPECT_TRUE(token.stop_requested());
    EXPECT_TRUE(parent.stop_token().stop_requested()) << "asked for after the cancellation";
  });
}

TEST_P(Context, a_jthread_and_a_condition_variable_understand_it) {
  auto [ctx, cancel] = weft::with_cancel(context::background());
  std::atomic<bool> ended{false};
  std::thread thread([token = ctx.stop_token(), &ended] {
    weft::mutex lock;
    weft::condition_variable_any condition;
    std::unique_lock guard(lock);
    EXPECT_FALSE(condition.wait(guard, token, [] { return false; }));
    ended = true;
  });
  EXPECT_FALSE(ended);
  cancel();
  thread.join();
  EXPECT_TRUE(ended);
}

TEST_P(Context, a_stop_request_cancels_it) {
  weft::run([] {
    std::stop_source source;
    auto [parent, cancel] = weft::with_cancel(context::background());
    const context ctx = weft::with_stop_token(parent, source.get_token());
    auto [below, cancel_below] = weft::with_cancel(ctx);
    int calls = 0;
    std::stop_callback chained(below.stop_token(), [&] { ++calls; });
    EXPECT_FALSE(ctx.cancelled());
    source.request_stop();
    EXPECT_TRUE(ctx.cancelled());
    EXPECT_TRUE(below.cancelled());
    EXPECT_EQ(ctx.err(), kCancelled);
    EXPECT_FALSE(parent.cancelled());
    EXPECT_TRUE(spin_until([&] { return below.stop_token().stop_requested(); }));
    EXPECT_TRUE(weft::with_stop_token(parent, source.get_token()).cancelled()) << "stopped before";
    EXPECT_FALSE(weft::with_stop_token(parent, std::stop_token()).cancelled()) << "can never be stopped";
    cancel();
    EXPECT_TRUE(weft::with_stop_token(parent, std::stop_token()).cancelled());
    EXPECT_TRUE(spin_until([&] { return calls == 1; }));
  });
}

TEST_P(Context, a_stop_request_may_come_while_the_context_goes) {
  weft::run([] {
    for (int i = 0; i < scaled(500); ++i) {
      std::stop_source source;
      std::optional<context> ctx = weft::with_stop_token(context::background(), source.get_token());
      weft::wait_group group;
      group.go([&] { source.request_stop(); });
      group.go([&] { ctx.reset(); });
      group.wait();
    }
  });
}

TEST_P(Context, a_jthreads_token_cancels_goroutines) {
  std::jthread thread([](std::stop_token token) {
    weft::run([&] {
      const context ctx = weft::with_stop_token(context::background(), token);
      EXPECT_FALSE(ctx.done().recv().has_value());
    });
  });
  thread.request_stop();
}

TEST_P(Context, ten_thousand_children_are_cancelled_together) {
  const int count = scaled(10'000);
  weft::run([&] {
    auto [parent, cancel] = weft::with_cancel(context::background());
    std::atomic<int> waiting{0}, woken{0};
    weft::wait_group group;
    for (int i = 0; i < count; ++i)
      group.go([&, i] {
        auto [child, cancel_child] = i % 2 == 0 ? weft::with_cancel(parent) : weft::with_timeout(parent, 1h);
        ++waiting;
        EXPECT_FALSE(child.done().recv().has_value());
        EXPECT_EQ(child.err(), kCancelled);
        ++woken;
      });
    EXPECT_TRUE(spin_until([&] { return waiting == count; }));
    EXPECT_EQ(woken, 0);
    const Stopwatch watch;
    cancel();
    group.wait();
    EXPECT_LT(watch.elapsed(), 5s * kSlowdown);
    EXPECT_EQ(woken, count);
  });
}

TEST_P(Context, a_long_chain_needs_no_deep_stack) {
  weft::run([] {
    auto [top, cancel] = weft::with_cancel(context::background());
    context deepest = top;
    for (int i = 0; i < 20'000; ++i) {
      deepest = i % 3 == 0 ? weft::with_value(deepest, i) : weft::with_cancel(deepest).first;
    }
    EXPECT_FALSE(deepest.cancelled());
    cancel();
    EXPECT_TRUE(deepest.cancelled());
    deepest = context::background();  // all of them go

    auto [again, cancel_again] = weft::with_cancel(context::background());
    deepest = again;
    for (int i = 0; i < 20'000; ++i) deepest = weft::with_cancel(deepest).first;
    deepest = context::background();  // and without having been cancelled
    cancel_again();
  });
}

TEST_P(Context, a_cancellation_may_come_while_children_are_made_and_dropped) {
  weft::run([] {
    for (int round = 0; round < scaled(100); ++round) {
      auto [parent, cancel] = weft::with_cancel(context::background());
      weft::wait_group group;
      std::atomic<bool> go_on{false};
      for (int i = 0; i < 4; ++i)
        group.go([&, i] {
          while (!go_on) weft::this_goroutine::yield();
          for (int n = 0; n < 20; ++n) {
            auto [child, cancel_child] = i % 2 == 0 ? weft::with_timeout(parent, 1h) : weft::with_cancel(parent);
            auto [below, cancel_below] = weft::with_timeout(child, 2h);
            if (n % 3 == 0) cancel_child();
            if (n == 19) {
              EXPECT_FALSE(below.done().recv().has_value()) << "made before or after: it is cancelled";
            }
          }
        });
      std::thread canceller([&] {
        go_on = true;
        cancel();
      });
      group.wait();
      canceller.join();
    }
  });
}

TEST_P(Context, two_cancellations_and_a_deadline_may_come_together) {
  weft::run([] {
    for (int round = 0; round < scaled(300); ++round) {
      auto [parent, cancel] = weft::with_cancel(context::background());
      auto [child, cancel_child] = weft::with_timeout(parent, std::chrono::microseconds(round % 50));
      auto [below, cancel_below] = weft::with_cancel(child);
      weft::wait_group group;
      group.go([end = cancel] { end(); });
      group.go([end = cancel_child] { end(); });
      group.go([&one = below] { EXPECT_FALSE(one.done().recv().has_value()); });
      group.wait();
      EXPECT_TRUE(child.err() == kCancelled || child.err() == kTimedOut);
      EXPECT_TRUE(below.cause() != nullptr);
    }
  });
}

// The timer of a context goes with it: a server that gives each request an hour keeps none of them for an hour.
TEST_P(Context, a_deadline_that_is_not_needed_leaves_nothing_behind) {
  weft::run([] {
    const int count = scaled(20'000);
    const auto make = [](int i) {
      auto [ctx, cancel] = weft::with_timeout(context::background(), 1h);
      if (i % 2 == 0) cancel();
    };
    for (int i = 0; i < count; ++i) make(i);
    const std::size_t before = resident_bytes();
    for (int i = 0; i < 2 * count; ++i) make(i);
    if (!kSanitized) {
      EXPECT_LT(resident_bytes(), before + 4'000'000) << "40,000 contexts that are kept would need 15 MB";
    }
  });
}

TEST_P(Context, functions_run_after_a_cancellation) {
  weft::run([] {
    auto [ctx, cancel] = weft::with_cancel(context::background());
    std::atomic<int> calls{0};
    weft::after_func(weft::with_value(ctx, 1), [&] { ++calls; });  // dropping what it returns changes nothing
    auto stopped = weft::after_func(ctx, [&] { calls += 100; });
    auto kept = weft::after_func(ctx, [&] {
      weft::this_goroutine::sleep_for(1ms);
      ++calls;
    });
    auto also_stopped = weft::after_func(ctx, [&] { calls += 100; });
    EXPECT_TRUE(stopped.stop());
    EXPECT_FALSE(stopped.stop());
    EXPECT_TRUE(also_stopped.stop());
    EXPECT_EQ(calls, 0);
    cancel();
    EXPECT_FALSE(kept.stop());
    EXPECT_TRUE(spin_until([&] { return calls == 2; })) << calls;
    weft::event called;
    auto late = weft::after_func(ctx, [&] { called.set(); });
    called.wait();
    EXPECT_FALSE(late.stop());
    auto never = weft::after_func(context::background(), [&] { calls += 100; });
    EXPECT_TRUE(never.stop());
    EXPECT_FALSE(never.stop());
    EXPECT_THROW(weft::after_func(ctx, std::function<void()>()), weft::logic_error);
    EXPECT_EQ(calls, 2);
  });
}

TEST_P(Context, functions_may_be_move_only_and_end_with_their_callback) {
  Counted::alive = 0;
  weft::run([] {
    auto [ctx, cancel] = weft::with_cancel(context::background());
    std::atomic<int> sum{0};
    const auto adds = [&sum](int n) {
      return [&sum, n = std::make_unique<int>(n), counted = Counted()] { sum += *n; };
    };
    weft::after_func(ctx, adds(1));
    auto stopped = weft::after_func(ctx, adds(10));
    EXPECT_TRUE(stopped.stop());
    weft::after_func(ctx, [&sum, calls = 0]() mutable { sum += 100 * ++calls; });
    cancel();
    EXPECT_TRUE(spin_until([&] { return sum == 101; })) << sum;
    weft::after_func(ctx, adds(1000));
    EXPECT_TRUE(spin_until([&] { return sum == 1101; })) << sum;
    weft::after_func(context::background(), adds(10'000));
  });
  EXPECT_TRUE(spin_until([] { return Counted::alive == 0; })) << Counted::alive;
}

TEST_P(Context, functions_of_a_context_that_goes_are_destroyed_and_never_run) {
  Counted::alive = 0;
  weft::run([] {
    std::atomic<int> calls{0};
    {
      auto [ctx, cancel] = weft::with_cancel(context::background());
      for (int i = 0; i < 10; ++i) weft::after_func(ctx, [&calls, counted = Counted()] { ++calls; });
      EXPECT_EQ(Counted::alive, 10);
    }
    EXPECT_EQ(Counted::alive, 0);
    EXPECT_EQ(calls, 0);
  });
}

weft::chan<std::monostate> done_within(const context& parent, std::chrono::nanoseconds limit) {
  return weft::with_timeout(parent, limit).first.done();
}

TEST_P(Context, a_dropped_contexts_channel_is_closed_by_its_deadline) {
  weft::run([] {
    auto [parent, cancel] = weft::with_cancel(context::background());
    EXPECT_EQ(done_within(context::background(), 2ms).recv_for(30s).status, weft::chan_status::closed);
    EXPECT_EQ(done_within(parent, 2ms).recv_for(30s).status, weft::chan_status::closed);
    EXPECT_FALSE(parent.cancelled());
    auto below = weft::with_cancel(weft::with_timeout(context::background(), 2ms).first).first.done();
    EXPECT_EQ(below.recv_for(30s).status, weft::chan_status::closed) << "by a deadline above, dropped as well";
  });
}

TEST_P(Context, a_dropped_contexts_channel_is_closed_by_those_above) {
  weft::run([] {
    auto [parent, cancel] = weft::with_cancel(context::background());
    auto direct = weft::with_cancel(parent).first.done();
    auto limited = done_within(parent, 1h);
    auto below = weft::with_cancel(weft::with_value(weft::with_cancel(parent).first, 1)).first.done();
    std::stop_source source;
    auto stopped = weft::with_stop_token(context::background(), source.get_token()).done();
    EXPECT_FALSE(direct.closed() || limited.closed() || below.closed() || stopped.closed());
    cancel();
    EXPECT_TRUE(direct.closed() && limited.closed() && below.closed());
    EXPECT_FALSE(stopped.closed());
    source.request_stop();
    EXPECT_TRUE(stopped.closed());
  });
}

TEST_P(Context, a_dropped_contexts_stop_token_and_functions_hear_of_its_end) {
  weft::run([] {
    auto [parent, cancel] = weft::with_cancel(context::background());
    const std::stop_token by_parent = weft::with_cancel(parent).first.stop_token();
    const std::stop_token by_time = weft::with_timeout(parent, 2ms).first.stop_token();
    std::atomic<int> calls{0};
    weft::after_func(weft::with_cancel(parent).first, [&] { ++calls; });
    weft::after_func(weft::with_timeout(parent, 2ms).first, [&] { ++calls; });
    EXPECT_TRUE(spin_until([&] { return by_time.stop_requested() && calls == 1; }));
    EXPECT_FALSE(by_parent.stop_requested());
    cancel();
    EXPECT_TRUE(by_parent.stop_requested());
    EXPECT_TRUE(spin_until([&] { return calls == 2; }));
  });
}

TEST_P(Context, dropped_contexts_stay_no_longer_than_they_can_be_cancelled) {
  const auto value = [] { return std::make_shared<Counted>(); };
  const int count = scaled(10'000);
  Counted::alive = 0;
  weft::run([&] {
    std::vector<weft::chan<std::monostate>> kept;
    const auto drop_children_of = [&](const context& parent, std::chrono::nanoseconds limit) {
      for (int i = 0; i < count; ++i) kept.push_back(done_within(weft::with_value(parent, value()), limit));
    };
    auto [parent, cancel] = weft::with_cancel(context::background());
    drop_children_of(parent, 1h);
    EXPECT_EQ(Counted::alive, count);
    cancel();
    EXPECT_EQ(Counted::alive, 0) << "cancelled";
    for (const auto& done : kept) EXPECT_TRUE(done.closed());

    drop_children_of(context::background(), 5ms);
    for (auto& done : kept) done.recv();
    EXPECT_TRUE(spin_until([] { return Counted::alive == 0; })) << "past their deadlines: " << Counted::alive;

    std::optional<context> root = weft::with_cancel(context::background()).first;
    std::optional<context> middle = weft::with_cancel(*root).first;
    drop_children_of(*middle, std::chrono::nanoseconds::max());
    middle.reset();
    EXPECT_EQ(Counted::alive, count);
    root.reset();
    EXPECT_EQ(Counted::alive, 0) << "nobody is left who could cancel them";
  });
}

TEST_P(Context, dropped_contexts_that_nobody_watches_any_more_are_freed) {
  Counted::alive = 0;
  weft::run([] {
    auto [parent, cancel] = weft::with_cancel(context::background());
    for (int i = 0; i < 1000; ++i) {
      const context valued = weft::with_value(parent, std::make_shared<Counted>());
      weft::with_timeout(valued, 1h).first.done();
      weft::with_cancel(valued).first.stop_token();
      weft::after_func(weft::with_cancel(valued).first, [] {}).stop();
    }
    EXPECT_EQ(Counted::alive, 0) << "nobody had anything of them when their handles went";
    for (int i = 0; i < 1000; ++i) {
      auto done = done_within(weft::with_value(parent, std::make_shared<Counted>()), 1h);
      auto token = weft::with_cancel(weft::with_value(parent, std::make_shared<Counted>())).first.stop_token();
    }
    EXPECT_LE(Counted::alive, 10) << "their channels were dropped after them";
  });
}

TEST_P(Context, a_last_handle_may_go_while_the_context_is_cancelled) {
  Counted::alive = 0;
  weft::run([] {
    for (int round = 0; round < scaled(500); ++round) {
      auto [parent, cancel] = weft::with_cancel(context::background());
      const context valued = weft::with_value(parent, std::make_shared<Counted>());
      std::optional<context> above = weft::with_timeout(valued, std::chrono::microseconds(round % 50)).first;
      std::optional<context> child = weft::with_cancel(weft::with_value(*above, 1)).first;
      std::optional<context> other = weft::with_cancel(*above).first;
      auto done = child->done();
      auto token = other->stop_token();
      weft::wait_group group;
      group.go([&] { child.reset(); });
      group.go([&] { above.reset(); });
      group.go([&] { other.reset(); });
      if (round % 3 == 0) group.go([end = cancel] { end(); });
      EXPECT_FALSE(done.recv().has_value());
      EXPECT_TRUE(spin_until([&] { return token.stop_requested(); }));
      group.wait();
    }
    EXPECT_TRUE(spin_until([] { return Counted::alive == 0; })) << Counted::alive;
  });
}

// Two that drop the last handles of a tree at once: whoever is last finds that nobody can be cancelled any more.
TEST_P(Context, a_tree_may_be_dropped_from_all_sides) {
  Counted::alive = 0;
  weft::run([] {
    for (int round = 0; round < scaled(500); ++round) {
      std::optional<context> root =
          weft::with_cancel(weft::with_value(context::background(), std::make_shared<Counted>())).first;
      std::optional<context> middle = weft::with_cancel(weft::with_value(*root, 1)).first;
      std::optional<context> child = weft::with_cancel(*middle).first;
      auto done = child->done(), done_of_middle = middle->done();
      weft::wait_group group;
      group.go([&] { child.reset(); });
      group.go([&] { middle.reset(); });
      group.go([&] { root.reset(); });
      group.wait();
      EXPECT_EQ(Counted::alive, 0);
      EXPECT_FALSE(done.closed() || done_of_middle.closed());
    }
  });
}

TEST_P(Context, threads_and_goroutines_share_one) {
  auto [ctx, cancel] = weft::with_cancel(context::background());
  std::vector<std::thread> threads;
  std::atomic<int> ended{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([shared = ctx, &ended] {
      EXPECT_FALSE(shared.done().recv().has_value());
      ++ended;
    });
  weft::run([&, shared = ctx, end = cancel] {
    auto waiting = weft::spawn([shared] { shared.done().recv(); });
    weft::this_goroutine::sleep_for(2ms);
    EXPECT_EQ(ended, 0);
    end();
    waiting.join();
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, 4);
}

TEST_P(Context, a_time_limit_may_have_a_cause) {
  const weft::context root = weft::context::background();
  const auto check = [&](const std::pair<weft::context, weft::cancel_function>& made, const std::string& cause) {
    const weft::context& ctx = made.first;
    ctx.done().recv();
    ASSERT_TRUE(spin_until([&] { return ctx.cancelled(); }));
    EXPECT_EQ(ctx.err(), kTimedOut);
    EXPECT_EQ(text_of(ctx.cause()), cause);
    made.second(std::make_exception_ptr(std::runtime_error("too late")));
    EXPECT_EQ(text_of(ctx.cause()), cause);
    const auto [child, cancel] = weft::with_cancel(ctx);
    EXPECT_EQ(text_of(child.cause()), cause);
    EXPECT_EQ(child.err(), kTimedOut);
  };
  check(weft::with_timeout(root, 2ms, std::runtime_error("the backend is slow")), "the backend is slow");
  check(weft::with_timeout(root, 2ms, std::make_exception_ptr(std::runtime_error("as a pointer"))), "as a pointer");
  check(weft::with_timeout(root, -1s, std::runtime_error("at once")), "at once");
  check(weft::with_deadline(root, Clock::now() + 2ms, std::out_of_range("of any type")),
        "of any type");
  check(weft::with_deadline(root, std::chrono::system_clock::now() + 2ms, std::logic_error("by the wall clock")),
        "by the wall clock");
  const auto [plain, cancel] = weft::with_timeout(root, 0s, nullptr);
  EXPECT_EQ(text_of(plain.cause()), text_of(weft::with_timeout(root, 0s).first.cause()));
}

TEST_P(Context, a_cause_for_a_time_limit_is_not_used_by_other_cancellations) {
  const auto [ctx, cancel] = weft::with_timeout(weft::context::background(), 1h, std::runtime_error("not this"));
  cancel();
  EXPECT_EQ(ctx.err(), std::make_error_code(std::errc::operation_canceled));
  EXPECT_THROW(std::rethrow_exception(ctx.cause()), std::system_error);
  const auto [own, cancel_own] = weft::with_timeout(weft::context::background(), 1h, std::runtime_error("not this"));
  cancel_own(std::make_exception_ptr(std::runtime_error("but this")));
  EXPECT_EQ(text_of(own.cause()), "but this");
  // The nearer limit is the one above.
  const auto [above, cancel_above] = weft::with_timeout(weft::context::background(), 2ms, std::runtime_error("above"));
  const auto [below, cancel_below] = weft::with_timeout(above, 1h, std::runtime_error("below"));
  below.done().recv();
  ASSERT_TRUE(spin_until([&, &of = below] { return of.cancelled(); }));
  EXPECT_EQ(text_of(below.cause()), "above");
}

}  // namespace
