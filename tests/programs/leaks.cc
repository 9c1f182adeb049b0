// SPDX-License-Identifier: MIT
// Goroutines that have not ended when the process does hold what they point to: a leak checker must not call it lost, and
// must still find what is.
#include <weft/weft.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "support/cases.h"
#include "support/sanitizers.h"

namespace {

// On its stack, in its closure, and behind both.
void leave_goroutines_behind(int count) {
  weft::wait_group started;
  for (int i = 0; i < count; ++i) {
    started.add();
    weft::chan<std::string> never;
    weft::go([&started, never, held = std::make_unique<std::vector<std::string>>(3, std::string(100, 'x'))]() mutable {
      std::vector<std::unique_ptr<int>> more;
      for (int k = 0; k < 10; ++k) more.push_back(std::make_unique<int>(k));
      started.done();
      never.recv();
    });
  }
  started.wait();
}

__attribute__((noinline)) void lose_memory() {
  for (int i = 0; i < 100; ++i) {
    auto* lost = new std::string(1000, 'y');
    asm volatile("" : : "r"(lost) : "memory");  // the compiler must not see that nobody uses it
  }
}

}  // namespace

// check: run WEFT_MAXPROCS=1 --case=parked
// check: run WEFT_MAXPROCS=4 --case=parked
// check: run WEFT_MAXPROCS=2 WEFT_POLICY=global --case=parked
WEFT_CASE(parked) {
  weft::run([] { leave_goroutines_behind(1000); });
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=not_started
// check: run WEFT_MAXPROCS=1 WEFT_POLICY=global --case=not_started
WEFT_CASE(not_started) {
  weft::run([] {
    for (int i = 0; i < 1000; ++i)
      weft::go([held = std::make_unique<std::string>(100, 'x'), large = std::array<long, 20>{}]() mutable {
        held->push_back(static_cast<char>(large[0]));
      });
  });
  return 0;
}

// check: run --case=exit_in_a_goroutine
// check: exit 3
WEFT_CASE(exit_in_a_goroutine) {
  weft::run([] {
    leave_goroutines_behind(10);
    const auto held = std::make_unique<std::string>(100, 'x');
    exit(3);
  });
  return 0;
}

// check: run --case=lost
// check: exit 1
// check: stderr LeakSanitizer: detected memory leaks
// check: stderr lose_memory
// check: not-stderr leave_goroutines_behind
WEFT_CASE(lost) {
  if (!weft::test::kAsan) weft::test::skip("only a leak checker finds leaks");
  weft::run([] {
    leave_goroutines_behind(10);
    lose_memory();
  });
  return 0;
}
