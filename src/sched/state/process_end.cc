// SPDX-License-Identifier: MIT
#include "sched/state/process_end.h"

#include "base/check.h"
#include "os/thread.h"
#include "sched/state/scheduler.h"

namespace weft::sched {

bool ends_the_process() noexcept {
  return WEFT_UNLIKELY(scheduler.exiting.load_acquire()) &&  // pairs: exiting
         scheduler.exiting_thread == os::thread_id();
}

void stay_out_of_the_way() noexcept {
  os::Note never;
  for (;;) never.wait();
}

void forked_in_child() noexcept {
  // The child's only thread becomes a plain thread: sleeping, free locks and the like work, the rest is refused.
  scheduler.forked.store_relaxed(true);
  scheduler.started.store_relaxed(false);
  if (Goroutine* g = os::current_g()) g->flags |= kGUnguarded;  // its end takes the slow way (kGSlowSwitch)
  os::set_current_g(nullptr);
  os::set_current_m(nullptr);
  os::set_current_p(nullptr);
}

void refuse_in_forked_child() noexcept {
  base::fatal_exit(2,
                   "weft: the goroutine runtime does not exist in a forked child; only exec or _exit may follow fork");
}

}  // namespace weft::sched
