// SPDX-License-Identifier: MIT
#include "os/thread.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace weft::os {
namespace {

bool blocks(int signal) {
  sigset_t blocked;
  return pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0 && sigismember(&blocked, signal) == 1;
}

struct Seen {
  bool starter_blocks_urgent = false, starter_blocks_pipe = false;
  bool started_blocks_urgent = true, started_blocks_pipe = true, started_blocks_user = false;
  std::atomic<bool> done{false};
};

TEST(Thread, what_it_never_hears_of_is_its_own_affair) {
  Seen seen;
  const auto start = [](void* raw) {
    sigset_t user;
    sigemptyset(&user);
    sigaddset(&user, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &user, nullptr);  // as the program may have it
    never_hear_of(SIGURG);
    never_hear_of(SIGPIPE);
    auto& told = *static_cast<Seen*>(raw);
    told.starter_blocks_urgent = blocks(SIGURG);
    told.starter_blocks_pipe = blocks(SIGPIPE);
    const auto look = [](void* also_raw) {
      auto& told_by = *static_cast<Seen*>(also_raw);
      told_by.started_blocks_urgent = blocks(SIGURG);
      told_by.started_blocks_pipe = blocks(SIGPIPE);
      told_by.started_blocks_user = blocks(SIGUSR2);
      told_by.done = true;
    };
    ASSERT_EQ(start_thread(look, raw, 256 * 1024, "started"), 0);
  };
  ASSERT_EQ(start_thread(start, &seen, 256 * 1024, "starter"), 0);
  for (int i = 0; i < 10'000 && !seen.done; ++i) usleep(1000);
  ASSERT_TRUE(seen.done);
  EXPECT_TRUE(seen.starter_blocks_urgent);
  EXPECT_TRUE(seen.starter_blocks_pipe);
  EXPECT_FALSE(seen.started_blocks_urgent);
  EXPECT_FALSE(seen.started_blocks_pipe);
  EXPECT_TRUE(seen.started_blocks_user);
}

}  // namespace
}  // namespace weft::os
