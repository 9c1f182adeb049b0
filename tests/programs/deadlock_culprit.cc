// SPDX-License-Identifier: MIT
// test-timeout: 120
// A deadlock report and a dump name the culprit: what each goroutine waits for, in which state it is, and who holds it.
#include <weft/weft.h>

#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <thread>

#include "support/cases.h"
#include "support/waiting.h"

namespace {

using namespace weft::test;

// What a dump says once the condition holds.
template <class Condition>
std::string dump_when(Condition condition) {
  for (;;) {
    std::ostringstream text;
    weft::runtime::dump(text);
    if (condition(text.str())) return text.str();
    weft::this_goroutine::sleep_for(1ms);
  }
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

weft::mutex first("the first"), second("the second");

}  // namespace

// check: run WEFT_MAXPROCS=1 --case=cycle
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: stderr ^deadlock cycle: goroutine \d+ "(A|B)" waits for mutex "the (first|second)" \(0x[0-9a-f]+\), held by goroutine \d+ "(A|B)", which waits for mutex "the (first|second)" \(0x[0-9a-f]+\), held by goroutine \d+ "(A|B)"$
// check: stderr ^goroutine \d+ "A" \[mutex lock\]:\n  waits for mutex "the second" \(0x[0-9a-f]+\), held by goroutine \d+ "B" \(started by goroutine \d+ at case_cycle
// check: stderr ^goroutine \d+ "B" \[mutex lock\]:\n  waits for mutex "the first" \(0x[0-9a-f]+\), held by goroutine \d+ "A"
// check: stderr waits for wait_group "both" \(0x[0-9a-f]+: 2 not done\)
// check: within 5
// check: run WEFT_MAXPROCS=4 --case=cycle
// check: exit 2
// check: stderr ^deadlock cycle:
// check: within 5
// check: run WEFT_MAXPROCS=2 WEFT_POLICY=global --case=cycle
// check: exit 2
// check: stderr ^deadlock cycle:
// check: within 5
WEFT_CASE(cycle) {
  weft::run([] {
    weft::event has_first, has_second;
    weft::wait_group both("both");
    both.add(2);
    weft::go(weft::go_options{.name = "A"}, [&] {
      const std::lock_guard one(first);
      has_first.set();
      has_second.wait();
      const std::lock_guard two(second);
      both.done();
    });
    weft::go(weft::go_options{.name = "B"}, [&] {
      const std::lock_guard one(second);
      has_second.set();
      has_first.wait();
      const std::lock_guard two(first);
      both.done();
    });
    both.wait();
  });
  return 0;
}

// check: run --case=long_cycle
// check: exit 2
// check: stderr ^deadlock cycle: (.*, held by ){5}goroutine \d+ "[0-4]"$
// check: within 5
WEFT_CASE(long_cycle) {
  weft::run([] {
    weft::mutex forks[5];
    weft::barrier all(5);
    weft::wait_group group;
    group.add(5);
    for (int i = 0; i < 5; ++i)
      weft::go(weft::go_options{.name = std::to_string(i)}, [&, i] {
        const std::lock_guard left(forks[i]);
        all.arrive_and_wait();
        const std::lock_guard right(forks[(i + 1) % 5]);
      });
    group.wait();
  });
  return 0;
}

// check: run --case=twice
// check: exit 2
// check: stderr ^deadlock cycle: goroutine \d+ "main" waits for mutex "the first" \(0x[0-9a-f]+\), held by itself$
// check: stderr waits for mutex "the first" \(0x[0-9a-f]+\), held by itself: it locks it twice
// check: within 5
WEFT_CASE(twice) {
  weft::run([] {
    weft::this_goroutine::set_name("main");
    const std::lock_guard once(first);
    first.lock();
  });
  return 0;
}

// check: run --case=once_inside_once
// check: exit 2
// check: stderr ^deadlock cycle: goroutine \d+ waits for once_flag \(0x[0-9a-f]+: its function is running\), run by itself$
// check: stderr \[call_once\]:\n  waits for once_flag \(0x[0-9a-f]+: its function is running\), run by itself: it calls it from inside the function$
// check: within 5
WEFT_CASE(once_inside_once) {
  weft::run([] {
    weft::once_flag flag;
    weft::call_once(flag, [&] { weft::call_once(flag, [] {}); });
  });
  return 0;
}

// check: run --case=forgotten
// check: exit 2
// check: stderr waits for mutex "the first" \(0x[0-9a-f]+\), held by nobody any more: goroutine \d+ took it and has ended without unlocking it
// check: not-stderr deadlock cycle
// check: within 5
WEFT_CASE(forgotten) {
  weft::run([] {
    weft::spawn([] { first.lock(); }).join();
    first.lock();
  });
  return 0;
}

// check: run --case=held_by_a_thread
// check: exit 2
// check: stderr waits for mutex "the first" \(0x[0-9a-f]+\), held by a plain thread
// check: within 5
WEFT_CASE(held_by_a_thread) {
  first.lock();
  weft::run([] { first.lock(); });
  return 0;
}

// check: run --case=join_cycle
// check: exit 2
// check: stderr ^deadlock cycle: .*waits for the end of goroutine \d+ "worker", which waits for mutex "the first" .*held by goroutine \d+ "main"
// check: within 5
WEFT_CASE(join_cycle) {
  weft::run([] {
    weft::this_goroutine::set_name("main");
    const std::lock_guard lock(first);
    weft::spawn([] {
      weft::this_goroutine::set_name("worker");
      first.lock();
    }).join();
  });
  return 0;
}

// check: run --case=everything
// check: exit 2
// check: stderr "shared writer" \[shared mutex lock\]:\n  waits for shared_mutex "table" \(0x[0-9a-f]+\), held by 1 reader
// check: stderr "shared reader" \[shared mutex lock_shared\]:\n  waits for shared_mutex "index" \(0x[0-9a-f]+\), held by goroutine \d+ "main"
// check: stderr "recursive" \[mutex lock\]:\n  waits for mutex "tree" \(0x[0-9a-f]+\), held by goroutine \d+ "main"
// check: stderr "timed" \[mutex lock\]:\n  waits for mutex "slot" \(0x[0-9a-f]+\), held by goroutine \d+ "main"
// check: stderr "condition" \[condition variable wait\]:\n  waits for condition_variable "not full" \(0x
// check: stderr "semaphore" \[semaphore acquire\]:\n  waits for semaphore "tokens" \(0x[0-9a-f]+: 0 permits\)
// check: stderr "weighted" \[weighted semaphore acquire\]:\n  waits for weighted_semaphore "megabytes" \(0x[0-9a-f]+: 3 wanted, 2 of 4 free\)
// check: stderr "weighted with a context" \[weighted semaphore acquire\]:\n  waits for weighted_semaphore "megabytes" \(0x[0-9a-f]+: 1 wanted, 2 of 4 free\)
// check: stderr "watch" \[watch change\]:\n  waits for watch "configuration" \(0x
// check: stderr "broadcast" \[broadcast receive\]:\n  waits for broadcast "prices" \(0x
// check: stderr "watch or broadcast" \[select\]:\n  waits for a receive from chan "configuration" \(0x[0-9a-f]+: unbuffered\) or a receive from chan "prices" \(0x
// check: stderr "latch" \[latch wait\]:\n  waits for latch "start" \(0x[0-9a-f]+: 3 missing\)
// check: stderr "barrier" \[barrier wait\]:\n  waits for barrier "phase" \(0x[0-9a-f]+: 4 of 5 missing\)
// check: stderr "event" \[event\]:\n  waits for event "go" \(0x[0-9a-f]+: not set\)
// check: stderr "receiver" \[chan receive\]:\n  waits for chan "jobs" \(0x[0-9a-f]+: unbuffered\)
// check: stderr "sender" \[chan send\]:\n  waits for chan "results" \(0x[0-9a-f]+: 2 of 2 elements\)
// check: stderr "select" \[select\]:\n  waits for a receive from chan "jobs" \(0x[0-9a-f]+: unbuffered\) or a send to chan "results" \(0x[0-9a-f]+: 2 of 2 elements\) or a receive from a nil chan
// check: stderr "stopped ticker" \[chan receive\]:\n  waits for the chan of a timer \(0x
// check: stderr "group" \[wait group\]:\n  waits for wait_group "goroutines of a group" \(0x[0-9a-f]+: 1 not done\)
// check: stderr "context" \[chan receive\]:\n  waits for the chan of a context \(0x[0-9a-f]+: not cancelled\)
// check: stderr "context and chan" \[select\]:\n  waits for a receive from the chan of a context \(0x[0-9a-f]+: not cancelled\) or a receive from chan "jobs"
// check: stderr "flight" \[event\]:\n  waits for event "the running call of a single_flight" \(0x
// check: stderr "once" \[call_once\]:\n  waits for once_flag \(0x[0-9a-f]+: its function is running\), run by goroutine \d+ "runs once"
// check: stderr "places" \[chan send\]:\n  waits for chan "places of a group" \(0x[0-9a-f]+: 1 of 1 elements\)
// check: not-stderr deadlock cycle
// check: within 10
WEFT_CASE(everything) {
  weft::run([] {
    weft::this_goroutine::set_name("main");
    weft::shared_mutex table("table"), index("index");
    weft::recursive_mutex tree("tree");
    weft::timed_mutex slot("slot");
    weft::mutex plain;
    weft::condition_variable not_full("not full");
    weft::counting_semaphore<> tokens(0, "tokens");
    weft::latch start(3, "start");
    weft::barrier<> phase(5, {}, "phase");
    weft::event go("go");
    weft::chan<int> jobs(0, "jobs"), results(2, "results");
    weft::ticker ticker(1h);
    ticker.stop();
    weft::group group;
    group.limit(1);
    group.go([&] { go.wait(); });
    results.send(1);
    results.send(2);
    table.lock_shared();
    index.lock();
    tree.lock();
    tree.lock();
    slot.lock();
    const auto named = [](const char* name, auto f) { weft::go(weft::go_options{.name = name}, std::move(f)); };
    named("shared writer", [&] { table.lock(); });
    named("shared reader", [&] { index.lock_shared(); });
    named("recursive", [&] { tree.lock(); });
    named("timed", [&] { slot.lock(); });
    named("condition", [&] {
      std::unique_lock lock(plain);
      not_full.wait(lock);
    });
    named("semaphore", [&] { tokens.acquire(); });
    weft::weighted_semaphore megabytes(4, "megabytes");
    megabytes.acquire(2);
    weft::event has_queued;
    named("weighted", [&] {
      has_queued.set();
      megabytes.acquire(3);
    });
    has_queued.wait();
    while (megabytes.try_acquire()) megabytes.release();  // not before it waits
    named("weighted with a context", [&] { static_cast<void>(megabytes.acquire(group.ctx(), 1)); });
    weft::watch<int> configuration(1, "configuration");
    weft::broadcast<int> prices(4, "prices");
    named("watch", [seen = configuration.subscribe()]() mutable { seen.changed(); });
    named("broadcast", [receiver = prices.subscribe()]() mutable { receiver.recv(); });
    named("watch or broadcast", [seen = configuration.subscribe(), receiver = prices.subscribe()]() mutable {
      weft::select(weft::on_changed(seen), weft::on_recv(receiver));
    });
    named("latch", [&] { start.wait(); });
    named("barrier", [&] { phase.arrive_and_wait(); });
    named("event", [&] { go.wait(); });
    named("receiver", [&] { jobs.recv(); });
    named("sender", [&] { results.send(3); });
    named("select",
          [&] { weft::select(weft::on_recv(jobs), weft::on_send(results, 4), weft::on_recv(weft::chan<int>::nil())); });
    named("stopped ticker", [&] { ticker.chan().recv(); });
    named("places", [&] { group.go([] {}); });
    named("group", [&] { group.wait(); });
    named("context", [&] { group.ctx().done().recv(); });
    named("context and chan", [&] { weft::select(weft::on_recv(group.ctx().done()), weft::on_recv(jobs)); });
    weft::single_flight<int, int> flights;
    weft::once_flag flag;
    weft::latch running(2);
    const auto fly = [&] {
      return flights.run(1, [&] {
        running.count_down();
        go.wait();
        return 1;
      });
    };
    named("flies", [&] { fly(); });
    named("runs once", [&] {
      weft::call_once(flag, [&] {
        running.count_down();
        go.wait();
      });
    });
    running.wait();
    named("flight", [&] { fly(); });
    named("once", [&] { weft::call_once(flag, [] {}); });
    weft::event().wait();
  });
  return 0;
}

// A dump of a program that lives shows the same, also after locks have changed hands.
// check: run WEFT_MAXPROCS=1 --case=dump
// check: stdout ^as expected$
// check: run WEFT_MAXPROCS=4 --case=dump
// check: stdout ^as expected$
WEFT_CASE(dump) {
  weft::run([] {
    static weft::shared_mutex table("table");
    weft::event holds, go_on;
    auto holder = weft::spawn([&] {
      weft::this_goroutine::set_name("holder");
      const std::lock_guard lock(first);
      const std::lock_guard write(table);
      holds.set();
      go_on.wait();
    });
    holds.wait();
    auto waiter = weft::spawn([] {
      weft::this_goroutine::set_name("waiter");
      const std::lock_guard lock(first);
    });
    auto reader = weft::spawn([] { const std::shared_lock lock(table); });
    const std::string text =
        dump_when([](const std::string& dump) { return has(dump, "[mutex lock") && has(dump, "lock_shared"); });
    const auto held = [&](const std::string& what) {
      const std::size_t at = text.find("waits for " + what);
      WEFT_EXPECT(at != std::string::npos);
      WEFT_EXPECT(has(text.substr(at, text.find('\n', at) - at), "\"holder\""));
    };
    held("mutex \"the first\"");
    held("shared_mutex \"table\"");
    WEFT_EXPECT(!has(text, "deadlock cycle"));
    go_on.set();
    holder.join();
    waiter.join();
    reader.join();
    // Handed over and barged for, many times: whoever is asked about is the one that has it.
    std::atomic<int> turns{0};
    weft::wait_group group;
    for (int i = 0; i < 4; ++i)
      group.go([&] {
        for (int n = 0; n < 50; ++n) {
          const std::lock_guard lock(first);
          ++turns;
          if (n % 10 == 0) weft::this_goroutine::sleep_for(1200us);
        }
      });
    group.wait();
    WEFT_EXPECT(turns == 200);
  });
  say("as expected");
  return 0;
}

// check: run --case=unlock_names_it
// check: exit SIGABRT,2
// check: stderr unlock of an unlocked mutex, "the first"
WEFT_CASE(unlock_names_it) {
  weft::run([] {
    first.lock();
    first.unlock();
    first.unlock();
  });
  return 0;
}

// check: run --case=unlock_names_a_recursive_mutex
// check: exit SIGABRT,2
// check: stderr unlock of an unlocked recursive_mutex, "the nested"
WEFT_CASE(unlock_names_a_recursive_mutex) {
  weft::run([] { weft::recursive_mutex("the nested").unlock(); });
  return 0;
}

// check: run --case=unlock_names_anothers_recursive_mutex
// check: exit SIGABRT,2
// check: stderr unlock of another's recursive_mutex, "the nested": unlocked by goroutine \d+, but goroutine \d+ holds it
WEFT_CASE(unlock_names_anothers_recursive_mutex) {
  weft::run([] {
    weft::recursive_mutex lock("the nested");
    lock.lock();
    weft::spawn([&] { lock.unlock(); }).join();
  });
  return 0;
}

// check: run --case=unlock_names_a_shared_mutex
// check: exit SIGABRT,2
// check: stderr unlock of an unlocked shared_mutex, "the table": it is locked shared, which unlock_shared ends
WEFT_CASE(unlock_names_a_shared_mutex) {
  weft::run([] {
    weft::shared_mutex lock("the table");
    lock.lock_shared();
    lock.unlock();
  });
  return 0;
}

// check: run --case=unlock_shared_names_it
// check: exit SIGABRT,2
// check: stderr unlock_shared of an unlocked shared_mutex, "the table"$
WEFT_CASE(unlock_shared_names_it) {
  weft::run([] { weft::shared_mutex("the table").unlock_shared(); });
  return 0;
}
