// SPDX-License-Identifier: MIT
#pragma once
#include "base/delay_site.h"
#include "sched/state/scheduler.h"

// How a P stops when the world stops (world/world.h).
namespace weft::sched {

// The caller owns p and has unwired it, or has the turn to stop the world. Afterwards the stopper owns p.
inline void mark_stopped(Processor& p) noexcept {
  WEFT_DELAY_SITE("world.stopping");
  p.word.store_release(Processor::make_word(PStatus::kStopped, 0, 0));                 // pairs: processor.word
  if (scheduler.stop_wait.fetch_sub_acq_rel(1) == 1) scheduler.stopped_note.signal();  // pairs: stop_wait
}

// The caller owns p, unwired. True: now the stopper owns p.
inline bool stop_if_world_stops(Processor& p) noexcept {
  if (!scheduler.world_stopping.load_seq_cst()) return false;            // pairs: world_stopping
  if ((p.attention.load_acquire() & kAttentionStop) == 0) return false;  // pairs: attention
  mark_stopped(p);
  return true;
}

}  // namespace weft::sched
