// SPDX-License-Identifier: MIT
// test-timeout: 120
// The WEFT_* variables, and what the machine allows: values that are used, values that are refused, defaults (F20, SC25).
#include <sched.h>
#include <stdlib.h>
#include <weft/weft.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "support/cases.h"
#include "support/process.h"
#include "support/workload.h"

namespace {

using namespace weft::test;

void set_affinity(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  WEFT_EXPECT(sched_setaffinity(getpid(), sizeof set, &set) == 0);
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  WEFT_EXPECT(sched_getaffinity(0, sizeof set, &set) == 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

}  // namespace

// check: run WEFT_MAXPROCS=3 --case=show
// check: stdout ^maxprocs 3 policy classic$
// check: not-stderr .
// check: run WEFT_MAXPROCS=1024 --case=show
// check: stdout ^maxprocs 1024 policy classic$
// check: run WEFT_POLICY=global WEFT_MAXPROCS=1 --case=show
// check: stdout ^maxprocs 1 policy global$
// check: run WEFT_POLICY=classic WEFT_PREEMPT=off WEFT_SLICE=5 WEFT_STACK_SIZE=100K WEFT_MAX_THREADS=100 --case=show
// check: stdout policy classic$
// check: not-stderr .
// check: run WEFT_PREEMPT=on WEFT_STACK_SIZE=1M WEFT_SLICE=1000 --case=show
// check: stdout policy classic$
// check: run WEFT_MAXPROCS=3 WEFT_BUILD_DIR=/x WEFT_JOBS=2 WEFT_NO_INSTALL=1 WEFT_LOG_BUILDS=1 WEFT_TEST_X=1 --case=show
// check: stdout ^maxprocs 3 policy classic$
// check: not-stderr .
// check: run WEFT_MAXPROC=3 WEFT_POLICY=global --case=show
// check: stdout policy global$
// check: first-stderr weft: unknown variable "WEFT_MAXPROC" ignored; the nearest name is WEFT_MAXPROCS
// check: not-stderr (?s)\n.
// check: run WEFT_FOO=1 --case=show
// check: stdout policy classic$
// check: first-stderr weft: unknown variable "WEFT_FOO" ignored; the nearest name is WEFT_.*
// check: not-stderr (?s)\n.
// check: run WEFT_MAXPROCS=abc --case=show
// check: exit 2
// check: first-stderr weft: WEFT_MAXPROCS="abc" cannot be used; accepted: a number from 1 to 1024, written in base 10
// check: not-stderr (?s)\n.
// check: not-stdout .
// check: run WEFT_MAXPROCS= --case=show
// check: exit 2
// check: first-stderr weft: WEFT_MAXPROCS="" cannot be used; .*
// check: run WEFT_MAXPROCS=0 --case=show
// check: exit 2
// check: first-stderr weft: WEFT_MAXPROCS="0" cannot be used; .*
// check: run WEFT_MAXPROCS=1025 --case=show
// check: exit 2
// check: first-stderr weft: WEFT_MAXPROCS="1025" cannot be used; .*
// check: run WEFT_MAXPROCS=-1 --case=show
// check: exit 2
// check: first-stderr weft: WEFT_MAXPROCS="-1" cannot be used; .*
// check: run 'WEFT_MAXPROCS= 4 ' --case=show
// check: exit 2
// check: first-stderr weft: WEFT_MAXPROCS=" 4 " cannot be used; .*
// check: run WEFT_MAXPROCS=99999999999999999999 --case=show
// check: exit 2
// check: first-stderr weft: WEFT_MAXPROCS="99999999999999999999" cannot be used; .*
// check: run WEFT_POLICY=fast --case=show
// check: exit 2
// check: first-stderr weft: WEFT_POLICY="fast" cannot be used; accepted: one of classic, global, batch, matrix
// check: run WEFT_POLICY=Classic --case=show
// check: exit 2
// check: first-stderr weft: WEFT_POLICY="Classic" cannot be used; .*
// check: run WEFT_STACK_SIZE=1K --case=show
// check: exit 2
// check: first-stderr weft: WEFT_STACK_SIZE="1K" cannot be used; accepted: .*16K to 1024M.*
// check: run WEFT_STACK_SIZE=2000M --case=show
// check: exit 2
// check: first-stderr weft: WEFT_STACK_SIZE="2000M" cannot be used; .*
// check: run WEFT_STACK_SIZE=64k --case=show
// check: exit 2
// check: first-stderr weft: WEFT_STACK_SIZE="64k" cannot be used; .*
// check: run WEFT_PREEMPT=yes --case=show
// check: exit 2
// check: first-stderr weft: WEFT_PREEMPT="yes" cannot be used; accepted: on or off
// check: run WEFT_SLICE=0 --case=show
// check: exit 2
// check: first-stderr weft: WEFT_SLICE="0" cannot be used; accepted: a number of milliseconds .*
// check: run WEFT_SCHEDTRACE=fast --case=show
// check: exit 2
// check: first-stderr weft: WEFT_SCHEDTRACE="fast" cannot be used; .*
// check: run WEFT_TRACE= --case=show
// check: exit 2
// check: first-stderr weft: WEFT_TRACE="" cannot be used; .*
// check: run WEFT_MAX_THREADS=1 --case=show
// check: exit 2
// check: first-stderr weft: WEFT_MAX_THREADS="1" cannot be used; .*
// check: run WEFT_DEBUG=nonsense=1 --case=show
// check: first-stderr weft: WEFT_DEBUG: unknown key "nonsense" ignored; .*
// check: stdout ^maxprocs
WEFT_CASE(show) {
  weft::run([] {
    WEFT_EXPECT(mixed_workload());
    std::printf("maxprocs %d policy %s\n", weft::runtime::maxprocs(),
                weft::runtime::policy() == weft::policy_kind::global ? "global" : "classic");
  });
  return 0;
}

// check: run WEFT_MAXPROCS=3 WEFT_POLICY=global --case=environment_overrides_options
// check: stdout ^3 global, then 5$
WEFT_CASE(environment_overrides_options) {
  weft::run({.maxprocs = 2, .policy = weft::policy_kind::classic}, [] {
    const int first = weft::runtime::maxprocs();
    const bool global = weft::runtime::policy() == weft::policy_kind::global;
    weft::run({.maxprocs = 4}, [] {});  // still the environment's
    WEFT_EXPECT(weft::runtime::maxprocs() == first);
    weft::runtime::set_maxprocs(5);  // a call that asks for nothing else counts
    std::printf("%d %s, then %d\n", first, global ? "global" : "classic", weft::runtime::maxprocs());
  });
  return 0;
}

// check: run --case=value_that_is_no_text
// check: exit 2
// check: first-stderr weft: WEFT_POLICY="\\xff\\xfe\\n\\x1b\[31m" cannot be used; .*
// check: not-stderr (?s)\n.
WEFT_CASE(value_that_is_no_text) {
  setenv("WEFT_POLICY", "\xff\xfe\n\x1b[31m", 1);
  weft::run([] {});
  return 0;
}

// check: run --case=value_of_a_megabyte
// check: exit 2
// check: first-stderr weft: WEFT_MAXPROCS="7{60}"\.\.\. \(1000000 bytes\) cannot be used; .*
WEFT_CASE(value_of_a_megabyte) {
  setenv("WEFT_MAXPROCS", std::string(1'000'000, '7').c_str(), 1);
  weft::run([] {});
  return 0;
}

// check: run WEFT_MAXPROCS=2 WEFT_SCHEDTRACE=50 --case=busy_for_a_while
// check: stderr (?s)(SCHED \d+ms: maxprocs=2 idleprocs=[012] threads=\d+ spinningthreads=[012] idlethreads=\d+ runqueue=\d+ \[\d+ \d+\]\n.*){4}
// check: run WEFT_MAXPROCS=1 WEFT_POLICY=global WEFT_SCHEDTRACE=50 --case=busy_for_a_while
// check: stderr (?s)(SCHED \d+ms: maxprocs=1 .*\[\d+\]\n.*){4}
WEFT_CASE(busy_for_a_while) {
  weft::run([] {
    const Stopwatch watch;
    while (watch.elapsed() < 500ms) WEFT_EXPECT(mixed_workload());
  });
  return 0;
}

// check: run WEFT_PREEMPT=off --case=preemption_off
// check: stdout ^requests 0$
WEFT_CASE(preemption_off) {
  weft::run([] {
    weft::go([] {});
    compute_for(100ms);
    std::printf("requests %d\n", static_cast<int>(weft::runtime::read_stats().preempts_requested));
  });
  return 0;
}

// check: run WEFT_MAX_THREADS=10 --case=too_many_locked_threads
// check: exit 2
// check: first-stderr .*exceeds 10-thread limit.*
// check: within 10
WEFT_CASE(too_many_locked_threads) {
  weft::run([] {
    weft::event never;
    for (int i = 0; i < 100; ++i) {
      weft::go([&] {
        weft::lock_os_thread();
        never.wait();
      });
    }
    weft::this_goroutine::sleep_for(20s);
  });
  return 0;
}

// check: run WEFT_MAX_THREADS=6 WEFT_MAXPROCS=2 --case=few_threads_queue_calls
// check: stdout ^done$
WEFT_CASE(few_threads_queue_calls) {
  weft::run([] {
    weft::wait_group group;
    std::atomic<int> most{0};
    for (int i = 0; i < 60; ++i) {
      group.go([&] {
        weft::blocking([&] {
          usleep(10'000);
          const int threads = count_threads();
          for (int seen = most; seen < threads && !most.compare_exchange_weak(seen, threads);) {
          }
        });
      });
    }
    group.wait();
    WEFT_EXPECT(most <= 6 + 2 + (kSanitized ? 2 : 0));  // and main, and the watching one
    WEFT_EXPECT(mixed_workload());
  });
  say("done");
  return 0;
}

// check: run --case=default_follows_affinity_at_the_start
// check: stdout ^done$
WEFT_CASE(default_follows_affinity_at_the_start) {
  set_affinity({usable_cpus().front()});
  weft::run([] {
    WEFT_EXPECT(weft::runtime::maxprocs() == 1);
    WEFT_EXPECT(mixed_workload());
  });
  say("done");
  return 0;
}

// check: run --case=default_follows_affinity_later
// check: stdout ^done$
// check: within 40
WEFT_CASE(default_follows_affinity_later) {
  const std::vector<int> cpus = usable_cpus();
  if (cpus.size() < 2) skip("there is only one CPU to use");
  weft::run([&] {
    const int before = weft::runtime::maxprocs();
    if (before < 2) skip("a quota allows one CPU only");
    set_affinity({cpus.front()});
    WEFT_EXPECT(spin_until([] { return weft::runtime::maxprocs() == 1; }, 10s));
    WEFT_EXPECT(mixed_workload());
    set_affinity(cpus);
    WEFT_EXPECT(spin_until([&] { return weft::runtime::maxprocs() == before; }, 10s));
    WEFT_EXPECT(mixed_workload());
    // Who has said a number keeps it.
    weft::runtime::set_maxprocs(before);
    set_affinity({cpus.front()});
    weft::this_goroutine::sleep_for(2500ms);
    WEFT_EXPECT(weft::runtime::maxprocs() == before);
    WEFT_EXPECT(mixed_workload());
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=8 --case=more_processors_than_cpus
// check: stdout ^done$
// check: within 30
WEFT_CASE(more_processors_than_cpus) {
  // Eight Ps on one CPU: spinning threads must not eat what the others need.
  set_affinity({usable_cpus().front()});
  const auto time_of_work = [](int maxprocs) {
    weft::runtime::set_maxprocs(maxprocs);
    const Stopwatch watch;
    weft::run([] {
      weft::wait_group group;
      for (int i = 0; i < 200; ++i) {
        group.go([] {
          for (int round = 0; round < 20; ++round) {
            compute_for(10us);
            weft::spawn([] { weft::this_goroutine::yield(); }).join();
          }
        });
      }
      group.wait();
    });
    return watch.seconds();
  };
  weft::run([] {});
  WEFT_EXPECT(holds_in_time(1ms, [&](Clock::duration) { return time_of_work(8) < 3 * time_of_work(1) + 0.05; }));
  say("done");
  return 0;
}

// Every step of the documents' plan is a scheduler that works (A50).
// check: run WEFT_DEBUG=ladder=0 WEFT_MAXPROCS=4 --case=ladder
// check: stdout ^sum 4950000$
// check: not-stderr .
// check: run WEFT_DEBUG=ladder=1 WEFT_MAXPROCS=4 --case=ladder
// check: stdout ^sum 4950000$
// check: not-stderr .
// check: run WEFT_DEBUG=ladder=2 WEFT_MAXPROCS=4 --case=ladder
// check: stdout ^sum 4950000$
// check: not-stderr .
// check: run WEFT_DEBUG=ladder=3 WEFT_MAXPROCS=4 --case=ladder
// check: stdout ^sum 4950000$
// check: not-stderr .
// check: run WEFT_DEBUG=ladder=4 WEFT_MAXPROCS=4 --case=ladder
// check: stdout ^sum 4950000$
// check: not-stderr .
// check: run WEFT_DEBUG=ladder=5 WEFT_MAXPROCS=4 --case=ladder
// check: stdout ^sum 4950000$
// check: not-stderr .
WEFT_CASE(ladder) {
  weft::run([] {
    weft::chan<long> results;
    for (long i = 0; i < 1000; ++i)
      weft::go([=]() mutable {
        weft::this_goroutine::yield();
        auto half = weft::spawn([i] { return i % 100; });
        if (i % 100 == 0) weft::blocking([] { usleep(100); });
        results.send(half.join() * 100);
      });
    long sum = 0;
    for (int i = 0; i < 1000; ++i) sum += *results.recv();
    std::printf("sum %ld\n", sum);
  });
  return 0;
}
