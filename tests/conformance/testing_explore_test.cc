// SPDX-License-Identifier: MIT
// test-labels: checks no-asan no-tsan no-trace
#include <gtest/gtest.h>
#include <weft/testing.h>
#include <weft/weft.h>

#include <atomic>
#include <cassert>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace wt = weft::testing;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

wt::explore_options at_operations(wt::strategy how = wt::strategy::portfolio) {
  return {.how = how, .schedules = 2000, .seed = 1, .at = wt::switch_points::operations};
}

// Two transfers that lock in opposite orders.
void cross_locks() {
  weft::mutex a, b;
  auto one = weft::spawn([&] {
    a.lock();
    b.lock();
    b.unlock();
    a.unlock();
  });
  auto other = weft::spawn([&] {
    b.lock();
    a.lock();
    a.unlock();
    b.unlock();
  });
  one.join();
  other.join();
}

// Looks under the lock, and acts under the next one.
void check_then_act() {
  weft::mutex mutex;
  int seats = 1, sold = 0;
  const auto buy = [&] {
    mutex.lock();
    const bool free = seats > 0;
    mutex.unlock();
    if (!free) return;
    mutex.lock();
    --seats;
    ++sold;
    mutex.unlock();
  };
  weft::wait_group group;
  group.go(buy);
  group.go(buy);
  group.wait();
  if (seats < 0) throw std::runtime_error("sold twice");
}

void correct() {
  weft::mutex mutex;
  weft::chan<int> channel(1);
  int sum = 0;
  weft::wait_group group;
  for (int i = 0; i < 3; ++i)
    group.go([&, i] {
      std::lock_guard guard(mutex);
      sum += i;
      channel.try_send(int(i));
    });
  group.wait();
  if (sum != 3) throw std::runtime_error("lost");
}

TEST(Explore, every_strategy_finds_opposite_lock_orders_and_check_then_act) {
  for (const wt::strategy how :
       {wt::strategy::random, wt::strategy::pct, wt::strategy::urw, wt::strategy::dfs, wt::strategy::portfolio}) {
    const wt::explore_result locks = wt::explore(at_operations(how), cross_locks);
    EXPECT_FALSE(locks) << static_cast<int>(how);
    EXPECT_TRUE(contains(locks.message, "deadlock")) << locks.message;
    const wt::explore_result act = wt::explore(at_operations(how), check_then_act);
    EXPECT_FALSE(act) << static_cast<int>(how);
    EXPECT_TRUE(contains(act.message, "sold twice")) << act.message;
  }
}

TEST(Explore, a_correct_program_gives_no_report) {
  for (const wt::strategy how :
       {wt::strategy::random, wt::strategy::pct, wt::strategy::urw, wt::strategy::dfs, wt::strategy::portfolio})
    EXPECT_TRUE(wt::explore(at_operations(how), correct)) << static_cast<int>(how);
}

TEST(Explore, a_failure_repeats_by_its_string_and_is_short) {
  const wt::explore_result found = wt::explore(at_operations(), check_then_act);
  ASSERT_FALSE(found);
  EXPECT_LT(found.replay.size(), 40u) << found.replay;
  EXPECT_TRUE(contains(found.schedule, "testing_explore_test.cc:")) << found.schedule;
  for (int i = 0; i < 100; ++i) EXPECT_THROW(wt::replay(found.replay, check_then_act), std::runtime_error);
  EXPECT_NO_THROW(wt::replay("w1:o", check_then_act));
  EXPECT_THROW(wt::replay("nonsense", check_then_act), std::invalid_argument);
}

TEST(Explore, the_same_seed_finds_the_same_schedule) {
  const auto find = [] { return wt::explore(at_operations(), cross_locks); };
  const wt::explore_result one = find(), other = find();
  EXPECT_EQ(one.replay, other.replay);
  EXPECT_EQ(one.schedules, other.schedules);
  EXPECT_EQ(one.schedule, other.schedule);
}

