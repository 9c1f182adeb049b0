// SPDX-License-Identifier: MIT
// Pipes to which a thread of its own writes one byte every few milliseconds: what reads from them blocks its thread meanwhile.
#pragma once

#include <csignal>
#include <thread>

#include "common/bench.h"

namespace bench {

class SlowPipes {
 public:
  SlowPipes(long count, long period_us) : ends_(static_cast<std::size_t>(count)) {
    for (auto& pair : ends_)
      if (pipe(pair.fd) != 0) fail("no pipe");
    writer_ = std::thread([this, period_us] {
      while (!stop_) {
        sleep_thread_us(period_us);
        for (auto& pair : ends_)
          if (write(pair.fd[1], "x", 1) != 1) fail("write failed");
      }
      for (auto& pair : ends_) close(pair.fd[1]);
    });
  }
  // Readers find the end of their pipe.
  void end() {
    stop_ = true;
    writer_.join();
  }
  int reading_end(long i) const { return ends_[static_cast<std::size_t>(i)].fd[0]; }

 private:
  struct Ends {
    int fd[2];
  };
  std::vector<Ends> ends_;
  std::atomic<bool> stop_{false};
  std::thread writer_;
};

}  // namespace bench
