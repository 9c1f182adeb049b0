// SPDX-License-Identifier: MIT
#include "support/runtime_test.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <regex>
#include <stdexcept>
#include <thread>
#include <vector>

// maxprocs, policies, stopping the world, counters, dumps (SC19-SC21, SC31).
namespace {

using namespace weft::test;

class Runtime : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Runtime);

std::size_t occurrences(const std::string& text, const std::string& of) {
  std::size_t count = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + of.size())) ++count;
  return count;
}

// The part of a dump about the goroutine of that name.
std::string dump_of(const std::string& text, const std::string& name) {
  const std::size_t quoted = text.find('"' + name + '"');
  if (quoted == std::string::npos) return {};
  const std::size_t begin = text.rfind("goroutine ", quoted);
  const std::size_t end = text.find("\n\n", quoted);
  return text.substr(begin, end - begin);
}

// --- maxprocs and policies ---

TEST_P(Runtime, maxprocs_can_be_changed_and_the_old_value_is_returned) {
  EXPECT_EQ(weft::runtime::maxprocs(), procs());
  int expected = procs();
  for (const int n : {1, 3, 3, 8, 2, procs()}) {
    EXPECT_EQ(weft::runtime::set_maxprocs(n), expected);
    EXPECT_EQ(weft::runtime::maxprocs(), n);
    expected = n;
    EXPECT_EQ(weft::spawn([] { return 1; }).join(), 1);
  }
}

