// SPDX-License-Identifier: MIT
#include <pthread.h>

#include <cstdio>

#include "api/lock_name.h"
#include "base/check.h"
#include "sched/model/goroutine.h"
#include "sched/state/scheduler.h"
#include "weft/error.h"
#include "weft/mutex.h"

// Recursive mutex.
//   Owner    Goroutines are even (their ids are never used twice), threads odd. Only the owner writes its own identity
//            there, so reading it without order is enough to answer "is it me".
namespace weft {
namespace {

std::uint64_t identity() noexcept {
  if (const sched::Goroutine* g = os::current_g()) return g->id << 1;
  return static_cast<std::uint64_t>(pthread_self()) | 1;
}

struct Name {
  explicit Name(std::uint64_t who) noexcept {
    if ((who & 1) != 0)
      std::snprintf(text, sizeof text, "thread 0x%llx", static_cast<unsigned long long>(who & ~1ull));
    else
      std::snprintf(text, sizeof text, "goroutine %llu", static_cast<unsigned long long>(who >> 1));
  }
  char text[40];
};

}  // namespace

bool recursive_mutex::enter_again() {
  if (owner_.load(std::memory_order_relaxed) != identity()) return false;
  if (depth_ == UINT32_MAX) throw logic_error("weft: recursive_mutex::lock: locked too many times");
  ++depth_;
  return true;
}

bool recursive_mutex::enter() noexcept {
  owner_.store(identity(), std::memory_order_relaxed);
  depth_ = 1;
  return true;
}

void recursive_mutex::unlock() {
  const std::uint64_t owner = owner_.load(std::memory_order_relaxed);
  if (owner == 0)
    base::fatal("weft: unlock of an unlocked recursive_mutex%s", api::LockName(mutex_.queue_.name, this).text());
  if (owner != identity())
    base::fatal("weft: unlock of another's recursive_mutex%s: unlocked by %s, but %s holds it",
                api::LockName(mutex_.queue_.name, this).text(), Name(identity()).text, Name(owner).text);
  if (--depth_ != 0) return;
  owner_.store(0, std::memory_order_relaxed);
  mutex_.unlock();
}

}  // namespace weft
