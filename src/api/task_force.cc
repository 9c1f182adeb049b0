// SPDX-License-Identifier: MIT
#include "weft/task_force.h"

#include <mutex>

#include "os/current.h"
#include "sched/model/gangs.h"
#include "sched/state/spawn.h"

namespace weft {

task_force::task_force(std::string_view name)
    : name_(name), gang_(new sched::GangForce), running_(name_.empty() ? "members of a task force" : name_.c_str()) {
  sched::gangs.add(*gang_);
}

task_force::~task_force() {
  running_.wait();
  if (sched::gangs.remove(*gang_)) delete gang_;
}

void task_force::wait() {
  running_.wait();
  std::exception_ptr error;
  {
    const std::lock_guard guard(mutex_);
    error = std::exchange(error_, nullptr);
  }
  if (error != nullptr) std::rethrow_exception(std::move(error));
}

void task_force::fail(std::exception_ptr error) {
  const std::lock_guard guard(mutex_);
  if (error_ == nullptr) error_ = std::move(error);
}

// The member's cell is free for others before anybody learns that it has ended.
static void leave_gang() noexcept {
  sched::Goroutine* g = os::current_g();
  if (g == nullptr || (g->flags & sched::kGMember) == 0) return;  // null: the child of a fork
  g->flags = static_cast<std::uint8_t>(g->flags & ~sched::kGMember);
  sched::gangs.leave(std::exchange(g->gang, nullptr));
}

void end_of_call(task_force* force) noexcept {
  sched::end_locals();
  leave_gang();
  force->running_.done();
}

}  // namespace weft
