// SPDX-License-Identifier: MIT
#pragma once
#include <weft/weft.h>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <span>

#include "support/sanitizers.h"

// A table of small programs for ThreadSanitizer: what it must report, and what it must not. All run in one process;
// TSan tells of each report by calling __tsan_on_report(). Only where TSan looks at the user's code alone does the
// table hold (preset tsan).
namespace weft::test {

struct alignas(64) Cell {
  int value = 0;
};

// A plain access of the user's, never in line: TSan shows it by its name.
__attribute__((noinline)) inline void write(Cell& cell) { *const_cast<volatile int*>(&cell.value) = 1; }
__attribute__((noinline)) inline int read(const Cell& cell) { return *const_cast<const volatile int*>(&cell.value); }
__attribute__((noinline)) inline void increment(Cell& cell) {
  write(cell);
  cell.value = cell.value + 1;
}

// Waits for another without any order between the two.
class Signpost {
 public:
  void pass() { passed_.store(true, std::memory_order_relaxed); }
  void wait() const {
    while (!passed_.load(std::memory_order_relaxed)) this_goroutine::yield();
  }

 private:
  std::atomic<bool> passed_{false};
};

struct TsanCase {
  const char* name;
  void (*run)(Cell& cell);
};

inline std::atomic<int> tsan_reports{0};

// Returns the exit status. With the name of a case only that one is run.
inline int run_tsan_cases(std::span<const TsanCase> cases, bool races, const char* only) {
  int wrong = 0;
  for (const TsanCase& one : cases) {
    if (only != nullptr && std::strcmp(only, one.name) != 0) continue;
    auto* cell = new Cell;  // never freed: TSan would look at the next one there
    tsan_reports.store(0);
    one.run(*cell);
    if ((tsan_reports.load() > 0) == races) continue;
    std::printf("%s: %s\n", one.name, races ? "the race was not reported" : "reported, although it is ordered");
    std::fflush(stdout);
    ++wrong;
  }
  std::printf("%d of %zu wrong\n", wrong, cases.size());
  return wrong == 0 ? 0 : 1;
}

}  // namespace weft::test

extern "C" void __tsan_on_report(void*) { weft::test::tsan_reports.fetch_add(1); }