TEST(Explore, survives_aborts_and_crashes) {
  const wt::explore_result aborts = wt::explore(at_operations(), [] {
    if (wt::choose(3) == 2) std::abort();
  });
  EXPECT_FALSE(aborts);
  EXPECT_TRUE(contains(aborts.message, "abort")) << aborts.message;
  const wt::explore_result throws = wt::explore(at_operations(), [] {
    if (wt::choose(3) == 2) weft::go([] { throw std::range_error("out"); });
  });
  EXPECT_TRUE(contains(throws.message, "std::range_error: out")) << throws.message;
#if !defined(__SANITIZE_ADDRESS__)
  const wt::explore_result crashes = wt::explore(at_operations(), [] {
    int* volatile nowhere = nullptr;
    if (wt::choose(3) == 2) weft::spawn([&] { *nowhere = 1; }).join();
  });
  EXPECT_TRUE(contains(crashes.message, "SIGSEGV")) << crashes.message;
#endif
}

TEST(Explore, counts_leaks_and_fail_and_goes_on_if_asked_to) {
  wt::explore_options options = at_operations();
  options.schedules = 200;
  options.stop_at_first = false;
  const wt::explore_result leaks = wt::explore(options, [] {
    if (wt::choose(2) == 1) weft::go([channel = weft::chan<int>()]() mutable { channel.recv(); });
  });
  EXPECT_EQ(leaks.schedules, 200u);
  EXPECT_GT(leaks.failures, 20u);
  EXPECT_LT(leaks.failures, 180u);
  const wt::explore_result fails = wt::explore(options, [] { wt::always(wt::choose(4) != 3, "never three"); });
  EXPECT_GT(fails.failures, 5u);
  EXPECT_TRUE(contains(fails.message, "never three"));
}

TEST(Explore, select_and_timer_ties_are_decided_by_the_schedule) {
  std::vector<int> seen(2);
  wt::explore(at_operations(), [&] {
    weft::chan<int> a(1), b(1);
    a.send(1);
    b.send(1);
    ++seen[weft::select(weft::on_recv(a), weft::on_recv(b))];
  });
  EXPECT_GT(seen[0], 100);
  EXPECT_GT(seen[1], 100);
  std::vector<int> first(2);
  wt::explore(at_operations(), [&] {
    int winner = -1;
    weft::wait_group group;
    for (int i = 0; i < 2; ++i)
      group.go([&, i] {
        weft::this_goroutine::sleep_for(1s);
        if (winner < 0) winner = i;
      });
    group.wait();
    ++first[static_cast<std::size_t>(winner)];
  });
  EXPECT_GT(first[0], 100);
  EXPECT_GT(first[1], 100);
}

TEST(Explore, depth_first_search_ends_when_everything_was_tried) {
  std::vector<int> answers(6);
  const wt::explore_result all =
      wt::explore(at_operations(wt::strategy::dfs), [&] { ++answers[wt::choose(2) * 3 + wt::choose(3)]; });
  EXPECT_TRUE(all);
  EXPECT_EQ(all.schedules, 6u);
  EXPECT_EQ(answers, std::vector<int>(6, 1));
}

TEST(Explore, sometimes_that_never_holds_is_a_failure_and_faults_come_only_in_explorations) {
  EXPECT_TRUE(wt::explore(at_operations(), [] { wt::sometimes(wt::choose(5) == 3, "three"); }));
  const wt::explore_result never = wt::explore(at_operations(), [] { wt::sometimes(wt::choose(5) == 5, "five"); });
  EXPECT_FALSE(never);
  EXPECT_TRUE(contains(never.message, "five"));
  int faults = 0;
  wt::explore(at_operations(), [&] { faults += wt::buggify("slow"); });
  EXPECT_GT(faults, 50);
  EXPECT_LT(faults, 1000);
  EXPECT_FALSE(wt::buggify("slow"));
  EXPECT_EQ(wt::choose(7), 0u);
}

// --- between plain loads, at the checks that are compiled in ---

__attribute__((noinline)) int load(const int& from) { return from; }
__attribute__((noinline)) void store(int& to, int value) { to = value; }

TEST(Explore, stops_in_user_code_between_a_load_and_a_store) {
  wt::explore_options options;
  options.schedules = 2000;
  const wt::explore_result lost = wt::explore(options, [] {
    int counter = 0;
    const auto add = [&] { store(counter, load(counter) + 1); };
    auto one = weft::spawn(add);
    auto other = weft::spawn(add);
    one.join();
    other.join();
    if (counter != 2) throw std::runtime_error("lost an increment");
  });
  EXPECT_FALSE(lost);
  EXPECT_TRUE(contains(lost.message, "lost an increment")) << lost.message;
}

}  // namespace
