// SPDX-License-Identifier: MIT
// api/watch.cc as it ships, with the channel that lets a select wait for a change.
//
// mutant: forgets_those_who_wait in api/watch.cc, caught by nobody_misses_a_change
//   -     take_all(queue.list, released);
//   +
// mutant: changes_before_it_locks in api/watch.cc, caught by a_version_comes_with_its_value
//   -   queue.lock.lock();
//   -   const std::uint64_t state = state_.load(std::memory_order_relaxed);
//   +   const std::uint64_t state = state_.load(std::memory_order_relaxed);
//   +   if ((state & kClosed) == 0) state_.store(state + by, std::memory_order_release);
//   +   queue.lock.lock();
// mutant: forgets_the_bell in api/watch.cc, caught by a_select_hears_of_a_change
//   -     bell = bell_.take();
//   +
// mutant: looks_for_news_before_it_locks in api/watch.cc, caught by a_select_hears_of_a_change
//   -   queue.lock.lock();
//   -   const bool is_ready = is_news(seen);
//   +   const bool is_ready = is_news(seen);
//   +   queue.lock.lock();
// mutant: does_not_look_for_the_end in api/watch.cc, caught by nobody_misses_a_change
//   -   return state / kOne != seen || (state & kClosed) != 0;
//   +   return state / kOne != seen;
#include "weft/watch.h"

#include "model/api/model_context.h"

namespace weft::model {
namespace {

constexpr std::int64_t kSoon = 1'000'000;

struct Made {
  Made() = default;
  explicit Made(unsigned number) { value(RL_INFO) = number; }
  rl::var<unsigned> value{0};
};

unsigned number_of(const ::std::shared_ptr<const void>& value) {
  return const_cast<Made*>(static_cast<const Made*>(value.get()))->value(RL_INFO).load();
}

// Two values and the end: each receiver sees the last value, then the end.
template <bool AsThread>
struct Following : ApiSimulation<3> {
  detail::watch_core core{::std::make_shared<Made>(0u), nullptr};
  void prepare() override { world.is_thread[1] = AsThread; }
  void act(unsigned id) override {
    if (id == 0) {
      for (unsigned i = 1; i <= 2; ++i) RL_ASSERT(core.publish(::std::make_shared<Made>(i)));
      core.close();
      return;
    }
    std::uint64_t seen = 0;
    unsigned last = 0;
    while (core.wait(seen, os::kForever, nullptr) == watch_status::changed) {
      const unsigned now = number_of(core.value());
      RL_ASSERT(now >= seen && now >= last);
      last = now;
    }
    RL_ASSERT(last == 2 && seen == 2);
  }
};

// Without the lock: who has seen a version finds its value, or a newer one.
struct Looking : ApiSimulation<2> {
  detail::watch_core core{::std::make_shared<Made>(0u), nullptr};
  void act(unsigned id) override {
    if (id == 0) {
      core.publish(::std::make_shared<Made>(1u));
    } else {
      const std::uint64_t version = core.version();
      RL_ASSERT(number_of(core.value()) >= version);
    }
  }
};

struct Timed : ApiSimulation<3, true> {
  detail::watch_core core{::std::make_shared<Made>(0u), nullptr};
  ::std::pair<context, cancel_function> made = with_cancel(context::background());
  void act(unsigned id) override {
    std::uint64_t seen = 0;
    if (id == 0) {
      core.publish(::std::make_shared<Made>(1u));
    } else if (id == 1) {
      if (core.wait(seen, kSoon, nullptr) == watch_status::changed) RL_ASSERT(number_of(core.value()) == 1);
      made.second();
    } else if (core.wait(seen, os::kForever, &made.first) == watch_status::changed) {
      RL_ASSERT(number_of(core.value()) == 1);
    }
  }
};

// As ready() does it, and a select of that one channel.
struct Selecting : ApiSimulation<2> {
  detail::watch_core core{::std::make_shared<Made>(0u), nullptr};
  void act(unsigned id) override {
    if (id == 0) {
      for (unsigned i = 1; i <= 2; ++i) core.publish(::std::make_shared<Made>(i));
      return;
    }
    std::uint64_t seen = 0;
    auto last = detail::change_bell::bell::nil();
    while (seen != 2) {
      detail::ready_bell(
          last, nullptr, [&] { return core.version() != seen; },
          [&](auto& fresh) { return core.next_bell(seen, fresh); });
      detail::select_case one{last.core(), nullptr, false, false};
      RL_ASSERT(detail::select_among(&one, 1, os::kForever) == 0 && !one.received);
      RL_ASSERT(core.version() != seen);
      seen = core.version();
      RL_ASSERT(number_of(core.value()) >= seen);
    }
  }
};

TEST(WatchModel, nobody_misses_a_change) { EXPECT_TRUE(judge<Following<false>>(random_search(20'000))); }
TEST(WatchModel, nobody_misses_a_change_on_threads) { EXPECT_TRUE(judge<Following<true>>(random_search(20'000))); }
TEST(WatchModel, a_version_comes_with_its_value) { EXPECT_TRUE(judge<Looking>(random_search(20'000))); }
TEST(WatchModel, time_limits_and_cancellations_compete_with_a_change) {
  EXPECT_TRUE(judge<Timed>(random_search(20'000)));
}
TEST(WatchModel, a_select_hears_of_a_change) { EXPECT_TRUE(judge<Selecting>(random_search(20'000))); }

}  // namespace
}  // namespace weft::model
