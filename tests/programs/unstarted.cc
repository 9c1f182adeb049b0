// SPDX-License-Identifier: MIT
// A dump lists goroutines that have not run yet, with their names and where they were started; and goroutines of
// after_func were started where the user called it.
#include <weft/weft.h>

#include <source_location>
#include <sstream>
#include <string>

#include "support/cases.h"

namespace {

using namespace std::chrono_literals;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string dump() {
  std::ostringstream text;
  weft::runtime::dump(text);
  return text.str();
}

// The entry that begins with `head`, without it.
std::string entry(const std::string& text, const std::string& head) {
  const std::size_t at = text.find(head);
  if (at == std::string::npos) return {};
  return text.substr(at + head.size(), text.find("\n\n", at) - at - head.size());
}

std::string this_line(std::source_location here = std::source_location::current()) {
  return "unstarted.cc:" + std::to_string(here.line());
}

}  // namespace

// 3000 are more than a P holds: most are in the global queue, in bundles.
// check: run WEFT_MAXPROCS=1 --case=are_listed
// check: stdout ^listed$
// check: run WEFT_MAXPROCS=1 WEFT_POLICY=global --case=are_listed
// check: stdout ^listed$
// check: run WEFT_MAXPROCS=1 WEFT_DEBUG=spawn_place=back --case=are_listed
// check: stdout ^listed$
WEFT_CASE(are_listed) {
  weft::run([] {
    const weft::no_preempt none_starts;
    std::string line, named_line, idle_line;
    for (int i = 0; i < 3000; ++i) weft::go([] {}), line = this_line();
    weft::go(weft::go_options{.name = "later"}, [] {}), named_line = this_line();
    weft::go(weft::go_options{.name = "idle", .idle = true}, [] {}), idle_line = this_line();
    const std::string text = dump();
    WEFT_EXPECT(has(entry(text, "3000 goroutines [not started]:\n"), line));
    WEFT_EXPECT(has(entry(text, "goroutine \"later\" [not started]:\n"), named_line));
    WEFT_EXPECT(has(entry(text, "goroutine \"idle\" [not started]:\n"), idle_line));
    WEFT_EXPECT(has(text, "\n3002 goroutines have been spawned and not run yet\n"));
  });
  weft::run([] {
    while (weft::runtime::num_goroutines() > 1) weft::this_goroutine::sleep_for(1ms);
    WEFT_EXPECT(!has(dump(), "not started"));  // and what was looked at is whole
  });
  weft::test::say("listed");
  return 0;
}

// A joiner waits for one that has not started: it has an id.
// check: run WEFT_MAXPROCS=1 --case=with_an_id
// check: stdout ^listed$
WEFT_CASE(with_an_id) {
  weft::run([] {
    const weft::no_preempt none_starts;
    auto task = weft::spawn(weft::go_options{.name = "task"}, [] {});
    WEFT_EXPECT(has(dump(), "goroutine " + std::to_string(task.id().value()) + " \"task\" [not started]:\n"));
    task.join();
  });
  weft::test::say("listed");
  return 0;
}

// Many times while others spawn, steal and run: what is looked at may not go away meanwhile.
// check: run WEFT_MAXPROCS=4 --case=while_others_run
// check: stdout ^unharmed$
// check: within 60
WEFT_CASE(while_others_run) {
  weft::run([] {
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int i = 0; i < 3; ++i)
      group.go([&] {
        while (!stop) {
          weft::wait_group burst;
          for (int n = 0; n < 200; ++n) {
            burst.add(1);
            weft::go(weft::go_options{.name = "a name that is too long to be kept in place"}, [&] { burst.done(); });
            burst.go([] {});
          }
          burst.wait();
        }
      });
    for (int i = 0; i < 100; ++i) {
      dump();
      weft::this_goroutine::yield();
    }
    stop = true;
    group.wait();
  });
  weft::test::say("unharmed");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=after_func_has_a_site
// check: stdout ^here$
WEFT_CASE(after_func_has_a_site) {
  weft::run([] {
    weft::chan<int> never(0, "never");
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    std::string after, reset, cancelled, too_late;
    const auto as = [&](const char* name) {
      return [never, name]() mutable {
        weft::this_goroutine::set_name(name);
        never.recv();
      };
    };
    weft::after_func(1us, as("after")), after = this_line();
    auto timer = weft::after_func(1h, as("reset"));
    timer.reset(1us), reset = this_line();
    const weft::timer direct(1us, as("direct"));
    const std::string direct_line = "unstarted.cc:" + std::to_string(std::source_location::current().line() - 1);
    weft::after_func(ctx, as("cancelled")), cancelled = this_line();
    cancel();
    weft::after_func(ctx, as("too late")), too_late = this_line();
    std::string text;
    while (!has(text, "\"too late\" [chan") || !has(text, "\"after\" [chan") || !has(text, "\"reset\" [chan") ||
           !has(text, "\"cancelled\" [chan") || !has(text, "\"direct\" [chan")) {
      weft::this_goroutine::sleep_for(1ms);
      text = dump();
    }
    const auto started_at = [&](const char* name) {
      const std::string found = entry(text, std::string("\"") + name + "\" [chan");
      const std::size_t at = found.find("started");
      return at != std::string::npos ? found.substr(at) : std::string();
    };
    WEFT_EXPECT(has(started_at("after"), after));
    WEFT_EXPECT(has(started_at("reset"), reset));
    WEFT_EXPECT(has(started_at("direct"), direct_line));
    WEFT_EXPECT(has(started_at("cancelled"), cancelled));
    WEFT_EXPECT(has(started_at("too late"), too_late));
    never.close();
  });
  weft::test::say("here");
  return 0;
}
