// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sched/goroutine.h"

// What every goroutine is doing, as text. The world is stopped, or every P is idle: parked stacks do not move.
namespace weft::sched {

using DumpSink = void (*)(void* context, std::string_view text);

struct DumpLimits {
  std::size_t goroutines = SIZE_MAX;
  std::size_t frames = 64;
};

void dump_goroutines(DumpSink sink, void* context, DumpLimits limits = {});

// "goroutine 12 "name"" for messages.
std::size_t describe_goroutine(const Goroutine* g, char* buffer, std::size_t size) noexcept;

// " (started by goroutine 1 at file:line)" for messages; empty: unknown.
std::string origin_of(const Goroutine* g);

// Code addresses of a parked (or in-call) goroutine, innermost first.
std::size_t capture_parked(Goroutine* g, void** out, std::size_t max) noexcept;

}  // namespace weft::sched
