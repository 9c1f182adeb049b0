// SPDX-License-Identifier: MIT
#include "os/affinity.h"

#include <sched.h>
#include <unistd.h>

#include "base/atomic.h"
#include "os/keep_errno.h"

namespace weft::os {
namespace {

// Up to 1024 CPUs; on larger machines threads are left where the kernel puts them. One thread writes. A reader that
// sees half of a change places a thread a little worse, once.
constexpr int kWords = CPU_SETSIZE / 64;
base::Atom<unsigned long> allowed[kWords];
base::Atom<int> allowed_count{0};

int load_allowed(cpu_set_t& set) {
  auto* words = reinterpret_cast<unsigned long*>(&set);
  for (int i = 0; i < kWords; ++i) words[i] = allowed[i].load_relaxed();
  return allowed_count.load_relaxed();
}

// `allow(set, here)` chooses among the CPUs of the process for one thread.
template <class Allow>
bool place(pid_t tid, Allow allow) noexcept {
  const KeepErrno keep;
  cpu_set_t set;
  if (load_allowed(set) < 2) return false;
  const int here = sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE || !CPU_ISSET(here, &set)) return false;
  allow(set, here);
  return sched_setaffinity(tid, sizeof set, &set) == 0;
}

}  // namespace

void refresh_allowed_cpus() noexcept {
  cpu_set_t set;
  // The main thread's mask stands for the process, because Ms change their own masks briefly.
  if (sched_getaffinity(getpid(), sizeof set, &set) != 0) {
    allowed_count.store_relaxed(0);
    return;
  }
  const auto* words = reinterpret_cast<const unsigned long*>(&set);
  for (int i = 0; i < kWords; ++i) allowed[i].store_relaxed(words[i]);
  allowed_count.store_relaxed(CPU_COUNT(&set));
}

int allowed_cpu_count() noexcept { return allowed_count.load_relaxed(); }

bool keep_off_this_cpu(pid_t tid) noexcept {
  return place(tid, [](cpu_set_t& set, int here) { CPU_CLR(here, &set); });
}

bool bring_to_this_cpu(pid_t tid) noexcept {
  return place(tid, [](cpu_set_t& set, int here) {
    CPU_ZERO(&set);
    CPU_SET(here, &set);
  });
}

void return_to_all_cpus(pid_t tid) noexcept {
  const KeepErrno keep;
  cpu_set_t set;
  if (load_allowed(set) >= 1) sched_setaffinity(tid, sizeof set, &set);
}

}  // namespace weft::os
