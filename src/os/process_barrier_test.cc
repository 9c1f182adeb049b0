// SPDX-License-Identifier: MIT
#include "os/process_barrier.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include "base/atomic.h"
#include "os/clock.h"

namespace weft::os {
namespace {

// Each thread writes its word and reads the other's. Without a barrier both may miss the other's write, because a store
// waits in the core's buffer.
TEST(ProcessBarrier, orders_a_store_and_a_load_of_a_thread_that_has_no_fence) {
  if (!enable_process_barrier()) GTEST_SKIP() << "this kernel has no such barrier";
  constexpr std::uint32_t kRounds = 2'000;
  const std::int64_t until_ns = now_ns() + 3'000'000'000;  // where neither has a core of its own, a round takes long
  const auto wait_until = [](auto&& condition) {
    for (unsigned looks = 0; !condition(); ++looks) {
      if (looks < 1000) {
        base::cpu_relax();
      } else {
        std::this_thread::yield();
      }
    }
  };
  struct alignas(128) Word {
    base::Atom<std::uint32_t> value{0};
  };
  Word hot, rare, seen;  // numbers of rounds
  base::Atom<std::uint32_t> last{0};
  std::thread other([&] {
    for (std::uint32_t round = 1;; ++round) {
      wait_until([&] { return rare.value.load_relaxed() + 1 >= round; });  // begin it about when the other does
      hot.value.store_relaxed(round);
      base::compiler_fence();
      const std::uint32_t read = rare.value.load_relaxed();
      seen.value.store_release(read >= round ? 2 * round + 1 : 2 * round);  // pairs: test.seen
      wait_until([&] { return seen.value.load_acquire() == 0; });           // pairs: test.seen
      if (last.load_relaxed() == round) return;
    }
  });
  std::uint32_t neither = 0;
  for (std::uint32_t round = 1; last.load_relaxed() == 0; ++round) {
    rare.value.store_relaxed(round);
    ASSERT_TRUE(process_barrier());
    const std::uint32_t read = hot.value.load_relaxed();
    std::uint32_t answer = 0;
    wait_until([&] { return (answer = seen.value.load_acquire()) != 0; });  // pairs: test.seen
    if (read < round && answer == 2 * round) ++neither;
    if (round == kRounds || now_ns() > until_ns) last.store_relaxed(round);
    seen.value.store_release(0);  // pairs: test.seen
  }
  other.join();
  EXPECT_EQ(neither, 0u);
}

}  // namespace
}  // namespace weft::os
