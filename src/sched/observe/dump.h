// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sched/model/goroutine.h"

// What every goroutine is doing, as text. The world is stopped, or every P is idle: parked stacks do not move.
namespace weft::sched {

using DumpSink = void (*)(void* context, std::string_view text);

struct DumpLimits {
  std::size_t goroutines = SIZE_MAX;
  std::size_t frames = 64;
};

void dump_goroutines(DumpSink sink, void* context, DumpLimits limits = {});

// Code addresses of a parked (or in-call) goroutine, innermost first.
std::size_t capture_parked(Goroutine* g, void** out, std::size_t max) noexcept;

}  // namespace weft::sched
