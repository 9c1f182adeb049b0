// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "sched/model/goroutine.h"

// The search for leaked goroutines: those that wait for what nobody can reach any more.
//   Rule      A goroutine is alive if it runs, is runnable, sleeps or waits for a descriptor or a time limit. So is one
//             that waits for an object which something alive can reach. What is alive is found from the roots on:
//             writable memory of the program and all its libraries, stacks and registers of threads, timers, stacks and
//             closures of goroutines that are alive. All that has not become alive when nothing changes any more is
//             leaked. (Saioc and others, "Dynamic partial deadlock detection in Go programs by garbage collection",
//             2025, have the same rule. They have a collector to ask.)
//   Pointers  Every aligned word is taken for a pointer, also into the middle of a block. An address in the stack of a
//             parked goroutine, from whoever is alive, makes that goroutine alive. So the search errs on one side
//             only: it may miss a leak.
//   Stacks    of goroutines that are not alive do not count. So a channel that only its own waiters can reach is not
//             reached.
//   Heap      os/heap_map.h: memory of another allocator counts as reachable throughout.
//   Cycles    Goroutines that wait for each other's locks or ends are leaked although others reach the locks. So are
//             those that wait for one of them.
//   When      The world is stopped and threads stand still (standstill.h), or in a forked copy of that. Allocates
//             mappings only.
namespace weft::sched {

class Standstill;

struct LeakSearch {
  const Standstill* threads;
  std::uintptr_t heap_mark;  // os::heap_cache_mark()
  const void* frame;         // the caller's: what lies below is not in use
};

// Writes the leaked goroutines to `out`. Returns their number, at most `max`; kNoMemory: the search was given up.
inline constexpr std::size_t kNoMemory = SIZE_MAX;
std::size_t find_leaked(const LeakSearch& search, Goroutine** out, std::size_t max) noexcept;

}  // namespace weft::sched
