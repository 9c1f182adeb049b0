// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>

#include "sched/model/goroutine.h"

// How reports name a goroutine.
namespace weft::sched {

// Writes `goroutine 12 "name"`, shortened to `size`. Returns its length.
std::size_t describe_goroutine(const Goroutine* g, char* buffer, std::size_t size) noexcept;

// " (started by goroutine 1 at file:line)". Empty: the spawn site is not known.
std::string origin_of(const Goroutine* g);

}  // namespace weft::sched
