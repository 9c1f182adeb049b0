// SPDX-License-Identifier: MIT
#include "support/runtime_test.h"

#include <atomic>

// Functions that timers start (TM15): in goroutines of their own, whatever becomes of the handle.
namespace {

using namespace weft::test;

class AfterFunc : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(AfterFunc);

TEST_P(AfterFunc, a_busy_pair_does_not_starve_a_function) {  // TM15
  weft::run([] {
    weft::chan<int> ping, pong;
    std::atomic<bool> stop{false};
    auto a = weft::spawn([&] {
      while (!stop) {
        ping.send(1);
        pong.recv();
      }
      ping.close();
    });
    auto b = weft::spawn([&] {
      while (ping.recv()) pong.send(1);
    });
    for (int i = 0; i < 20; ++i) {
      weft::event called;
      weft::after_func(1us, [&] { called.set(); });
      EXPECT_TRUE(called.wait_for(10s));
    }
    stop = true;
    a.join();
    b.join();
  });
}

TEST_P(AfterFunc, a_function_may_change_its_own_timer) {
  weft::run([] {
    std::atomic<int> calls{0};
    weft::event done;
    weft::timer timer;
    weft::event assigned;
    timer = weft::after_func(0ns, [&] {
      assigned.wait();
      if (++calls < 5) {
        timer.reset(100us);
      } else {
        EXPECT_FALSE(timer.stop());
        done.set();
      }
    });
    assigned.set();
    EXPECT_TRUE(done.wait_for(10s));
    EXPECT_EQ(calls, 5);
    weft::this_goroutine::sleep_for(2ms);  // the last call has the timer's address
  });
}

TEST_P(AfterFunc, functions_may_park_and_run_side_by_side) {
  weft::run([] {
    weft::event go_on;
    weft::wait_group group;
    group.add(100);
    for (int i = 0; i < 100; ++i)
      weft::after_func(std::chrono::microseconds(i), [&] {
        go_on.wait();
        group.done();
      });
    EXPECT_FALSE(group.wait_for(20ms));
    go_on.set();
    group.wait();
  });
}

TEST_P(AfterFunc, dropping_the_handle_lets_a_function_run_and_nothing_is_left) {
  Counted::alive = 0;
  weft::run([] {
    std::atomic<int> calls{0};
    for (int i = 0; i < 100; ++i) weft::after_func(1ms, [&calls, counted = Counted()] { ++calls; });
    EXPECT_TRUE(spin_until([&] { return calls == 100; }));
    EXPECT_TRUE(spin_until([] { return Counted::alive == 0; })) << "the functions are destroyed";
    for (int i = 0; i < 100; ++i) {
      weft::timer timer = weft::after_func(1h, [&calls, counted = Counted()] { ++calls; });
      weft::timer copy = timer;
      EXPECT_TRUE(copy.stop());
    }
    EXPECT_EQ(Counted::alive, 0) << "stopped, and no handle is left";
    EXPECT_EQ(calls, 100);
  });
}

}  // namespace
