// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// weft::blocking: a call that may block the thread does not hold up other goroutines.
namespace {

using namespace weft::test;

class Blocking : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Blocking);

struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  int read_int() const {
    int value = -1;
    EXPECT_EQ(read(ends[0], &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
  }
  void write_int(int value) const { EXPECT_EQ(write(ends[1], &value, sizeof value), static_cast<ssize_t>(sizeof value)); }
  int ends[2];
};

__attribute__((noinline)) int current_errno() {
  asm volatile("" ::: "memory");
  return errno;
}

TEST_P(Blocking, returns_what_the_function_returns) {
  weft::run([] {
    EXPECT_EQ(weft::blocking([] { return 5; }), 5);
    EXPECT_EQ(*weft::blocking([] { return std::make_unique<int>(6); }), 6);
    static_assert(std::is_void_v<decltype(weft::blocking([] {}))>);
    weft::blocking([] {});
  });
}

TEST_P(Blocking, lets_exceptions_out) {
  weft::run([] {
    EXPECT_THROW(weft::blocking([] { throw std::runtime_error("out"); }), std::runtime_error);
    EXPECT_THROW(weft::blocking([] { weft::blocking([] { throw 1; }); }), int);
    weft::this_goroutine::yield();
    EXPECT_EQ(weft::spawn([] { return 1; }).join(), 1);
  });
}

TEST_P(Blocking, others_run_meanwhile) {
  weft::run([] {
    const Pipe pipe;
    weft::wait_group group;
    int got = 0;
    group.go([&] { got = weft::blocking([&] { return pipe.read_int(); }); });
    group.go([&] {
      weft::this_goroutine::sleep_for(5ms);
      pipe.write_int(17);
    });
    group.wait();
    EXPECT_EQ(got, 17);
  });
}

TEST_P(Blocking, many_calls_block_at_once) {
  weft::run([] {
    constexpr int kCount = 24;
    std::vector<std::unique_ptr<Pipe>> pipes;
    for (int i = 0; i < kCount; ++i) pipes.push_back(std::make_unique<Pipe>());
    std::atomic<int> entered{0}, sum{0};
    weft::wait_group group;
    for (int i = 0; i < kCount; ++i) {
      group.go([&, i] {
        sum += weft::blocking([&] {
          ++entered;
          return pipes[static_cast<std::size_t>(i)]->read_int();
        });
      });
    }
    // All of them are inside at the same time, however few Ps there are.
    EXPECT_TRUE(spin_until([&] { return entered == kCount; }, 20s)) << entered;
    for (int i = 0; i < kCount; ++i) pipes[static_cast<std::size_t>(i)]->write_int(i);
    group.wait();
    EXPECT_EQ(sum, kCount * (kCount - 1) / 2);
  });
}

TEST_P(Blocking, nests) {
  weft::run([] {
    const weft::goroutine_id id = weft::this_goroutine::get_id();
    const int result = weft::blocking([&] {
      EXPECT_EQ(weft::this_goroutine::get_id(), id);
      const int inner = weft::blocking([&] {
        usleep(1000);
        return weft::blocking([] { return 1; });
      });
      usleep(1000);
      return inner + 1;
    });
    EXPECT_EQ(result, 2);
    EXPECT_EQ(weft::this_goroutine::get_id(), id);
    weft::this_goroutine::yield();
  });
}

TEST_P(Blocking, works_on_plain_threads) {
  EXPECT_EQ(weft::blocking([] { return weft::blocking([] { return 3; }); }), 3);
  EXPECT_THROW(weft::blocking([] { throw 1; }), int);
  std::thread([] { EXPECT_EQ(weft::blocking([] { return 4; }), 4); }).join();
}

TEST_P(Blocking, everything_else_works_inside) {
  weft::run([] {
    weft::blocking([] {
      weft::event event;
      weft::go([&] {
        weft::this_goroutine::sleep_for(1ms);
        event.set();
      });
      event.wait();
      EXPECT_EQ(weft::spawn([] { return 2; }).join(), 2);
      EXPECT_TRUE(weft::spawn([] {}).wait_for(10s));
      weft::wait_group group;
      weft::mutex lock;
      int sum = 0;
      for (int i = 0; i < 20; ++i) {
        group.go([&] {
          const std::lock_guard guard(lock);
          ++sum;
          weft::this_goroutine::yield();
        });
      }
      for (int i = 0; i < 20; ++i) {
        const std::lock_guard guard(lock);
        ++sum;
      }
      group.wait();
      EXPECT_EQ(sum, 40);
      weft::this_goroutine::yield();
      weft::this_goroutine::sleep_for(1ms);
      weft::preempt_point();
      EXPECT_GE(weft::runtime::num_goroutines(), 1u);
      weft::runtime::stop_the_world([] {});
      EXPECT_NE(dump_text().find("in call"), std::string::npos);
    });
  });
}

TEST_P(Blocking, what_needs_a_processor_is_refused_inside_and_says_why) {
  weft::run([] {
    weft::blocking([] {
      const auto refusal_of = [](auto f) {
        try {
          f();
        } catch (const weft::logic_error& error) {
          return std::string(error.what());
        }
        return std::string("none");
      };
      const std::string why = ": a goroutine cannot do that inside weft::blocking()";
      EXPECT_EQ(refusal_of([] { weft::this_goroutine::exit(); }), "weft: this_goroutine::exit" + why);
      EXPECT_EQ(refusal_of([] { weft::this_goroutine::set_name("x"); }), "weft: this_goroutine::set_name" + why);
      EXPECT_EQ(refusal_of(weft::lock_os_thread), "weft: lock_os_thread" + why);
    });
    weft::this_goroutine::set_name("after the call");
  });
  EXPECT_THROW(weft::this_goroutine::set_name("of a thread"), weft::logic_error);
}

TEST_P(Blocking, errno_of_the_call_survives_its_end) {
  weft::run([] {
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int i = 0; i < 2 * procs(); ++i) {
      group.go([&] {
        while (!stop) weft::this_goroutine::yield();
      });
    }
    for (int i = 0; i < scaled(300); ++i) {
      weft::blocking([&] {
        if (i % 10 == 0) usleep(200);  // long enough for the P to be taken away
        char byte;
        EXPECT_EQ(read(-1, &byte, 1), -1);
      });
      ASSERT_EQ(current_errno(), EBADF) << "in round " << i;
    }
    stop = true;
    group.wait();
  });
}

