// SPDX-License-Identifier: MIT
#pragma once
#include <cstring>

#include "sched/state/scheduler.h"

// From record to goroutine: decoding records, and what a spawn with options carries.
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

// Returns a G for an extended record, with the stack size that it asks for, its name, id and inherited locals. Null: no
// memory now.
Goroutine* take_goroutine_for(Processor& p, Runnable record) noexcept;

// At the end of a goroutine with kGDetails: destroys its locals (user code runs, on the goroutine) and frees its name.
void clear_details(Goroutine* g) noexcept;
void destroy_locals(Goroutine* g) noexcept;
// Destroys the current goroutine's locals, before the goroutines that wait for its end are told of it.
inline void end_locals() noexcept {
  Goroutine* g = os::current_g();
  if (g != nullptr && WEFT_UNLIKELY((g->flags & kGDetails) != 0)) destroy_locals(g);  // null: the child of a fork
}

}  // namespace weft::sched
