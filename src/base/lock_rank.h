// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace weft::base {

// Every lock of the runtime, in the order in which they may be taken: a thread takes only higher ranks than it holds.
enum class Rank : std::uint8_t {
  kRuntimeStart,  // start of the runtime, once
  kWorld,         // the right to stop the world
  kContext,       // one context: children, cause
  kDescriptor,    // deadlines of one descriptor; starting the netpoller
  kTimers,        // one P's timer heap; callbacks run under it
  kWaitList,      // a primitive's list of waiters (channel, mutex, wait group); only select holds more than one
  kMachines,      // idle and all Ms
  kGangs,         // task forces, their matrix and their waiting members
  kInject,        // global run queue
  kIdleQueue,     // idle-priority goroutines
  kStacks,        // stack regions and the shared free lists
  kRecords,       // shared magazines of spawn records
  kLocals,        // names and goroutine-local tables
  kLeaf,          // no lock is taken under it
};

}  // namespace weft::base
