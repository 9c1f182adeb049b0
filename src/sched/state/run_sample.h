// SPDX-License-Identifier: MIT
#pragma once
#include "base/check.h"
#include "sched/model/goroutine.h"

// Rule R5 (long runners; rule/run_habits.h): a goroutine that computes on after waking another keeps the woken one waiting in its P's
// slot. So wakers are sampled now and then: arrivals.cc opens the sample when the goroutine wakes another one, and the
// goroutine closes it when it leaves its P.
namespace weft::sched {

__attribute__((noinline)) void close_open_sample(Goroutine* g) noexcept;

inline void close_sample(Goroutine* g) noexcept {
  if (WEFT_UNLIKELY(g->ready_at != 0)) close_open_sample(g);
}

}  // namespace weft::sched
