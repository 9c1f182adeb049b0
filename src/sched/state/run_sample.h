// SPDX-License-Identifier: MIT
#pragma once
#include "base/check.h"
#include "sched/model/goroutine.h"

// Rule R.5: a goroutine that computes on after waking another keeps the woken one waiting in its P's slot. Now and then such a
// goroutine is sampled: arrivals.cc opens the sample when it wakes another, the goroutine closes it when it leaves its P.
namespace weft::sched {

__attribute__((noinline)) void close_open_sample(Goroutine* g) noexcept;

inline void close_sample(Goroutine* g) noexcept {
  if (WEFT_UNLIKELY(g->ready_at != 0)) close_open_sample(g);
}

}  // namespace weft::sched
