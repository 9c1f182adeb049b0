// SPDX-License-Identifier: MIT
#pragma once
#include <cstring>

#include "sched/state/scheduler.h"

// From record to goroutine: decoding of records, and the rarer things a spawn may carry.
namespace weft::sched {

inline const void* code_address(std::int32_t distance) noexcept {
  return reinterpret_cast<const void*>(reinterpret_cast<std::intptr_t>(&weft::detail::spawn_anchor) + distance);
}
inline weft::detail::spawn_entry entry_of(const SpawnRecord& record) noexcept {
  return reinterpret_cast<weft::detail::spawn_entry>(reinterpret_cast<std::intptr_t>(&weft::detail::spawn_anchor) +
                                                     record.entry);
}

// The first word of an extended record's closure owns its SpawnExtra.
inline SpawnExtra& extra_of(Runnable record) noexcept {
  SpawnExtra* extra;
  std::memcpy(&extra, record.record()->closure, sizeof extra);
  return *extra;
}

// A G for an extended record: the stack size it asks for, its name, id and inherited locals. Null: no memory now.
Goroutine* take_goroutine_for(Processor& p, Runnable record) noexcept;

// End of a goroutine with kGDetails: locals are destroyed (user code runs, on the goroutine), the name is freed.
void clear_details(Goroutine* g) noexcept;
void destroy_locals(Goroutine* g) noexcept;
// Before those who wait for the current goroutine are told of its end.
inline void end_locals() noexcept {
  Goroutine* g = os::current_g();
  if (g != nullptr && WEFT_UNLIKELY((g->flags & kGDetails) != 0)) destroy_locals(g);  // null: the child of a fork
}

}  // namespace weft::sched
