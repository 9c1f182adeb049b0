// SPDX-License-Identifier: MIT
#include "weft/task_force.h"

#include <mutex>

#include "sched/state/spawn.h"

namespace weft {

task_force::task_force(std::string_view name)
    : name_(name), running_(name_.empty() ? "members of a task force" : name_.c_str()) {}

task_force::~task_force() { running_.wait(); }

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

void end_of_call(task_force* force) noexcept {
  sched::end_locals();
  force->running_.done();
}

}  // namespace weft
