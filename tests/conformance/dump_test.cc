// SPDX-License-Identifier: MIT
#include "support/runtime_test.h"

#include <atomic>
#include <mutex>
#include <regex>
#include <string>

// Dumps: each goroutine with its state, what it waits for and where it was started (SC31).
namespace {

using namespace weft::test;

class Dump : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Dump);

// The part of a dump about the goroutine of that name.
std::string dump_of(const std::string& text, const std::string& name) {
  const std::size_t quoted = text.find('"' + name + '"');
  if (quoted == std::string::npos) return {};
  const std::size_t begin = text.rfind("goroutine ", quoted);
  const std::size_t end = text.find("\n\n", quoted);
  return text.substr(begin, end - begin);
}

__attribute__((noinline)) void function_that_waits_for_an_event(weft::event& event) {
  event.wait();
  asm volatile("");
}
__attribute__((noinline)) void function_that_starts_a_goroutine(weft::event& event, weft::wait_group& group) {
  group.add(1);
  weft::go(weft::go_options{.name = "waits for event"}, [&] {
    function_that_waits_for_an_event(event);
    group.done();
  });
  asm volatile("");
}

TEST_P(Dump, a_dump_shows_each_goroutine_with_what_it_waits_for) {
  weft::run([] {
    weft::event event;
    weft::mutex lock;
    weft::wait_group counted, group;
    lock.lock();
    counted.add();
    std::atomic<int> started{0};
    weft::task<void> task = weft::spawn([&] { event.wait(); });
    const auto start = [&](const char* name, auto&& wait) {
      group.add(1);
      weft::go(weft::go_options{.name = name}, [&group, &started, wait] {
        ++started;
        wait();
        group.done();
      });
    };
    start("waits for mutex", [&] { const std::lock_guard guard(lock); });
    start("waits for group", [&] { counted.wait(); });
    start("waits for time", [&] { EXPECT_TRUE(event.wait_for(1000s)); });
    std::atomic<bool> dumped{false};
    start("sleeps", [&] {
      while (!dumped) weft::this_goroutine::sleep_for(100ms);
    });
    start("joins", [&] { task.join(); });
    start("calls", [&] { weft::blocking([&] { event.wait(); }); });
    function_that_starts_a_goroutine(event, group);
    EXPECT_TRUE(spin_until([&] { return started == 6; }));
    EXPECT_TRUE(spin_until([&] { return weft::runtime::read_stats().runnable == 0; }));
    weft::this_goroutine::sleep_for(1ms);

    std::string text;
    EXPECT_TRUE(spin_until([&] {  // it may have to wait for its turn to sleep on
      text = dump_text();
      return dump_of(text, "sleeps").find("[sleep") != std::string::npos;
    }));
    dumped = true;
    const auto expect_reason = [&](const char* name, const char* reason) {
      const std::string part = dump_of(text, name);
      EXPECT_NE(part.find(reason), std::string::npos) << name << " should say " << reason << ":\n"
                                                      << part << "\nin\n"
                                                      << text;
    };
    expect_reason("waits for mutex", "[mutex lock");
    expect_reason("waits for group", "[wait group");
    expect_reason("waits for time", "[event");
    expect_reason("waits for event", "[event");
    expect_reason("sleeps", "[sleep");
    expect_reason("joins", "[task join");
    expect_reason("calls", "[in call");
    expect_reason("waits for event", "function_that_waits_for_an_event");
    expect_reason("waits for event", "function_that_starts_a_goroutine");
    expect_reason("waits for event", "dump_test.cc:");
    expect_reason("waits for event", "started by");
    EXPECT_TRUE(std::regex_search(text, std::regex("goroutine [0-9]+ \"sleeps\" \\[sleep")));
    EXPECT_EQ(occurrences("\n" + text, "\ngoroutine "), weft::runtime::num_goroutines());

    event.set();
    lock.unlock();
    counted.done();
    group.wait();
  });
}

__attribute__((noinline)) std::string function_that_dumps() {
  std::string text = dump_text();
  asm volatile("");
  return text;
}

