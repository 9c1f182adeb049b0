// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "sched/model/goroutine.h"

// Leaked goroutines (sched/observe/leak_search.h): found, described, reported.
//   Pause   The world stops, and threads stand still, until a copy of the process is forked. The copy searches. Where
//           no copy can be made, the search takes place while everything stands still.
//   Twice   If others run meanwhile (plain threads, calls), a goroutine is leaked only if two searches say so: a thread
//           may be in the middle of a change of the heap, and the copy would have half of it.
//   Names   A goroutine that is leaked does not move. So it is described after the search, with the world stopped for
//           that alone, and left out if it has moved after all.
namespace weft::service {

struct LeakedGoroutine {
  std::uint64_t id = 0, parent = 0;
  std::string name, reason, object;
  std::int32_t site = 0;
  std::vector<void*> frames;
};

// How a search is called.
struct LeakSearchCall {
  // Where the caller's stack begins to count. WEFT_STACK_IN_USE in the function that the user calls: what lies below is
  // of the runtime, with old addresses in places that it has not written yet.
  const void* frame;
  bool is_exit;                                      // the world has been stopped for good
  void (*wait)(void (*call)(void*), void* argument);  // calls its argument where the thread may block
};
// The registers that the caller keeps are saved there, too. Only in a function that is not inlined.
#define WEFT_STACK_IN_USE (__builtin_unwind_init(), static_cast<const char*>(__builtin_frame_address(0)) - 64)

std::vector<LeakedGoroutine> find_leaked_goroutines(const LeakSearchCall& call);

// Groups by spawn site, reason and stack, as text. Empty: there are none.
std::string describe_leaks(const std::vector<LeakedGoroutine>& leaks);

}  // namespace weft::service
