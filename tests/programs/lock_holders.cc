// SPDX-License-Identifier: MIT
// test-timeout: 120
// A report knows a lock's holder by who it is, not by where on a stack it locked: a lock got by waiting, through functions that have
// returned, on a stack that had other tenants. It names the readers of a shared_mutex, and the writer that waits in a reader's way.
#include <weft/weft.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

#include "support/cases.h"

namespace {

using namespace std::chrono_literals;

void let_others_run() {
  for (int i = 0; i < 10; ++i) weft::this_goroutine::yield();
  weft::this_goroutine::sleep_for(5ms);
}

template <class F>
void go_named(const char* name, F f) {
  weft::go(weft::go_options{.name = name}, std::move(f));
}

void wait_for_ever() { weft::chan<int>(0, "for ever").recv(); }

// Far below the frame of its caller, which is left when this returns.
template <class Lock>
[[gnu::noinline]] void lock_below(Lock& lock) {
  [[maybe_unused]] volatile char room[8192];
  room[0] = 1;
  lock.lock();
  room[1] = 2;
}

// "holder" gets the lock by waiting for it, and waits for something else with it; "waiter" wants it.
template <class Lock>
void hold_after_waiting() {
  weft::run([] {
    Lock lock("L");
    lock.lock();
    go_named("holder", [&] {
      lock_below(lock);
      wait_for_ever();
    });
    let_others_run();
    lock.unlock();
    let_others_run();
    go_named("waiter", [&] { lock.lock(); });
    wait_for_ever();
  });
}

}  // namespace

