// SPDX-License-Identifier: MIT
#include "weft/time.h"

#include <mutex>

#include "api/start.h"
#include "base/atomic.h"
#include "os/spin_lock.h"
#include "sched/preempt.h"
#include "sched/timer_heap.h"
#include "sched/user_call.h"
#include "sched/waiter.h"
#include "weft/detail/launch.h"
#include "weft/error.h"

// Function timers.
//   Firing     the record of the goroutine that will run the function is made when the timer is started, so that firing, under
//              the heap's lock, only hands it to the scheduler: it cannot fail.
//   Lifetime   the handles and the pending record each hold a reference.
namespace weft::detail {

class function_timer {
 public:
  // Nobody else has it yet, so it is started without the lock, with the record's reference counted from the beginning.
  function_timer(std::int64_t when_ns, std::function<void()> function)
      : references_(when_ns == forever ? 1 : 2), function_(std::move(function)), waits_for_ever_(when_ns == forever) {
    timer_.callback = [](sched::Timer* timer, std::int64_t) {
      auto* self = static_cast<function_timer*>(timer->argument);
      launch_record(self->armed_);  // the record's reference goes with it
    };
    timer_.argument = this;
    if (!waits_for_ever_) arm(prepare_record(), when_ns);
  }

  // True: it had not fired.
  bool reset(std::int64_t when_ns) {
    const bool fires = when_ns != forever;
    const prepared_record next = fires ? prepare_record() : prepared_record{};
    return with_lock([&] {
      const Disarmed before = disarm();
      waits_for_ever_ = !fires;
      if (fires) {
        retain();
        arm(next, when_ns);
      }
      return before;
    });
  }
  bool stop() noexcept {
    return with_lock([&] { return disarm(); });
  }

  void retain() noexcept { references_.fetch_add_relaxed(1); }
  void release() noexcept {
    // The last one need not count down: nobody is left to take another.
    if (references_.load_acquire() == 1 || references_.fetch_sub_acq_rel(1) == 1)  // pairs: function_timer.references
      delete this;
  }

 private:
  struct Run {
    function_timer* timer;
    void operator()() const {
      struct guard {
        function_timer* timer;
        ~guard() { timer->release(); }
      } end{timer};
      sched::call_user(timer->function_);
    }
  };

  struct Disarmed {
    bool had_not_fired;
    bool has_record;
    prepared_record record;
  };

  // Records are made before and dropped after: their goroutine locals are copied and destroyed, which is the user's code, and may park.
  template <class Change>
  bool with_lock(Change change) noexcept {
    sched::own_processor();  // an exile comes back before it takes the lock: it may come back on another thread
    Disarmed before;
    {
      const sched::NonPreemptible with_lock_held;
      std::lock_guard guard(lock_);
      before = change();
    }
    if (before.has_record) {
      abandon_record(before.record);
      references_.fetch_sub_acq_rel(1);  // never the last: the caller holds one; pairs: function_timer.references
    }
    return before.had_not_fired;
  }

  Disarmed disarm() noexcept {
    const bool was_pending = sched::stop_timer(&timer_);
    return {std::exchange(waits_for_ever_, false) || was_pending, was_pending, armed_};
  }

  // The caller has counted the record's reference.
  void arm(prepared_record record, std::int64_t when_ns) {
    record.record->site = 0;
    if (record.has_extra) {
      fill_record<8>(record.record, Run{this});
    } else {
      fill_record<0>(record.record, Run{this});
    }
    armed_ = record;
    timer_.when_ns = when_ns;
    sched::start_timer(&timer_);
  }

  os::RankedSpinLock<base::Rank::kFunctionTimer> lock_;
  base::Atom<std::uint32_t> references_;
  std::function<void()> function_;
  sched::Timer timer_;
  prepared_record armed_{};
  bool waits_for_ever_;  // started, with a time that never comes: no record, no entry in a heap
};

function_timer* make_function_timer(std::int64_t when_ns, std::function<void()> function) {
  refuse_empty(function);
  api::ensure_started();
  return new function_timer(when_ns, std::move(function));
}
bool reset_function_timer(function_timer* timer, std::int64_t when_ns) { return timer->reset(when_ns); }
bool stop_function_timer(function_timer* timer) noexcept { return timer->stop(); }
void retain_function_timer(function_timer* timer) noexcept { timer->retain(); }
void release_function_timer(function_timer* timer) noexcept { timer->release(); }

void throw_uninitialized_timer() { throw logic_error("weft: timer: stop or reset of an uninitialized timer"); }
void throw_bad_period() { throw logic_error("weft: ticker: the period must be positive"); }

}  // namespace weft::detail
