// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// The tracer's face: one inline function per event, called by the owner of the object while it owns it. Empty while there is
// no recorder; the scheduler never names anything else of tracing.
namespace weft::trace {

inline void goroutine_moved(std::uint64_t, unsigned, unsigned) noexcept {}
inline void goroutine_created(std::uint64_t, std::uint64_t) noexcept {}
inline void processor_moved(std::uint32_t, unsigned, unsigned) noexcept {}
inline void processor_stolen(std::uint32_t) noexcept {}
inline void world_stopping() noexcept {}
inline void world_started() noexcept {}
inline void maxprocs_changed(std::uint32_t) noexcept {}

}  // namespace weft::trace
