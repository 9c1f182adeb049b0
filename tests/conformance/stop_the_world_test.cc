// SPDX-License-Identifier: MIT
#include "support/runtime_test.h"

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>

// Stopping the world: nothing runs, roots are known, many may ask (SC21).
namespace {

using namespace weft::test;

class StopTheWorld : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(StopTheWorld);

TEST_P(StopTheWorld, nothing_runs_while_the_world_is_stopped) {
  weft::run([] {
    std::atomic<bool> stop{false};
    std::atomic<long> counter{0};
    weft::wait_group group;
    for (int i = 0; i < 2 * procs(); ++i) {
      group.go([&, i] {
        // Who does not give way goes on outside, without its P: on a busy machine, anybody.
        const weft::no_preempt gives_way_by_itself;
        while (!stop) {
          ++counter;
          if (i % 2 == 0) {
            weft::this_goroutine::yield();
          } else {
            weft::blocking([] { usleep(20); });
          }
        }
      });
    }
    for (int i = 0; i < scaled(50); ++i) {
      const long moved = weft::runtime::stop_the_world([&] {
        const long before = counter;
        compute_for(500us);
        return counter - before;
      });
      ASSERT_EQ(moved, 0);
      weft::this_goroutine::sleep_for(100us);
    }
    const long before = counter;
    EXPECT_TRUE(spin_until([&] { return counter > before; })) << "it goes on afterwards";
    stop = true;
    group.wait();
  });
}

// A look at whole stacks: also between their variables, and while others write on them.
__attribute__((no_sanitize("address", "thread"), noinline)) bool contains(const weft::runtime::root_range& root,
                                                                          std::uintptr_t wanted) {
  bool found = false;
  for (auto* word = static_cast<const std::uintptr_t*>(root.begin); word < root.end; ++word) found |= *word == wanted;
  return found;
}

// Is this word in memory that goroutines keep pointers in?
bool is_root(std::uintptr_t inverted, bool outside) {
  bool found = false;
  weft::runtime::for_each_root([&](const weft::runtime::root_range& root) {
    if ((root.thread != 0) == outside) found |= contains(root, ~inverted);
  });
  return found;
}

TEST_P(StopTheWorld, roots_are_stacks_of_parked_goroutines_closures_of_new_ones_and_stacks_outside) {
  const auto number =
      static_cast<std::uintptr_t>(procs()) << 32 | 0x5eed;  // kept inverted, so that this frame is no root
  weft::run([&] {
    weft::event go_on;
    std::atomic<int> there{0};
    auto parked = weft::spawn([&] {
      volatile std::uintptr_t kept = ~(number + 1);
      ++there;
      go_on.wait();
      return kept;
    });
    auto outside = weft::spawn([&] {
      volatile std::uintptr_t kept = ~(number + 2);
      weft::blocking([&] {
        ++there;
        while (there < 3) std::this_thread::yield();
      });
      return kept;
    });
    while (there < 2) weft::this_goroutine::yield();
    weft::runtime::stop_the_world([&] {
      EXPECT_TRUE(is_root(number + 1, false));
      EXPECT_TRUE(is_root(number + 2, true));
      EXPECT_FALSE(is_root(number + 3, false));
      EXPECT_FALSE(is_root(number + 3, true));
    });
    std::atomic<bool> ran{false};
    const auto unstarted = [&, kept = ~(number + 4)] {
      EXPECT_EQ(kept, ~(number + 4));
      ran = true;
    };
    const weft::no_preempt region;  // at one P it cannot have run before the look; at more another one may have been quick
    auto fresh = weft::spawn(unstarted);
    weft::runtime::stop_the_world([&] { EXPECT_TRUE(is_root(number + 4, false) || (ran && procs() > 1)); });
    ++there;
    go_on.set();
    EXPECT_EQ(parked.join(), ~(number + 1));
    EXPECT_EQ(outside.join(), ~(number + 2));
  });
}

TEST_P(StopTheWorld, stop_the_world_passes_values_and_exceptions_on) {
  weft::run([] {
    EXPECT_EQ(weft::runtime::stop_the_world([] { return 5; }), 5);
    EXPECT_THROW(weft::runtime::stop_the_world([] { throw std::runtime_error("stopped"); }), std::runtime_error);
    EXPECT_EQ(weft::spawn([] { return 1; }).join(), 1) << "the world went on";
  });
  EXPECT_EQ(weft::runtime::stop_the_world([] { return 6; }), 6);
  EXPECT_THROW(weft::runtime::stop_the_world([] { throw 1; }), int);
  EXPECT_EQ(weft::spawn([] { return 1; }).join(), 1);
}

TEST_P(StopTheWorld, goroutines_may_be_started_while_the_world_is_stopped) {
  std::atomic<int> ran{0};
  weft::wait_group group;
  weft::run([&] {
    weft::runtime::stop_the_world([&] {
      for (int i = 0; i < 300; ++i) group.go([&] { ++ran; });
      EXPECT_EQ(ran, 0);
    });
  });
  weft::runtime::stop_the_world([&] {
    for (int i = 0; i < 300; ++i) group.go([&] { ++ran; });
  });
  group.wait();
  EXPECT_EQ(ran, 600);
}

TEST_P(StopTheWorld, many_stop_the_world_at_once) {
  std::atomic<int> inside{0}, stops{0};
  const auto stop_often = [&] {
    for (int i = 0; i < scaled(50); ++i) {
      weft::runtime::stop_the_world([&] {
        EXPECT_EQ(++inside, 1);
        ++stops;
        --inside;
      });
    }
  };
  const std::uint64_t before = weft::runtime::read_stats().stw_count;
  weft::wait_group group;
  for (int i = 0; i < 10; ++i) group.go(stop_often);
  std::thread first(stop_often), second(stop_often);
  group.wait();
  first.join();
  second.join();
  EXPECT_EQ(stops, 12 * scaled(50));
  EXPECT_EQ(weft::runtime::read_stats().stw_count - before, static_cast<std::uint64_t>(12 * scaled(50)));
}

TEST_P(StopTheWorld, stops_and_changes_of_maxprocs_beside_a_goroutine_that_starts_itself_again) {
  struct Respawner {
    std::atomic<bool> stop{false};
    weft::event ended;
    void run() {
      if (stop) {
        ended.set();
      } else {
        weft::go([this] { run(); });
      }
    }
  } respawner;
  weft::go([&] { respawner.run(); });
  weft::run([&] {
    weft::wait_group group;
    group.go([] {
      for (int i = 0; i < scaled(300); ++i) weft::runtime::stop_the_world([] {});
    });
    group.go([] {
      for (int i = 0; i < scaled(300); ++i) weft::runtime::set_maxprocs(3);
    });
    group.wait();
    weft::runtime::set_maxprocs(procs());
  });
  respawner.stop = true;
  respawner.ended.wait();
}

}  // namespace