TEST_P(Dump, a_dump_shows_the_goroutine_that_makes_it_as_running) {
  const std::string text = weft::run([] {
    weft::this_goroutine::set_name("the dumper");
    return function_that_dumps();
  });
  const std::string part = dump_of(text, "the dumper");
  EXPECT_NE(part.find("[running"), std::string::npos) << text;
  EXPECT_NE(part.find("function_that_dumps"), std::string::npos) << text;
}

TEST_P(Dump, a_dump_counts_goroutines_that_have_not_run_yet) {
  weft::run([] {
    weft::wait_group group;
    const std::string text = weft::runtime::stop_the_world([&] {
      for (int i = 0; i < 50; ++i) group.go([] {});
      return std::string();
    });
    group.wait();
  });
  // From one P, before anybody else can take them.
  if (procs() == 1) {
    weft::run([] {
      weft::wait_group group;
      for (int i = 0; i < 50; ++i) group.go([] {});
      const std::string text = dump_text();
      EXPECT_TRUE(std::regex_search(text, std::regex("50 goroutines.*not run yet"))) << text;
      group.wait();
    });
  }
}

TEST_P(Dump, a_dump_says_who_is_locked_to_a_thread_or_idle) {
  weft::event go_on;
  weft::wait_group group;
  group.add(2);
  std::atomic<int> started{0};
  weft::go(weft::go_options{.name = "locked one"}, [&] {
    const weft::os_thread_lock wired;
    ++started;
    go_on.wait();
    group.done();
  });
  weft::go(weft::go_options{.name = "idle one", .idle = true}, [&] {
    ++started;
    go_on.wait();
    group.done();
  });
  EXPECT_TRUE(spin_until([&] { return started == 2; }));
  const std::string text = dump_text();
  EXPECT_NE(dump_of(text, "locked one").find("locked to thread"), std::string::npos) << text;
  EXPECT_NE(dump_of(text, "idle one").find("idle priority"), std::string::npos) << text;
  go_on.set();
  group.wait();
}

TEST_P(Dump, ends_with_the_scheduler_its_processors_and_its_threads) {
  weft::run([] {
    weft::event done;
    weft::task<void> locked = weft::spawn([&] {
      weft::lock_os_thread();
      done.wait();
    });
    std::string text;
    ASSERT_TRUE(spin_until([&] {
      text = dump_text();
      return std::regex_search(text, std::regex("\n  M[0-9]+: thread=[0-9]+ curg=\\S+ lockedg=[0-9]+ "));
    })) << text;
    const std::string policy = GetParam().policy == weft::policy_kind::global ? "global" : policy_in_place_of_classic();
    EXPECT_TRUE(std::regex_search(text, std::regex("\nSCHED: policy=" + policy + " maxprocs=" + std::to_string(procs()) +
                                                   " gcount=[0-9]+ grunning=1 gwait=[0-9]+ gfree=[0-9]+ mcount=[0-9]+ mwait=[0-9]+\n")))
        << text;
    EXPECT_EQ(occurrences(text, ": lastm="), static_cast<std::size_t>(procs())) << text;
    const std::size_t threads = occurrences(text, ": thread=");  // one that is just starting is not shown
    EXPECT_GE(threads, 2u) << text;
    EXPECT_LE(threads, weft::runtime::read_stats().threads_created) << text;
    done.set();
    locked.join();
  });
}

TEST_P(Dump, tells_how_many_goroutines_wait) {
  weft::run([] {
    constexpr int kCount = 7;
    weft::event go_on;
    weft::wait_group group;
    for (int i = 0; i < kCount; ++i) group.go([&] { go_on.wait(); });
    std::string text;
    EXPECT_TRUE(spin_until([&] {
      text = dump_text();
      std::smatch found;
      return std::regex_search(text, found, std::regex("\nSCHED: .* gwait=([0-9]+) ")) && std::stoi(found[1]) >= kCount;
    })) << text;
    go_on.set();
    group.wait();
  });
}

TEST_P(Dump, the_world_may_be_dumped_while_it_is_stopped) {
  weft::run([] {
    const std::string text = weft::runtime::stop_the_world([] { return dump_text(); });
    EXPECT_NE(text.find("goroutine "), std::string::npos);
    EXPECT_EQ(weft::runtime::stop_the_world([] { return weft::runtime::stop_the_world([] { return 2; }); }), 2);
  });
}

}  // namespace
