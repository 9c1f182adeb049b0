// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <atomic>

#include "support/runtime_test.h"

// Calls that block the thread and are not announced by weft::blocking, as unmodified client libraries make them.
namespace {

using namespace weft::test;

class PlainCalls : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(PlainCalls);

constexpr useconds_t kCallUs = 3'000;

void call(bool announced) {
  if (announced) {
    weft::blocking([] { usleep(kCallUs); });
  } else {
    usleep(kCallUs);
  }
}

// How many calls goroutines make that call and yield in turn.
long calls_of_callers(bool announced, Clock::duration time) {
  std::atomic<bool> stop{false};
  std::atomic<long> calls{0};
  weft::wait_group group;
  for (int i = 0; i < 60; ++i) {
    group.go([&] {
      while (!stop) {
        call(announced);
        ++calls;
        weft::this_goroutine::yield();
      }
    });
  }
  weft::this_goroutine::sleep_for(time);
  stop = true;
  group.wait();
  return calls;
}

TEST_P(PlainCalls, are_made_about_as_often_as_announced_ones) {
  EXPECT_TRUE(holds_in_time(400ms, [](Clock::duration time) {
    return weft::run([time] { return calls_of_callers(false, time) * 3 > calls_of_callers(true, time); });
  }));
}

// One call in each goroutine: what is known of the place where it is started counts.
TEST_P(PlainCalls, in_goroutines_that_make_one_each_are_about_as_often) {
  const auto calls = [](bool announced, Clock::duration time) {
    std::atomic<long> made{0};
    weft::wait_group group;
    weft::counting_semaphore<> places(60);
    const auto end = Clock::now() + time;
    while (Clock::now() < end) {
      places.acquire();
      group.go([&, announced] {
        call(announced);
        ++made;
        places.release();
      });
    }
    group.wait();
    return made.load();
  };
  EXPECT_TRUE(holds_in_time(400ms, [&](Clock::duration time) {
    return weft::run([&] { return calls(false, time) * 3 > calls(true, time); });
  }));
}

TEST_P(PlainCalls, leave_those_that_compute_their_processors) {
  const auto chunks = [](int sleepers, Clock::duration time) {
    std::atomic<bool> stop{false};
    std::atomic<long> done{0};
    weft::wait_group group;
    for (int i = 0; i < sleepers; ++i) {
      group.go([&] {
        while (!stop) {
          usleep(1000);
          weft::this_goroutine::yield();
        }
      });
    }
    for (int i = 0; i < 2; ++i) {
      group.go([&] {
        while (!stop) {
          for (int step = 0; step < 50'000; ++step) asm volatile("");
          ++done;
          weft::this_goroutine::yield();
        }
      });
    }
    weft::this_goroutine::sleep_for(time);
    stop = true;
    group.wait();
    return done.load();
  };
  EXPECT_TRUE(holds_in_time(300ms, [&](Clock::duration time) {
    return weft::run([&] { return chunks(8, time) * 4 > chunks(0, time); });
  }));
}

// A habit is given up: whoever computes from now on does so with a P.
TEST_P(PlainCalls, are_forgotten_by_those_that_make_no_more) {
  weft::run([] {
    weft::spawn([] {
      for (int i = 0; i < 30; ++i) {
        usleep(kCallUs);
        weft::this_goroutine::yield();
      }
      for (int i = 0; i < 100; ++i) weft::this_goroutine::yield();
      const std::uint64_t leases = weft::runtime::read_stats().leases;
      for (int i = 0; i < 200; ++i) weft::this_goroutine::yield();
      // On a crowded machine the kernel's own switches look like sleep now and then.
      EXPECT_LT(weft::runtime::read_stats().leases - leases, 150u);
    }).join();
  });
}

}  // namespace
