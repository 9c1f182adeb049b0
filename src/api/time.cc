// SPDX-License-Identifier: MIT
#include "weft/time.h"

#include "api/start.h"
#include "base/atomic.h"
#include "base/check.h"
#include "os/wait_list_lock.h"
#include "sched/core/lease.h"
#include "sched/core/preempt.h"
#include "sched/frames/user_call.h"
#include "sched/timer/timer_heap.h"
#include "sched/wait/waiter.h"
#include "weft/detail/happens_before.h"
#include "weft/detail/task_core.h"
#include "weft/error.h"

// Function timers.
//   Firing      The record of the goroutine that will run the function is made when the timer is started. So firing,
//               under the heap's lock, only hands the record to the scheduler: it cannot fail.
//   State       Is Timer::heap. A heap: pending there. null: stopped, or fired. for_ever: started, with a time that
//               never comes (no record, no entry in any heap). busy: one thread changes the timer, and it alone may use
//               armed_ and when_ns.
//               A heap -> busy, or null when it fires, under that heap's lock; null and for_ever -> busy by CAS; busy
//               -> anything by the thread that made it so.
//   References  The handles, and each run of the function. A pending timer has none of its own. The last handle leaves
//               the timer to its heap by counting down to 0 under the heap's lock (leave_to_heap); firing counts up,
//               also under it. So only the last handle, or the last run, ever sees 1 and no heap. And stopping a timer
//               and dropping it takes no locked operation.
//   Memory      One block of the P's cache of records (launch.h).
//   Rejected    A lock of its own and a reference of the record's: three locked operations more for create and stop, 26
//               ns on some CPUs.
//   Model       tests/model/api/function_timer_test.cc explores this file; stress: tests/stress/timer_test.cc.
namespace weft::detail {

class function_timer : private sched::Timer {
 public:
  // Started without being claimed, because no other thread has it yet.
  function_timer(std::int64_t when, prepared_record record, stored_function function, std::int32_t site) noexcept
      : function_(function) {
    callback = [](sched::Timer* timer) {
      auto* self = static_cast<function_timer*>(timer);
      self->retain();  // for the run
      const prepared_record run = self->armed();
      self->heap.store_release(nullptr);  // the last owner of a reference need not ask the heap; pairs: timer.heap
      launch_record(run);
    };
    start(when, record, site);
  }

  // True: it had not fired.
  bool reset(std::int64_t when, std::int32_t site) {
    const sched::LeaseKept kept;
    // An exile gets a P back before it takes a lock, because it may come back on another thread.
    sched::regain_processor();
    const prepared_record next = when != forever ? prepare_record() : prepared_record{};
    const Found found = claim();
    const prepared_record before = armed();
    start(when, next, site);
    if (found == Found::kPending) abandon(before);
    return found != Found::kIdle;
  }

  bool stop() noexcept {
    const sched::LeaseKept kept;
    sched::regain_processor();
    if (heap.load_acquire() == nullptr) return false;  // pairs: timer.heap
    const Found found = claim();
    const prepared_record before = armed();
    heap.store_release(nullptr);  // pairs: timer.heap
    if (found == Found::kPending) abandon(before);
    return found != Found::kIdle;
  }

  void retain() noexcept { references_.fetch_add_relaxed(1); }
  void release() noexcept {
    order_release(&references_);
    std::uint32_t references = references_.load_acquire();  // pairs: function_timer.references
    for (;;) {
      if (references > 1) {
        if (references_.cas_acq_rel(references, references - 1)) return;  // pairs: function_timer.references
      } else if (leave_to_heap()) {
        return;
      } else if ((references = references_.load_acquire()) == 1) {  // pairs: function_timer.references
        return destroy();                                           // if not, it has fired meanwhile
      }
    }
  }

 private:
  static sched::TimerHeap* busy() noexcept { return mark(1); }
  static sched::TimerHeap* for_ever() noexcept { return mark(2); }

  struct Run {
    function_timer* timer;
    void operator()() const {
      struct guard {
        function_timer* timer;
        ~guard() { timer->release(); }
      } end{timer};
      sched::call_user(timer->function_.use->call, timer->function_.storage);
    }
  };

