// SPDX-License-Identifier: MIT
#include "sched/tracing/traced_moves.h"

#include <gtest/gtest.h>
#include <weft/weft.h>

#include <cstddef>
#include <cstdint>

#include "arch/context.h"

namespace weft::sched {
namespace {

struct Root {
  std::uintptr_t height = 0;
  os::FrameRecord record{};
};

// The outermost record of the calling goroutine.
WEFT_READS_STACKS __attribute__((noinline)) Root find_root() {
  const auto high = reinterpret_cast<std::uintptr_t>(os::current_g());
  auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  Root root;
  for (std::uintptr_t lowest = frame; os::leads_on(frame, lowest, high); frame = root.record.caller) {
    root = {high - frame, *reinterpret_cast<const os::FrameRecord*>(frame)};
    lowest = frame + sizeof(os::FrameRecord);
  }
  return root;
}

Root root_deeper(std::size_t depth) {
  const Root root = depth == 0 ? find_root() : root_deeper(depth - 1);
  asm volatile("");  // keeps the call from becoming a jump
  return root;
}

// trace::KnownChains never reads a root, because it knows where the root is and what the root holds.
TEST(TracedMoves, all_goroutines_have_the_same_root_at_the_same_height) {
  run([] {
    const Root mine = find_root();
    EXPECT_EQ(os::strip_signature(mine.record.return_address), arch::outermost_return_address());
    EXPECT_EQ(mine.record.caller, 0u);
    for (const std::size_t stack_size : {std::size_t{0}, std::size_t{64} << 10, std::size_t{1} << 20})
      for (std::size_t depth = 0; depth < 5; ++depth) {
        Root other;
        wait_group group;
        group.add(1);
        go(go_options{.stack_size = stack_size}, [&] {
          other = root_deeper(depth);
          group.done();
        });
        group.wait();
        EXPECT_EQ(other.height, mine.height);
        EXPECT_EQ(os::strip_signature(other.record.return_address), arch::outermost_return_address());
        EXPECT_EQ(other.record.caller, 0u);
      }
  });
}

}  // namespace
}  // namespace weft::sched
