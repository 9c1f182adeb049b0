// SPDX-License-Identifier: MIT
// test-labels: checks
// Checks in shared libraries reach the program's runtime, whether the program is linked with the library or loads it.
#include "programs/libraries/checked.h"

#include <dlfcn.h>
#include <array>
#include <cstdio>
#include <vector>

#include <weft/weft.h>

#include "support/cases.h"

namespace {

using namespace weft::test;
using namespace std::chrono_literals;

struct Library {
  decltype(&library_compute_until) compute_until = &library_compute_until;
  decltype(&library_result) result = &library_result;
  decltype(&library_starts_threads) starts_threads = &library_starts_threads;
};

Library load() {
  void* handle = dlopen(WEFT_LOADED_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) say(dlerror());
  WEFT_EXPECT(handle != nullptr);
  return {reinterpret_cast<decltype(&library_compute_until)>(dlsym(handle, "library_compute_until")),
          reinterpret_cast<decltype(&library_result)>(dlsym(handle, "library_result")),
          reinterpret_cast<decltype(&library_starts_threads)>(dlsym(handle, "library_starts_threads"))};
}

std::uint64_t preempted_by_checks() {
  const auto stats = weft::runtime::read_stats();
  return stats.preempts_done - stats.exiles;
}

int gives_way(const Library& library) {
  weft::run([&] {
    std::atomic<bool> stop{false};
    auto hog = weft::spawn([&] { return library.compute_until(&stop); });
    while (preempted_by_checks() == 0) weft::this_goroutine::sleep_for(1ms);
    stop = true;
    hog.join();
    WEFT_EXPECT(library.starts_threads() == 0);
  });
  say("gave way");
  return 0;
}

int same_results(const Library& library) {
  std::vector<long> expected;
  for (int seed = 0; seed < 16; ++seed) expected.push_back(library.result(seed));
  weft::run([&] {
    std::vector<weft::task<long>> tasks;
    for (int seed = 0; seed < 16; ++seed) tasks.push_back(weft::spawn([&, seed] { return library.result(seed); }));
    for (int seed = 0; seed < 16; ++seed)
      WEFT_EXPECT(tasks[static_cast<std::size_t>(seed)].join() == expected[static_cast<std::size_t>(seed)]);
    WEFT_EXPECT(preempted_by_checks() > 200);  // with optimisation the recursion is a loop
  });
  say("all the same");
  return 0;
}

}  // namespace

// check: run WEFT_MAXPROCS=1 --case=linked_gives_way
// check: stdout ^gave way$
WEFT_CASE(linked_gives_way) { return gives_way({}); }

// check: run WEFT_MAXPROCS=1 --case=loaded_gives_way
// check: stdout ^gave way$
WEFT_CASE(loaded_gives_way) { return gives_way(load()); }

// check: run WEFT_MAXPROCS=2 WEFT_DEBUG=preempt --case=linked_computes_the_same
// check: stdout ^all the same$
WEFT_CASE(linked_computes_the_same) { return same_results({}); }

// check: run WEFT_MAXPROCS=2 WEFT_DEBUG=preempt --case=loaded_computes_the_same
// check: stdout ^all the same$
WEFT_CASE(loaded_computes_the_same) { return same_results(load()); }
