// SPDX-License-Identifier: MIT
// test-labels: qemu no-tsan
// (TSan calls handlers itself.)
#include "arch/interrupted_frame.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace weft::arch {
namespace {

// On x86-64 ends_handler() looks for nothing, because the unwinder walks safely there.
constexpr bool kKnowsEnds =
#if defined(__aarch64__)
    true;
#else
    false;
#endif

std::uintptr_t returned_to = 0;
ucontext_t interrupted{};

void on_signal(int, siginfo_t*, void* context) {
  returned_to = reinterpret_cast<std::uintptr_t>(__builtin_extract_return_addr(__builtin_return_address(0)));
  interrupted = *static_cast<const ucontext_t*>(context);
}

void set_pc(ucontext_t& context, std::uintptr_t pc) {
#if defined(__aarch64__)
  context.uc_mcontext.pc = pc;
#else
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc);
#endif
}

struct InterruptedFrameTest : testing::Test {
  void SetUp() override {
    struct sigaction action{};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    raise(SIGUSR1);
  }
};

// The code that a handler returns to is the kernel's or the emulator's, whichever runs this test.
TEST_F(InterruptedFrameTest, knows_what_a_handler_returns_to) {
  ASSERT_NE(returned_to, 0u);
  EXPECT_EQ(ends_handler(returned_to), kKnowsEnds);
}

TEST_F(InterruptedFrameTest, takes_nothing_else_for_it) {
  EXPECT_FALSE(ends_handler(0));
  EXPECT_FALSE(ends_handler(returned_to + 1));
  EXPECT_FALSE(ends_handler(returned_to + 4));
  EXPECT_FALSE(ends_handler(reinterpret_cast<std::uintptr_t>(&on_signal)));
  EXPECT_FALSE(ends_handler(reinterpret_cast<std::uintptr_t>(interrupted_frame(&interrupted).pc)));
}

TEST_F(InterruptedFrameTest, knows_a_signal_between_the_end_of_a_handler_and_its_return) {
  EXPECT_FALSE(returns_from_handler(&interrupted));
  set_pc(interrupted, returned_to);
  EXPECT_EQ(returns_from_handler(&interrupted), kKnowsEnds);
}

}  // namespace
}  // namespace weft::arch