// check: run WEFT_MAXPROCS=1 --case=mutex_got_by_waiting
// check: exit 2
// check: stderr ^goroutine \d+ "waiter" \[mutex lock\]:\n  waits for mutex "L" \(0x[0-9a-f]+\), held by goroutine \d+ "holder"
// check: not-stderr nobody
// check: within 10
// check: run WEFT_MAXPROCS=2 --case=mutex_got_by_waiting
// check: exit 2
// check: stderr waits for mutex "L" \(0x[0-9a-f]+\), held by goroutine \d+ "holder"
// check: within 10
WEFT_CASE(mutex_got_by_waiting) {
  hold_after_waiting<weft::mutex>();
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=shared_mutex_got_by_waiting
// check: exit 2
// check: stderr waits for shared_mutex "L" \(0x[0-9a-f]+\), held by goroutine \d+ "holder"
// check: not-stderr nobody
// check: within 10
WEFT_CASE(shared_mutex_got_by_waiting) {
  hold_after_waiting<weft::shared_mutex>();
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=recursive_mutex_got_by_waiting
// check: exit 2
// check: stderr waits for mutex "L" \(0x[0-9a-f]+\), held by goroutine \d+ "holder"
// check: not-stderr nobody
// check: within 10
WEFT_CASE(recursive_mutex_got_by_waiting) {
  hold_after_waiting<weft::recursive_mutex>();
  return 0;
}

// Handed over: the lock's holder unlocks it every 2 ms only, and takes it back at once, until the one that waits is given it.
// check: run WEFT_MAXPROCS=1 --case=mutex_handed_over
// check: exit 2
// check: stderr waits for mutex "L" \(0x[0-9a-f]+\), held by goroutine \d+ "holder"
// check: not-stderr nobody
// check: within 20
WEFT_CASE(mutex_handed_over) {
  weft::run([] {
    weft::mutex lock("L");
    bool handed_over = false;
    lock.lock();
    go_named("holder", [&] {
      lock_below(lock);
      handed_over = true;
      wait_for_ever();
    });
    go_named("waiter", [&] {
      while (!handed_over) weft::this_goroutine::sleep_for(1ms);
      lock.lock();
    });
    for (;;) {
      weft::this_goroutine::sleep_for(2ms);
      lock.unlock();
      lock.lock();  // taken before the one that was woken runs; it waits for ever once the other has it
    }
  });
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=locked_through_a_function
// check: exit 2
// check: stderr waits for mutex "L" \(0x[0-9a-f]+\), held by goroutine \d+ "holder"
// check: not-stderr nobody
// check: within 10
namespace {
struct Account {
  weft::mutex mutex{"L"};
  void lock() { lock_below(mutex); }
  void unlock() { mutex.unlock(); }
};
}  // namespace
WEFT_CASE(locked_through_a_function) {
  weft::run([] {
    Account account;
    go_named("holder", [&] {
      const std::lock_guard hold(account);
      wait_for_ever();
    });
    let_others_run();
    go_named("waiter", [&] { const std::lock_guard hold(account); });
    wait_for_ever();
  });
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=cycle_after_waiting
// check: exit 2
// check: stderr ^deadlock cycle: goroutine \d+ "(parent|child)" waits for .*goroutine \d+ "(parent|child)", which waits for
// check: within 10
WEFT_CASE(cycle_after_waiting) {
  weft::run([] {
    weft::mutex lock("L");
    lock.lock();
    go_named("parent", [&] {
      lock_below(lock);
      weft::spawn(weft::go_options{.name = "child"}, [&] { lock.lock(); }).join();
    });
    let_others_run();
    lock.unlock();
    wait_for_ever();
  });
  return 0;
}

// The next goroutine on a stack has nothing to do with what the one before did there.
// check: run WEFT_MAXPROCS=1 --case=next_on_the_stack
// check: exit 2
// check: stderr "innocent" \[mutex lock\]:\n  waits for mutex "L" \(0x[0-9a-f]+\), held by nobody any more: goroutine \d+ took it and has ended
// check: not-stderr deadlock cycle
// check: not-stderr itself
// check: within 10
WEFT_CASE(next_on_the_stack) {
  weft::run([] {
    weft::mutex lock("L");
    go_named("forgot", [&] { lock.lock(); });
    let_others_run();
    go_named("innocent", [&] { lock.lock(); });
    wait_for_ever();
  });
  return 0;
}

// Locked twice by one that is not the first on its stack: that is a cycle, without an "or".
// check: run WEFT_MAXPROCS=1 --case=twice_on_a_used_stack
// check: exit 2
// check: stderr ^deadlock cycle: goroutine \d+ "twice" waits for mutex "L" \(0x[0-9a-f]+\), held by itself$
// check: not-stderr ran on its stack
// check: within 10
WEFT_CASE(twice_on_a_used_stack) {
  weft::run([] {
    weft::mutex lock("L");
    for (int i = 0; i < 20; ++i) weft::spawn([] {}).join();
    go_named("twice", [&] {
      lock.lock();
      lock.lock();
    });
    wait_for_ever();
  });
  return 0;
}

// Any goroutine may unlock: who locked it next is the holder.
// check: run WEFT_MAXPROCS=1 --case=unlocked_by_another
// check: exit 2
// check: stderr waits for mutex "L" \(0x[0-9a-f]+\), held by goroutine \d+ "second"
// check: within 10
WEFT_CASE(unlocked_by_another) {
  weft::run([] {
    weft::mutex lock("L");
    go_named("first", [&] {
      lock.lock();
      wait_for_ever();
    });
    let_others_run();
    lock.unlock();
    go_named("second", [&] {
      lock.lock();
      wait_for_ever();
    });
    let_others_run();
    go_named("waiter", [&] { lock.lock(); });
    wait_for_ever();
  });
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=readers
// check: exit 2
// check: stderr "writer" \[shared mutex lock\]:\n  waits for shared_mutex "L" \(0x[0-9a-f]+\), held by 2 readers: goroutine \d+ "(one|two)"( \(started [^\n]*\))?, goroutine \d+ "(one|two)"
// check: stderr "late" \[shared mutex lock_shared\]:\n  waits for shared_mutex "L" .*behind goroutine \d+ "writer", which waits to write
// check: not-stderr "late", goroutine|readers: [^\n]*"gone"
// check: not-stderr deadlock cycle
// check: within 10
WEFT_CASE(readers) {
  weft::run([] {
    weft::shared_mutex lock("L");
    weft::event go_on;
    for (const char* name : {"one", "two"})
      go_named(name, [&] {
        lock.lock_shared();
        wait_for_ever();
      });
    go_named("gone", [&] {
      lock.lock_shared();
      lock.unlock_shared();
      wait_for_ever();
    });
    let_others_run();
    go_named("writer", [&] { lock.lock(); });
    let_others_run();
    go_named("late", [&] { lock.lock_shared(); });
    wait_for_ever();
  });
  return 0;
}

// Reads, a writer waits, and reads again: it waits for the writer, which waits for it.
// check: run WEFT_MAXPROCS=1 --case=reads_twice
// check: exit 2
// check: stderr ^deadlock cycle: goroutine \d+ "reader" waits for shared_mutex "L" \(0x[0-9a-f]+\), behind goroutine \d+ "writer", which waits for shared_mutex "L" \(0x[0-9a-f]+\), read by goroutine \d+ "reader"$
// check: within 10
// check: run WEFT_MAXPROCS=2 --case=reads_twice
// check: exit 2
// check: stderr ^deadlock cycle: 
// check: within 10
WEFT_CASE(reads_twice) {
  weft::run([] {
    weft::shared_mutex lock("L");
    weft::event has_read, wants_to_write;
    go_named("reader", [&] {
      const std::shared_lock outer(lock);
      has_read.set();
      wants_to_write.wait();
      let_others_run();
      const std::shared_lock inner(lock);
    });
    has_read.wait();
    go_named("writer", [&] {
      wants_to_write.set();
      const std::lock_guard write(lock);
    });
    wait_for_ever();
  });
  return 0;
}

// Two shared mutexes, read in one order and written in the other.
// check: run WEFT_MAXPROCS=1 --case=crosswise
// check: exit 2
// check: stderr ^deadlock cycle: goroutine \d+ "[ab]" waits for shared_mutex "[AB]" \(0x[0-9a-f]+\), read by goroutine \d+ "[ab]", which waits for shared_mutex "[AB]" \(0x[0-9a-f]+\), read by goroutine \d+ "[ab]"$
// check: within 10
WEFT_CASE(crosswise) {
  weft::run([] {
    weft::shared_mutex first("A"), second("B");
    weft::barrier both(2);
    const auto cross = [&](weft::shared_mutex& read, weft::shared_mutex& written) {
      read.lock_shared();
      both.arrive_and_wait();
      written.lock();
    };
    go_named("a", [&] { cross(first, second); });
    go_named("b", [&] { cross(second, first); });
    wait_for_ever();
  });
  return 0;
}

// A reader that wants to write, too.
// check: run WEFT_MAXPROCS=1 --case=upgrade
// check: exit 2
// check: stderr ^deadlock cycle: goroutine \d+ "reader" waits for shared_mutex "L" \(0x[0-9a-f]+\), read by itself$
// check: stderr waits for shared_mutex "L" \(0x[0-9a-f]+\), held by 1 reader: itself
// check: within 10
WEFT_CASE(upgrade) {
  weft::run([] {
    weft::shared_mutex lock("L");
    go_named("reader", [&] {
      lock.lock_shared();
      lock.lock();
    });
    wait_for_ever();
  });
  return 0;
}

// A plain thread and one that reads the same twice are not known any more: the report says that it does not know all of them.
// check: run WEFT_MAXPROCS=1 --case=many_readers
// check: exit 2
// check: stderr waits for shared_mutex "L" \(0x[0-9a-f]+\), held by 22 readers: goroutine \d+ .* and 2 that are not known
// check: within 10
WEFT_CASE(many_readers) {
  weft::run([] {
    weft::shared_mutex lock("L");
    for (int i = 0; i < 20; ++i)
      go_named("reader", [&] {
        lock.lock_shared();
        wait_for_ever();
      });
    go_named("twice", [&] {
      lock.lock_shared();
      lock.lock_shared();
      lock.unlock_shared();
      wait_for_ever();
    });
    weft::blocking([&] { std::thread([&] { lock.lock_shared(); }).join(); });
    let_others_run();
    go_named("writer", [&] { lock.lock(); });
    wait_for_ever();
  });
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=ended_reader
// check: exit 2
// check: stderr waits for shared_mutex "L" \(0x[0-9a-f]+\), held by 1 reader: goroutine \d+, which has ended$
// check: within 10
WEFT_CASE(ended_reader) {
  weft::run([] {
    weft::shared_mutex lock("L");
    weft::spawn([&] { lock.lock_shared(); }).join();
    go_named("writer", [&] { lock.lock(); });
    wait_for_ever();
  });
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=thread_reader
// check: exit 2
// check: stderr waits for shared_mutex "L" \(0x[0-9a-f]+\), held by 1 reader, which is not known$
// check: within 10
WEFT_CASE(thread_reader) {
  static weft::shared_mutex lock("L");
  lock.lock_shared();
  weft::run([] { lock.lock(); });
  return 0;
}

// The line of a lock is the user's, not that of the lock_guard's body in the standard library.
// check: run WEFT_MAXPROCS=1 --case=line_of_a_lock_guard
// check: exit 2
// check: stderr ^  .*locks_by_guard.*\n      .*lock_holders\.cc:\d+ 
// check: not-stderr std_mutex\.h
// check: within 10
namespace {
weft::mutex guarded("L");
[[gnu::noinline, gnu::flatten]] void locks_by_guard() {
  const std::lock_guard hold(guarded);
  asm volatile("");
}
}  // namespace
WEFT_CASE(line_of_a_lock_guard) {
  weft::run([] {
    guarded.lock();
    locks_by_guard();
  });
  return 0;
}
