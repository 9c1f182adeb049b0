// SPDX-License-Identifier: MIT
#include "sched/core/attention.h"

#include "sched/core/machines.h"
#include "sched/core/retreat.h"
#include "sched/model/hooks.h"
#include "sched/state/processor_work.h"
#include "sched/state/world_stop.h"

namespace weft::sched {
namespace {

// Sysmon wants a P to lie idle, so that an exile may compute (world/exile_shares.h). False: another P was lent, or
// sysmon has withdrawn the wish.
bool lend_processor(Machine& m) noexcept {
  if (!scheduler.loan_wanted.exchange_acq_rel(false)) return false;  // pairs: loan
  if (m.spinning) {
    m.spinning = false;
    scheduler.idle.stop_spinning();
  }
  Processor& p = release_processor(m);
  give_everything_back(p);  // thieves do not see what an idle P hides
  scheduler.lent.store_release(&p);  // pairs: scheduler.lent
  hooks.poke_sysmon();
  return true;
}

}  // namespace

bool attend(Machine& m) noexcept {
  Processor& p = *m.p;
  const std::uint32_t wanted = p.attention.load_acquire();  // pairs: attention
  if (wanted & kAttentionStop) {
    if (m.spinning) {
      m.spinning = false;
      scheduler.idle.stop_spinning();
    }
    release_processor(m);
    mark_stopped(p);
    return false;
  }
  p.attention.fetch_and_acq_rel(~std::uint32_t{kAttentionPreempt | kAttentionRetreat});  // pairs: attention
  if (wanted & kAttentionRetreat) retreat(p);
  return !WEFT_UNLIKELY(scheduler.loan_wanted.load_relaxed()) || !lend_processor(m);
}

}  // namespace weft::sched