  enum class Found { kIdle, kForEver, kPending };

  // Destroys copies of the user's goroutine locals, which may park. They were made by the thread that started the
  // timer.
  static void abandon(prepared_record record) noexcept {
    order_acquire(record.record);
    abandon_record(record);
  }

  // From now on only the caller may use the timer, until it writes another state.
  Found claim() noexcept {
    for (;;) {
      sched::TimerHold hold(this);
      if (WEFT_LIKELY(hold)) {
        WEFT_DCHECK(hold.is_pending(), "a function timer that fires says so before its heap's lock is free");
        hold.remove();
        heap.store_relaxed(busy());
        return Found::kPending;
      }
      if (Found found; claim_outside_heaps(found)) return found;
    }
  }
  // False: the timer is in a heap now.
  __attribute__((noinline)) bool claim_outside_heaps(Found& found) noexcept {
    os::BackOff back_off;
    for (;;) {
      sched::TimerHeap* state = heap.load_acquire();  // pairs: timer.heap
      if (is_heap(state)) return false;
      if (state == busy()) {
        back_off.wait();
      } else if (heap.cas_acquire(state, busy())) {  // pairs: timer.heap
        found = state == for_ever() ? Found::kForEver : Found::kIdle;
        return true;
      }
    }
  }

  // The caller has claimed it.
  void start(std::int64_t when, prepared_record record, std::int32_t site) noexcept {
    if (when == forever) return heap.store_release(for_ever());  // pairs: timer.heap
    record.record->site = site;
    if (record.has_extra) {
      fill_record<8>(record.record, Run{this});
    } else {
      fill_record<0>(record.record, Run{this});
    }
    order_release(record.record);  // to the run; threads that let it fire are not part of this order
    armed_ = reinterpret_cast<std::uintptr_t>(record.record) | (record.has_extra ? 1 : 0);
    when_ns = when;
    sched::start_timer(this);
  }
  prepared_record armed() const noexcept {
    return {reinterpret_cast<spawn_record*>(armed_ & ~std::uintptr_t{1}), (armed_ & 1) != 0};
  }

  // Called by the last owner of a reference. True: the timer is pending, and the heap's from now on. False: it will not
  // fire any more.
  bool leave_to_heap() noexcept {
    const sched::TimerHold hold(this);
    if (!hold) return false;
    references_.store_relaxed(0);
    return true;
  }

  void destroy() noexcept {
    order_acquire(&references_);
    function_.destroy();
    std::destroy_at(this);
    free_block(this);
  }

  base::Atom<std::uint32_t> references_{1};
  std::uintptr_t armed_ = 0;  // the record | whether it has an extra word
  stored_function function_;
};

function_timer* make_function_timer(std::int64_t when_ns, stored_function function, std::int32_t site) {
#ifndef WEFT_MODEL
  static_assert(sizeof(function_timer) <= block_size);
#endif
  api::ensure_started();
  prepared_task prepared;
  try {
    prepared = prepare_task(block_size);
  } catch (...) {
    function.destroy();
    throw;
  }
  if (when_ns == forever) abandon_record(prepared.spawn);
  return ::new (prepared.block) function_timer(when_ns, prepared.spawn, function, site);
}
bool reset_function_timer(function_timer* timer, std::int64_t when_ns, std::int32_t site) {
  return timer->reset(when_ns, site);
}
bool stop_function_timer(function_timer* timer) noexcept { return timer->stop(); }
void retain_function_timer(function_timer* timer) noexcept { timer->retain(); }
void release_function_timer(function_timer* timer) noexcept { timer->release(); }

void throw_uninitialized_timer() { throw logic_error("weft: timer: stop or reset of an uninitialized timer"); }
void throw_moved_ticker() { throw logic_error("weft: ticker: stop or reset of a ticker that was moved from"); }
void throw_bad_period() { throw logic_error("weft: ticker: the period must be positive"); }

}  // namespace weft::detail