TEST_P(Blocking, is_counted) {
  weft::run([] {
    const weft::stats before = weft::runtime::read_stats();
    for (int i = 0; i < 100; ++i) weft::blocking([] { return getppid(); });
    const weft::stats after = weft::runtime::read_stats();
    EXPECT_EQ(after.syscalls - before.syscalls, 100u);
  });
}

TEST_P(Blocking, sleeping_calls_overlap) {
  weft::run([] {
    EXPECT_TRUE(holds_in_time(10ms, [](Clock::duration unit) {
      const Stopwatch watch;
      weft::wait_group group;
      for (int i = 0; i < 20; ++i)
        group.go([unit] { weft::blocking([unit] { std::this_thread::sleep_for(unit); }); });
      group.wait();
      return watch.elapsed() < unit * 10;  // one after the other: 20
    }));
  });
}

TEST_P(Blocking, short_and_long_calls_mix_with_computing) {
  weft::run([] {
    std::atomic<int> calls{0};
    weft::wait_group group;
    for (int i = 0; i < 8; ++i) {
      group.go([&, i] {
        for (int round = 0; round < scaled(200); ++round) {
          weft::blocking([&] {
            if ((round + i) % 20 == 0) usleep(static_cast<useconds_t>(100 * i));
            ++calls;
          });
          if (round % 3 == 0) weft::this_goroutine::yield();
        }
      });
    }
    group.wait();
    EXPECT_EQ(calls, 8 * scaled(200));
  });
}

TEST_P(Blocking, the_world_can_be_stopped_and_changed_meanwhile) {
  weft::run([] {
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int i = 0; i < 4; ++i) {
      group.go([&] {
        while (!stop) weft::blocking([] { usleep(50); });
      });
    }
    for (int i = 0; i < scaled(60); ++i) {
      weft::runtime::stop_the_world([] {});
      weft::runtime::set_maxprocs(1 + i % 4);
      weft::blocking([] { usleep(20); });
    }
    weft::runtime::set_maxprocs(procs());
    stop = true;
    group.wait();
  });
}

}  // namespace
