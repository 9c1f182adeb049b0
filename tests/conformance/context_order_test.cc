// SPDX-License-Identifier: MIT
#include <atomic>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// A context is cancelled at one moment: err(), cause(), cancelled() and done() answer together, and what follows from
// the cancellation (contexts below, the stop token, functions) is never seen before it.
namespace {

using namespace weft::test;
using weft::context;

class ContextOrder : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(ContextOrder);

bool is_closed(const context& ctx) { return ctx.done().try_recv().status == weft::chan_status::closed; }

// What the first look of a plain thread finds that `sees` was true of: a thread, so that it looks while a single
// processor cancels.
template <class Sees, class Judge>
void look_during_a_cancellation(const context& ctx, const weft::cancel_function& cancel, Sees sees, Judge judge) {
  std::atomic<bool> looks{false};
  std::thread reader([&] {
    looks = true;
    while (!sees(ctx)) {
    }
    judge(ctx);
  });
  EXPECT_TRUE(spin_until([&] { return looks.load(); }));
  cancel();
  reader.join();
}

// So many that a cancellation lasts long enough for another thread to look in the middle of it.
std::vector<context> make_children(const context& parent) {
  std::vector<context> children;
  for (int i = 0; i < 3000; ++i) children.push_back(weft::with_cancel(parent).first);
  return children;
}

TEST_P(ContextOrder, done_is_closed_when_err_is_set) {
  weft::run([] {
    int open = 0, without_cause = 0, not_cancelled = 0;
    for (int round = 0; round < scaled(20); ++round) {
      auto [ctx, cancel] = weft::with_cancel(context::background());
      const std::vector<context> children = make_children(ctx);
      look_during_a_cancellation(
          ctx, cancel, [](const context& one) { return static_cast<bool>(one.err()); },
          [&](const context& one) {
            open += !is_closed(one);
            without_cause += one.cause() == nullptr;
            not_cancelled += !one.cancelled();
          });
    }
    EXPECT_EQ(open, 0);
    EXPECT_EQ(without_cause, 0);
    EXPECT_EQ(not_cancelled, 0);
  });
}

TEST_P(ContextOrder, done_is_closed_when_it_says_that_it_is_cancelled) {
  weft::run([] {
    int open = 0;
    for (int round = 0; round < scaled(20); ++round) {
      auto [ctx, cancel] = weft::with_cancel(context::background());
      const std::vector<context> children = make_children(ctx);
      look_during_a_cancellation(
          ctx, cancel, [](const context& one) { return one.cancelled(); },
          [&](const context& one) { open += !is_closed(one); });
    }
    EXPECT_EQ(open, 0);
  });
}

TEST_P(ContextOrder, err_is_set_when_done_is_closed) {
  weft::run([] {
    int without_error = 0;
    for (int round = 0; round < scaled(20); ++round) {
      auto [ctx, cancel] = weft::with_cancel(context::background());
      const std::vector<context> children = make_children(ctx);
      look_during_a_cancellation(ctx, cancel, is_closed, [&](const context& one) {
        without_error += !one.err() || !one.cancelled() || one.cause() == nullptr;
      });
    }
    EXPECT_EQ(without_error, 0);
  });
}

// One made below a context that is being cancelled is cancelled because of it: never before it.
TEST_P(ContextOrder, nobody_below_is_cancelled_first) {
  weft::run([] {
    int too_early = 0, missed = 0;
    for (int round = 0; round < scaled(20); ++round) {
      auto [ctx, cancel] = weft::with_cancel(context::background());
      const std::vector<context> children = make_children(ctx);
      look_during_a_cancellation(
          ctx, cancel,
          [&](const context& one) {
            const context below = weft::with_cancel(one).first;
            const context old = children.front();
            if (!below.err() && !old.err()) return false;
            too_early += !one.err() || !is_closed(one);
            return true;
          },
          [&](const context& one) { missed += !is_closed(weft::with_cancel(one).first); });
    }
    EXPECT_EQ(too_early, 0);
    EXPECT_EQ(missed, 0);
  });
}

TEST_P(ContextOrder, tokens_and_functions_come_after_it) {
  weft::run([] {
    std::atomic<int> too_early{0};
    for (int round = 0; round < scaled(20); ++round) {
      auto [ctx, cancel] = weft::with_cancel(context::background());
      const std::vector<context> children = make_children(ctx);
      const auto look = [&too_early, one = ctx] {
        too_early += !one.err() || !is_closed(one) || one.cause() == nullptr;
      };
      weft::event ran;
      weft::after_func(ctx, [&] {
        look();
        ran.set();
      });
      const std::stop_callback on_stop(ctx.stop_token(), look);
      look_during_a_cancellation(
          ctx, cancel, [](const context& one) { return static_cast<bool>(one.err()); },
          [&](const context& one) {
            EXPECT_TRUE(one.stop_token().stop_requested()) << "a token that is asked for now is stopped";
            EXPECT_FALSE(weft::after_func(one, [] {}).stop()) << "a function that comes now is started";
          });
      ran.wait();
    }
    EXPECT_EQ(too_early, 0);
  });
}

}  // namespace
