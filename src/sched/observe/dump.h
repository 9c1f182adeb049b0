// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sched/model/goroutine.h"

// What every goroutine is doing, as text. The caller has stopped the world, or every P is idle, so that no parked
// goroutine is resumed meanwhile.
namespace weft::sched {

using DumpSink = void (*)(void* context, std::string_view text);

struct DumpLimits {
  std::size_t goroutines = SIZE_MAX;
  std::size_t frames = 64;
};

void dump_goroutines(DumpSink sink, void* context, DumpLimits limits = {});

// The cycles among these goroutines, and what each of them does. The world is stopped.
void dump_members(const std::vector<Goroutine*>& members, DumpSink sink, void* context);

// Code addresses of a goroutine that is parked or in a blocking call, innermost first. Returns their number; 0:
// unknown.
std::size_t capture_parked(Goroutine* g, void** out, std::size_t max) noexcept;

}  // namespace weft::sched
