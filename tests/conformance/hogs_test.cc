// SPDX-License-Identifier: MIT
// Goroutines that compute without ever calling the runtime, in code without checks: the P is taken from them (seed E, E01).
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/runtime_test.h"

namespace {

using namespace weft::test;
using namespace std::chrono_literals;

class Hogs : public RuntimeTest {};

// Computes until the flag is set: no call, no check.
void compute_until(const std::atomic<bool>& flag) {
  while (!flag.load(std::memory_order_relaxed)) asm volatile("");
}

// Keeps every P busy and returns only after a goroutine that was queued behind has run: the caller is an exile then.
void become_exile() {
  std::atomic<bool> others_ran{false};
  std::vector<weft::task<void>> others;
  for (int i = 1; i < weft::runtime::maxprocs(); ++i) others.push_back(weft::spawn([&] { compute_until(others_ran); }));
  auto last = weft::spawn([&] { others_ran = true; });
  compute_until(others_ran);
  last.join();
}

TEST_P(Hogs, let_others_run) {
  weft::run([] {
    std::atomic<int> ran{0};
    std::atomic<bool> stop{false};
    std::vector<weft::task<void>> hogs;
    for (int i = 0; i < procs(); ++i) hogs.push_back(weft::spawn([&] { compute_until(stop); }));
    for (int i = 0; i < 100; ++i) weft::go([&] { ++ran; });
    while (ran < 100) weft::this_goroutine::sleep_for(1ms);  // this goroutine and its timers, too
    stop = true;
  });
}

// Functions of timers and contexts, stop callbacks and destructors of locals are called by the runtime, not by a goroutine's closure.
TEST_P(Hogs, that_the_runtime_calls_let_others_run) {
  struct Computes {
    std::function<void()> at_its_end;
    ~Computes() { at_its_end(); }
  };
  static weft::goroutine_local<Computes> local;
  const auto let_others_run = [](auto start_hog) {
    std::atomic<bool> others_ran{false}, ended{false};
    std::vector<weft::task<void>> others;
    for (int i = 1; i < procs(); ++i) others.push_back(weft::spawn([&] { compute_until(others_ran); }));
    start_hog([&] {
      compute_until(others_ran);
      ended = true;
    });
    auto last = weft::spawn([&] { others_ran = true; });
    while (!ended) weft::this_goroutine::sleep_for(1ms);
    last.join();
  };
  weft::run([&] {
    let_others_run([](auto hog) { weft::after_func(0ms, hog); });
    let_others_run([](auto hog) {
      auto [context, cancel] = weft::with_cancel(weft::context::background());
      weft::after_func(context, hog);
      cancel();
    });
    let_others_run([](auto hog) {
      auto [context, cancel] = weft::with_cancel(weft::context::background());
      weft::go([hog, token = context.stop_token(), stop = cancel] {
        const std::stop_callback callback(token, hog);
        stop();
      });
    });
    let_others_run([](auto hog) { weft::go([hog] { local->at_its_end = hog; }); });
  });
}

TEST_P(Hogs, in_great_number_let_others_run_too) {
  weft::run([] {
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int i = 0; i < 40; ++i) group.go([&] { compute_until(stop); });
    weft::this_goroutine::sleep_for(1ms);
    EXPECT_LE(weft::runtime::read_stats().threads, 40u + static_cast<unsigned>(procs()) + 4);
    stop = true;
    group.wait();
  });
}

TEST_P(Hogs, come_back_with_everything_that_is_theirs) {
  weft::run([] {
    static weft::goroutine_local<int> local;
    weft::chan<std::string> channel(1);
    weft::mutex mutex;
    *local = 7;
    const auto id = weft::this_goroutine::get_id();
    become_exile();
    errno = 42;
    weft::this_goroutine::yield();
    EXPECT_EQ(errno, 42);
    become_exile();
    channel.send("text");
    EXPECT_EQ(channel.recv(), "text");
    become_exile();
    mutex.lock();
    mutex.unlock();
    EXPECT_EQ(weft::spawn([] { return 5; }).join(), 5);
    become_exile();
    weft::this_goroutine::sleep_for(1ms);
    EXPECT_EQ(weft::this_goroutine::get_id(), id);
    EXPECT_EQ(*local, 7);
  });
}

