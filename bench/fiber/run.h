// SPDX-License-Identifier: MIT
// How every Boost.Fiber program starts: one worker is the library's default scheduler; more are its work-stealing one,
// set up as in its documentation (every thread registers, then waits on a fiber condition until the end).
#pragma once

#include <malloc.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <boost/fiber/all.hpp>

#include "common/bench.h"

namespace fiber {

// suspend: idle workers sleep instead of spinning. The default of the library is to spin, which is faster in the
// throughput rows; rows about idling, waking and CPU time ask for suspend.
template <class F>
void run(int procs, bool suspend, F&& body) {
  namespace fibers = boost::fibers;
  // Stacks come from malloc: keep them there instead of mapping and unmapping 128 KiB for every fiber.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  if (procs == 1) {
    body();
    return;
  }
  std::mutex mutex;
  fibers::condition_variable_any finished;
  bool done = false;
  std::vector<std::thread> workers;
  for (int i = 1; i < procs; ++i)
    workers.emplace_back([&] {
      fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(static_cast<std::uint32_t>(procs), suspend);
      std::unique_lock lock(mutex);
      finished.wait(lock, [&] { return done; });
    });
  fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(static_cast<std::uint32_t>(procs), suspend);
  body();
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  finished.notify_all();
  for (auto& worker : workers) worker.join();
}

template <class F>
void go(F&& f) {
  boost::fibers::fiber(boost::fibers::launch::post, std::forward<F>(f)).detach();
}

// A WaitGroup: what Boost.Fiber's users write with its mutex and condition variable.
class WaitGroup {
 public:
  explicit WaitGroup(long count) : count_(count) {}
  void done() {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::lock_guard lock(mutex_);
    zero_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return zero_; });
  }

 private:
  std::atomic<long> count_;
  boost::fibers::mutex mutex_;
  boost::fibers::condition_variable changed_;
  bool zero_ = false;
};

}  // namespace fiber
