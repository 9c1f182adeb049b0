// SPDX-License-Identifier: MIT
#pragma once
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/callable.h"
#include "weft/detail/owned_call.h"
#include "weft/go.h"
#include "weft/mutex.h"
#include "weft/wait_group.h"

namespace weft {

// Goroutines that should run at the same time, because they often wait for each other. With policy_kind::matrix they
// share a row of the scheduling matrix, so each time slice runs all of them or none. With every other policy a task
// force is an ordinary group. It may be used again after wait().
//   Exceptions  An exception that leaves a member ends that member only: the others go on. wait() rethrows the first
//               exception since the wait before. The destructor drops what no wait() has rethrown, as weft::group's.
class task_force {
 public:
  // The name, of which a copy is kept, is that of the members in dumps and traces.
  explicit task_force(std::string_view name = {});
  task_force(const task_force&) = delete;
  // Waits for all members.
  ~task_force();

  // Starts f() as a member. A member may start others.
  template <class F>
  WEFT_ALWAYS_INLINE void go(F&& f) {
    WEFT_REFUSE_UNGROUPABLE("weft::task_force::go", F);
    if constexpr (detail::is_startable<F>) {
      detail::refuse_empty(f, "task_force::go");
      started undo(*this);
      detail::launch(detail::prepare_member(go_options{.name = name_}, *gang_),
                     detail::owned_call<task_force, std::decay_t<F>>(this, std::forward<F>(f)));
      undo.force = nullptr;
    }
  }

  // Blocks until all members have ended, and rethrows the first exception, once.
  void wait();

 private:
  struct started {  // taken back if the goroutine cannot be started
    explicit started(task_force& of) : force(&of) { of.running_.add(); }
    started(const started&) = delete;
    ~started() {
      if (force != nullptr) force->running_.done();
    }
    task_force* force;
  };

  template <class F>
  friend void call_for(task_force* force, F& function) {
    try {
      detail::call_last(function);
    } catch (...) {
      std::exception_ptr error = std::current_exception();
      if (error == nullptr) throw;  // this_goroutine::exit()
      force->fail(std::move(error));
    }
  }
  friend void end_of_call(task_force* force) noexcept;
  void fail(std::exception_ptr error);

  std::string name_;
  sched::GangForce* gang_;  // what the scheduler knows of it
  wait_group running_;
  mutex mutex_;
  std::exception_ptr error_;  // the first that no wait() has rethrown
};

}  // namespace weft