// Whoever has the last P may want the lock that they hold, and would never give it up.
TEST_P(Hogs, who_wait_for_a_processor_hold_no_channels_lock) {
  weft::run([] {
    std::vector<weft::chan<int>> channels(20);
    weft::selector selector;
    for (auto& channel : channels) selector.recv(channel);
    std::atomic<bool> sender_runs{false}, received{false};
    std::vector<weft::task<void>> others;
    for (int i = 1; i < procs(); ++i) others.push_back(weft::spawn([&] { compute_until(received); }));
    auto sender = weft::spawn([&] {
      sender_runs = true;
      const auto end = std::chrono::steady_clock::now() + 5ms;
      while (std::chrono::steady_clock::now() < end) asm volatile("");
      channels[7].send(1);
    });
    compute_until(sender_runs);
    EXPECT_EQ(selector.wait(), 7u);
    received = true;
    sender.join();
  });
}

TEST_P(Hogs, may_end_or_throw_or_exit_as_exiles) {
  weft::run([] {
    EXPECT_EQ(weft::spawn([] {
                become_exile();
                return 3;
              }).join(),
              3);
    EXPECT_THROW(weft::spawn([] {
                   become_exile();
                   throw std::runtime_error("from exile");
                 }).join(),
                 std::runtime_error);
    EXPECT_THROW(weft::spawn([] {
                   become_exile();
                   weft::this_goroutine::exit();
                 }).join(),
                 weft::goroutine_exited);
    std::atomic<bool> ended{false};
    weft::go([&] {
      become_exile();
      ended = true;
    });
    while (!ended) weft::this_goroutine::sleep_for(1ms);
  });
}

TEST_P(Hogs, locked_to_their_thread_stay_on_it) {
  weft::run([] {
    const weft::os_thread_lock lock;
    const pid_t thread = gettid();
    for (int i = 0; i < 3; ++i) {
      become_exile();
      EXPECT_EQ(gettid(), thread);
      weft::this_goroutine::yield();
      EXPECT_EQ(gettid(), thread);
    }
  });
}

TEST_P(Hogs, keep_their_processor_in_a_no_preempt_region) {
  weft::runtime::set_maxprocs(1);
  weft::run([] {
    std::atomic<bool> ran{false};
    auto other = weft::spawn([&] { ran = true; });
    {
      const weft::no_preempt region;
      const auto end = std::chrono::steady_clock::now() + 60ms;
      while (std::chrono::steady_clock::now() < end) {
      }
      EXPECT_FALSE(ran) << "at one P nobody else can run while the region lasts";
    }
    compute_until(ran);
    other.join();
  });
  weft::runtime::set_maxprocs(procs());
}

TEST_P(Hogs, do_not_keep_the_world_from_stopping) {
  weft::run([] {
    std::atomic<bool> stop{false};
    std::vector<weft::task<void>> hogs;
    for (int i = 0; i < 2 * procs(); ++i) hogs.push_back(weft::spawn([&] { compute_until(stop); }));
    for (int i = 0; i < 5; ++i) weft::runtime::stop_the_world([] {});
    const int before = weft::runtime::set_maxprocs(procs() + 1);
    weft::runtime::set_maxprocs(before);
    EXPECT_NE(dump_text().find("goroutine"), std::string::npos);
    stop = true;
  });
}

TEST_P(Hogs, in_a_system_call_nobody_announced_let_others_run_and_see_no_interruption) {
  weft::run([] {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    std::vector<weft::task<void>> readers;
    for (int i = 0; i < procs(); ++i)
      readers.push_back(weft::spawn([&] {
        char byte = 0;
        EXPECT_EQ(read(ends[0], &byte, 1), 1) << errno;
      }));
    weft::this_goroutine::sleep_for(50ms);
    const std::string bytes(static_cast<std::size_t>(procs()), 'x');
    EXPECT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    readers.clear();
    close(ends[0]);
    close(ends[1]);
  });
}

TEST_P(Hogs, in_blocking_calls_that_compute_are_left_alone) {
  weft::run([] {
    std::atomic<bool> ran{false};
    auto other = weft::spawn([&] { ran = true; });
    weft::blocking([&] { compute_until(ran); });
    other.join();
  });
}

WEFT_AT_ALL_CONFIGURATIONS(Hogs);

}  // namespace
