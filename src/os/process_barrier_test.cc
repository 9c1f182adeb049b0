// SPDX-License-Identifier: MIT
#include "os/process_barrier.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/atomic.h"

namespace weft::os {
namespace {

// Each writes its word and reads the other's. Without a barrier both may read zero: the store waits in the core's buffer.
TEST(ProcessBarrier, orders_a_store_and_a_load_of_a_thread_that_has_no_fence) {
  if (!enable_process_barrier()) GTEST_SKIP() << "this kernel has no such barrier";
  constexpr std::uint32_t kRounds = 20'000;
  struct alignas(128) Word {
    base::Atom<std::uint32_t> value{0};
  };
  Word hot, rare, seen;  // numbers of rounds
  std::thread other([&] {
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      while (rare.value.load_relaxed() + 1 < round) base::cpu_relax();  // about when the other begins it, too
      hot.value.store_relaxed(round);
      base::compiler_fence();
      const std::uint32_t read = rare.value.load_relaxed();
      seen.value.store_release(read >= round ? 2 * round + 1 : 2 * round);  // pairs: test.seen
      while (seen.value.load_acquire() != 0) base::cpu_relax();             // pairs: test.seen
    }
  });
  std::uint32_t neither = 0;
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    rare.value.store_relaxed(round);
    ASSERT_TRUE(process_barrier());
    const std::uint32_t read = hot.value.load_relaxed();
    std::uint32_t answer;
    while ((answer = seen.value.load_acquire()) == 0) base::cpu_relax();  // pairs: test.seen
    if (read < round && answer == 2 * round) ++neither;
    seen.value.store_release(0);  // pairs: test.seen
  }
  other.join();
  EXPECT_EQ(neither, 0u);
}

}  // namespace
}  // namespace weft::os