TEST_P(Runtime, an_impossible_maxprocs_throws_and_changes_nothing) {
  for (const int n : {0, -1, 1025, 1'000'000, INT32_MAX, INT32_MIN}) {
    try {
      weft::runtime::set_maxprocs(n);
      ADD_FAILURE() << n;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(n)), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("1024"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(weft::runtime::maxprocs(), procs());
}

TEST_P(Runtime, the_largest_maxprocs_works) {
  weft::runtime::set_maxprocs(1024);
  std::atomic<int> sum{0};
  weft::run([&] {
    weft::wait_group group;
    for (int i = 0; i < 2000; ++i)
      group.go([&] {
        weft::this_goroutine::yield();
        ++sum;
      });
    group.wait();
  });
  EXPECT_EQ(sum, 2000);
  weft::runtime::set_maxprocs(procs());
}

TEST_P(Runtime, maxprocs_changes_under_load_lose_nothing) {
  weft::run([] {
    constexpr int kGoroutines = 1000;
    std::atomic<bool> stop{false};
    std::atomic<long> rounds{0}, done_rounds{0};
    weft::mutex lock;
    long counter = 0;
    weft::wait_group group;
    for (int i = 0; i < scaled(kGoroutines); ++i) {
      group.go([&, i] {
        while (!stop) {
          ++rounds;
          if (i % 3 == 0) {
            weft::this_goroutine::sleep_for(std::chrono::microseconds(100 + i));
          } else if (i % 3 == 1) {
            weft::spawn([] {}).join();
          }
          {
            const std::lock_guard guard(lock);
            ++counter;
          }
          ++done_rounds;
          weft::this_goroutine::yield();
        }
      });
    }
    std::uint32_t random = 1;
    for (int i = 0; i < scaled(200); ++i) {
      random = random * 1664525 + 1013904223;
      weft::runtime::set_maxprocs(static_cast<int>(1 + (random >> 24) % 8));
      weft::this_goroutine::yield();
    }
    stop = true;
    group.wait();
    weft::runtime::set_maxprocs(procs());
    EXPECT_EQ(rounds, done_rounds);
    EXPECT_EQ(counter, rounds);
  });
}

TEST_P(Runtime, goroutines_and_threads_may_all_change_it_at_once) {
  weft::wait_group group;
  for (int i = 0; i < 5; ++i) {
    group.go([i] {
      for (int round = 0; round < scaled(40); ++round) {
        weft::runtime::set_maxprocs(1 + (i + round) % 6);
        weft::runtime::set_policy((i + round) % 2 == 0 ? weft::policy_kind::classic : weft::policy_kind::global);
        weft::runtime::stop_the_world([] {});
      }
    });
  }
  std::thread thread([] {
    for (int round = 0; round < scaled(40); ++round) {
      weft::runtime::set_maxprocs(1 + round % 3);
      weft::runtime::stop_the_world([] {});
    }
  });
  group.wait();
  thread.join();
  weft::runtime::set_maxprocs(procs());
}

TEST_P(Runtime, the_policy_can_be_changed_under_load) {
  weft::run([] {
    std::atomic<bool> stop{false};
    std::atomic<long> spawned{0}, ran{0};
    weft::wait_group group;
    for (int i = 0; i < 20; ++i) {
      group.go([&] {
        while (!stop) {
          for (int k = 0; k < 20; ++k) {
            ++spawned;
            group.go([&] { ++ran; });
          }
          weft::this_goroutine::yield();
        }
      });
    }
    for (int i = 0; i < scaled(100); ++i) {
      const weft::policy_kind kind = i % 2 == 0 ? weft::policy_kind::global : weft::policy_kind::classic;
      weft::runtime::set_policy(kind);
      EXPECT_EQ(weft::runtime::policy(), kind);
      weft::this_goroutine::yield();
    }
    stop = true;
    group.wait();
    EXPECT_EQ(spawned, ran);
  });
}

// --- stopping the world ---

TEST_P(Runtime, nothing_runs_while_the_world_is_stopped) {
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

TEST_P(Runtime, roots_are_stacks_of_parked_goroutines_closures_of_new_ones_and_stacks_outside) {
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
    const auto unstarted = [&, kept = ~(number + 4)] { EXPECT_EQ(kept, ~(number + 4)); };
    const weft::no_preempt region;  // at one P it cannot have run before the look
    auto fresh = weft::spawn(unstarted);
    weft::runtime::stop_the_world([&] { EXPECT_TRUE(is_root(number + 4, false)); });
    ++there;
    go_on.set();
    EXPECT_EQ(parked.join(), ~(number + 1));
    EXPECT_EQ(outside.join(), ~(number + 2));
  });
}

TEST_P(Runtime, stop_the_world_passes_values_and_exceptions_on) {
  weft::run([] {
    EXPECT_EQ(weft::runtime::stop_the_world([] { return 5; }), 5);
    EXPECT_THROW(weft::runtime::stop_the_world([] { throw std::runtime_error("stopped"); }), std::runtime_error);
    EXPECT_EQ(weft::spawn([] { return 1; }).join(), 1) << "the world went on";
  });
  EXPECT_EQ(weft::runtime::stop_the_world([] { return 6; }), 6);
  EXPECT_THROW(weft::runtime::stop_the_world([] { throw 1; }), int);
  EXPECT_EQ(weft::spawn([] { return 1; }).join(), 1);
}

TEST_P(Runtime, goroutines_may_be_started_while_the_world_is_stopped) {
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

TEST_P(Runtime, many_stop_the_world_at_once) {
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

TEST_P(Runtime, stops_and_changes_of_maxprocs_beside_a_goroutine_that_starts_itself_again) {
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

// --- counters ---

void expect_sane(const weft::stats& stats, int maxprocs) {
  const auto limit = static_cast<std::uint64_t>(maxprocs);
  EXPECT_LE(stats.running, limit);
  EXPECT_LE(stats.spinning, limit);
  EXPECT_LE(stats.idle_ps, limit);
  EXPECT_LE(stats.steals_won, stats.steals_tried);
  EXPECT_LE(stats.threads, stats.threads_created);
  EXPECT_LE(stats.stw_last_ns, stats.stw_max_ns);
  EXPECT_LE(stats.waiting, stats.goroutines);
}

TEST_P(Runtime, counters_hold_what_they_say) {
  weft::run([&] {
    const weft::stats before = weft::runtime::read_stats();
    constexpr std::uint64_t kCount = 500;
    weft::event go_on;
    weft::wait_group group;
    for (std::uint64_t i = 0; i < kCount; ++i) group.go([&] { go_on.wait(); });
    EXPECT_TRUE(spin_until([&] { return weft::runtime::read_stats().waiting >= kCount; }));
    const weft::stats during = weft::runtime::read_stats();
    EXPECT_EQ(during.goroutines, before.goroutines + kCount);
    EXPECT_EQ(during.spawns, before.spawns + kCount);
    EXPECT_GE(during.waiting, kCount);
    EXPECT_GE(during.switches, before.switches);
    expect_sane(during, procs());
    go_on.set();
    group.wait();
    EXPECT_TRUE(spin_until([&] { return weft::runtime::read_stats().goroutines == before.goroutines; }));
    weft::runtime::stop_the_world([] { compute_for(1ms); });
    const weft::stats after = weft::runtime::read_stats();
    EXPECT_EQ(after.stw_count, during.stw_count + 1);
    EXPECT_GE(after.stw_last_ns, 1'000'000u);
    EXPECT_GE(after.switches, during.switches + kCount);
    expect_sane(after, procs());
  });
}

TEST_P(Runtime, counters_can_be_read_at_any_time) {
  std::atomic<bool> stop{false};
  weft::wait_group group;
  for (int i = 0; i < 10; ++i) {
    group.go([&, i] {
      while (!stop) {
        if (i % 2 == 0) {
          weft::spawn([] {}).join();
        } else {
          weft::this_goroutine::yield();
        }
        if (i == 1) weft::blocking([] { usleep(10); });
      }
    });
  }
  weft::stats last = weft::runtime::read_stats();
  for (int i = 0; i < scaled(300); ++i) {
    const weft::stats now = weft::runtime::read_stats();
    expect_sane(now, procs());
    EXPECT_GE(now.spawns, last.spawns);
    EXPECT_GE(now.switches, last.switches);
    EXPECT_GE(now.syscalls, last.syscalls);
    EXPECT_GE(now.steals_tried, last.steals_tried);
    EXPECT_GE(now.threads_created, last.threads_created);
    last = now;
    // What is read one after the other need not fit together, unless nothing moves meanwhile.
    if (i % 16 == 0) {
      weft::runtime::stop_the_world([&] {
        const weft::stats still = weft::runtime::read_stats();
        EXPECT_LE(still.running + still.idle_ps + still.in_syscall, static_cast<std::uint64_t>(procs()));
      });
    }
    weft::this_goroutine::sleep_for(20us);
  }
  stop = true;
  group.wait();
}

TEST_P(Runtime, goroutines_of_short_life_leave_nothing_behind) {
  weft::run([&] {
    const std::size_t before = weft::runtime::num_goroutines();
    weft::wait_group group;
    for (int i = 0; i < scaled(100'000); ++i) group.go([] {});
    group.wait();
    EXPECT_TRUE(spin_until([&] { return weft::runtime::num_goroutines() == before; }))
        << weft::runtime::num_goroutines();
    EXPECT_EQ(occurrences(dump_text(), "goroutine "), occurrences(dump_text(), "\ngoroutine ") + 1);
    EXPECT_EQ(occurrences("\n" + dump_text(), "\ngoroutine "), before);
  });
}

// --- dumps ---

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

TEST_P(Runtime, a_dump_shows_each_goroutine_with_what_it_waits_for) {
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
    expect_reason("waits for event", "runtime_test.cc:");
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

TEST_P(Runtime, a_dump_shows_the_goroutine_that_makes_it_as_running) {
  const std::string text = weft::run([] {
    weft::this_goroutine::set_name("the dumper");
    return function_that_dumps();
  });
  const std::string part = dump_of(text, "the dumper");
  EXPECT_NE(part.find("[running"), std::string::npos) << text;
  EXPECT_NE(part.find("function_that_dumps"), std::string::npos) << text;
}

TEST_P(Runtime, a_dump_counts_goroutines_that_have_not_run_yet) {
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

TEST_P(Runtime, a_dump_says_who_is_locked_to_a_thread_or_idle) {
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

TEST_P(Runtime, the_world_may_be_dumped_while_it_is_stopped) {
  weft::run([] {
    const std::string text = weft::runtime::stop_the_world([] { return dump_text(); });
    EXPECT_NE(text.find("goroutine "), std::string::npos);
    EXPECT_EQ(weft::runtime::stop_the_world([] { return weft::runtime::stop_the_world([] { return 2; }); }), 2);
  });
}

}  // namespace
