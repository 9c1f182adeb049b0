// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>

#include "sched/model/goroutine.h"

// How messages name a goroutine.
namespace weft::sched {

// "goroutine 12 "name"" 
std::size_t describe_goroutine(const Goroutine* g, char* buffer, std::size_t size) noexcept;

// " (started by goroutine 1 at file:line)" empty: unknown.
std::string origin_of(const Goroutine* g);

}  // namespace weft::sched
