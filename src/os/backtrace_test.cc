// SPDX-License-Identifier: MIT
// test-labels: qemu
#include "os/backtrace.h"

#include <gtest/gtest.h>
#include <link.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/sanitizer.h"

// Faults on its very first instruction: one byte before it is another function's code.
asm(R"(
    .text
    .balign 16
    .globl weft_test_trap
    .hidden weft_test_trap
    .type weft_test_trap, %function
weft_test_trap:
    .cfi_startproc
)"
#if defined(__x86_64__)
    "    ud2\n"
#else
    "    udf #0\n"
#endif
    R"(
    ret
    .cfi_endproc
    .size weft_test_trap, . - weft_test_trap
)");
extern "C" void weft_test_trap();

namespace weft::os {
namespace {

using Stack = std::array<void*, 64>;

#define WEFT_KEEP_FRAME asm volatile("" ::: "memory")  // no tail call

__attribute__((noinline)) std::size_t level_0(Stack& out, std::size_t max, std::size_t skip) {
  const std::size_t count = capture_backtrace(out.data(), max, skip);
  WEFT_KEEP_FRAME;
  return count;
}
__attribute__((noinline)) std::size_t level_1(Stack& out, std::size_t max, std::size_t skip) {
  const std::size_t count = level_0(out, max, skip);
  WEFT_KEEP_FRAME;
  return count;
}
__attribute__((noinline)) std::size_t level_2(Stack& out, std::size_t max, std::size_t skip) {
  const std::size_t count = level_1(out, max, skip);
  WEFT_KEEP_FRAME;
  return count;
}

// Small functions: an address within the first 500 bytes is inside.
template <class Function>
bool is_in(const void* pc, Function* function) {
  const auto start = reinterpret_cast<std::uintptr_t>(function);
  return reinterpret_cast<std::uintptr_t>(pc) >= start && reinterpret_cast<std::uintptr_t>(pc) < start + 500;
}

TEST(Backtrace, begins_with_the_caller_and_goes_outward) {
  Stack stack{};
  const std::size_t count = level_2(stack, stack.size(), 0);
  ASSERT_GE(count, 4u);
  EXPECT_TRUE(is_in(stack[0], level_0));
  EXPECT_TRUE(is_in(stack[1], level_1));
  EXPECT_TRUE(is_in(stack[2], level_2));
}

TEST(Backtrace, skip_leaves_out_the_innermost_frames) {
  Stack all{}, fewer{};
  const std::size_t all_count = level_2(all, all.size(), 0);
  const std::size_t fewer_count = level_2(fewer, fewer.size(), 2);
  ASSERT_EQ(all_count, fewer_count + 2);
  EXPECT_TRUE(is_in(fewer[0], level_2));
  EXPECT_TRUE(
      std::equal(all.begin() + 4, all.begin() + static_cast<std::ptrdiff_t>(all_count), fewer.begin() + 2));
  EXPECT_EQ(level_2(all, all.size(), 1000), 0u);
}

TEST(Backtrace, never_stores_more_than_max) {
  Stack stack{};
  EXPECT_EQ(level_2(stack, 2, 0), 2u);
  EXPECT_NE(stack[1], nullptr);
  EXPECT_EQ(stack[2], nullptr);
  stack = {};
  EXPECT_EQ(level_2(stack, 0, 0), 0u);
  EXPECT_EQ(stack[0], nullptr);
}

TEST(Backtrace, callers_are_one_byte_before_their_return_address) {
  struct Probe {
    __attribute__((noinline)) static const void* run(Stack& out) {
      capture_backtrace(out.data(), out.size(), 0);
      WEFT_KEEP_FRAME;
      return __builtin_extract_return_addr(__builtin_return_address(0));
    }
  };
  Stack stack{};
  const void* const return_address = Probe::run(stack);
  EXPECT_EQ(static_cast<const char*>(stack[1]) + 1, return_address);
}

Stack trap_stack;
std::size_t trap_count;
sigjmp_buf trap_jump;

void on_trap(int) {
  trap_count = capture_backtrace(trap_stack.data(), trap_stack.size(), 0);
  siglongjmp(trap_jump, 1);
}

__attribute__((noinline)) void call_trap() {
  weft_test_trap();
  WEFT_KEEP_FRAME;
}

TEST(Backtrace, interrupted_instruction_is_exact_and_its_callers_follow) {
  warm_up_unwinder();
  std::vector<char> memory(256 * 1024);
  const stack_t stack{memory.data(), 0, memory.size()};
  stack_t old_stack{};
  ASSERT_EQ(sigaltstack(&stack, &old_stack), 0);
  struct sigaction action{};
  action.sa_handler = on_trap;
  action.sa_flags = SA_ONSTACK;
  struct sigaction old_action{};
  ASSERT_EQ(sigaction(SIGILL, &action, &old_action), 0);
  if (sigsetjmp(trap_jump, 1) == 0) call_trap();
  sigaction(SIGILL, &old_action, nullptr);
  sigaltstack(&old_stack, nullptr);
  const auto end = trap_stack.begin() + static_cast<std::ptrdiff_t>(trap_count);
  const auto trap = std::find(trap_stack.begin(), end, reinterpret_cast<void*>(weft_test_trap));
  ASSERT_NE(trap, end) << "the address of the faulting instruction itself, not one less";
  ASSERT_NE(trap + 1, end);
  EXPECT_TRUE(is_in(*(trap + 1), call_trap));
}

TEST(Backtrace, warmed_up_capture_neither_allocates_nor_loads) {
#if WEFT_ASAN || WEFT_TSAN
  GTEST_SKIP() << "the allocator is the sanitizer's";
#else
  const auto count_loads = [](dl_phdr_info* module, std::size_t, void* data) {
    *static_cast<unsigned long long*>(data) = module->dlpi_adds;
    return 1;
  };
  warm_up_unwinder();
  Stack stack{};
  unsigned long long loads_before = 0, loads_after = 0;
  dl_iterate_phdr(count_loads, &loads_before);
  const std::size_t used_before = mallinfo2().uordblks;
  level_2(stack, stack.size(), 0);
  const std::size_t used_after = mallinfo2().uordblks;
  dl_iterate_phdr(count_loads, &loads_after);
  EXPECT_EQ(used_before, used_after);
  EXPECT_EQ(loads_before, loads_after);
#endif
}

// A stack of words to be walked; index 0 is the lowest address.
struct FakeStack {
  std::array<std::uintptr_t, 32> words{};
  const void* at(std::size_t index) const { return words.data() + index; }
  void record(std::size_t index, std::size_t caller, std::uintptr_t return_address) {
    words[index] = reinterpret_cast<std::uintptr_t>(at(caller));
    words[index + 1] = return_address;
  }
  std::vector<std::uintptr_t> walk(const void* frame, const void* pc = nullptr, std::size_t max = 64) const {
    std::array<void*, 64> out{};
    const std::size_t count = capture_from_frame_pointer(frame, pc, at(0), at(32), out.data(), max);
    std::vector<std::uintptr_t> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(reinterpret_cast<std::uintptr_t>(out[i]));
    return result;
  }
};

using Addresses = std::vector<std::uintptr_t>;

TEST(FramePointers, chain_is_followed_to_its_end) {
  FakeStack stack;
  stack.record(2, 10, 0x1001);
  stack.record(10, 30, 0x2001);
  stack.record(30, 0, 0x3001);
  EXPECT_EQ(stack.walk(stack.at(2)), (Addresses{0x1000, 0x2000, 0x3000}));
  EXPECT_EQ(stack.walk(stack.at(2), reinterpret_cast<void*>(0x500)),
            (Addresses{0x500, 0x1000, 0x2000, 0x3000}))
      << "pc is exact";
  EXPECT_EQ(stack.walk(stack.at(2), reinterpret_cast<void*>(0x500), 2), (Addresses{0x500, 0x1000}));
  EXPECT_EQ(stack.walk(stack.at(2), reinterpret_cast<void*>(0x500), 0), Addresses{});
}

TEST(FramePointers, null_return_address_ends_the_chain) {
  FakeStack stack;
  stack.record(2, 10, 0x1001);
  stack.record(10, 20, 0);
  stack.record(20, 30, 0x3001);
  EXPECT_EQ(stack.walk(stack.at(2)), Addresses{0x1000});
}

TEST(FramePointers, links_that_do_not_lead_up_end_the_chain) {
  FakeStack stack;
  stack.record(10, 10, 0x1001);  // to itself
  EXPECT_EQ(stack.walk(stack.at(10)), Addresses{0x1000});
  stack.record(10, 4, 0x1001);  // down
  stack.record(4, 10, 0x2001);
  EXPECT_EQ(stack.walk(stack.at(10)), Addresses{0x1000});
  stack.record(10, 11, 0x1001);  // into the record itself
  EXPECT_EQ(stack.walk(stack.at(10)), Addresses{0x1000});
}

TEST(FramePointers, frame_pointers_outside_or_unaligned_give_nothing) {
  FakeStack stack;
  stack.words.fill(0x4141414141414141);
  const auto shifted = [&](std::size_t index, int by) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(stack.at(index)) +
                                   static_cast<std::uintptr_t>(by));
  };
  EXPECT_EQ(stack.walk(nullptr), Addresses{});
  EXPECT_EQ(stack.walk(reinterpret_cast<void*>(~std::uintptr_t{0})), Addresses{});
  EXPECT_EQ(stack.walk(reinterpret_cast<void*>(~std::uintptr_t{7})), Addresses{});
  EXPECT_EQ(stack.walk(shifted(0, -8)), Addresses{});
  EXPECT_EQ(stack.walk(stack.at(32)), Addresses{});
  EXPECT_EQ(stack.walk(stack.at(31)), Addresses{}) << "only half of the record is on the stack";
  EXPECT_EQ(stack.walk(shifted(4, 4)), Addresses{});
  EXPECT_EQ(stack.walk(shifted(4, 1)), Addresses{});
}

TEST(FramePointers, nothing_beyond_the_bounds_is_read) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory =
      static_cast<char*>(mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + page, page, PROT_READ | PROT_WRITE), 0);
  char* const low = memory + page;
  char* const high = low + page;
  std::array<void*, 8> out{};
  // Wild links in the last record that fits: all must be refused without a fault.
  for (const std::uintptr_t link :
       {reinterpret_cast<std::uintptr_t>(high), reinterpret_cast<std::uintptr_t>(high) - 8,
        reinterpret_cast<std::uintptr_t>(high) + 8, reinterpret_cast<std::uintptr_t>(memory),
        reinterpret_cast<std::uintptr_t>(low) - 8, std::uintptr_t{8}, ~std::uintptr_t{7}}) {
    const std::uintptr_t record[2] = {link, 0x1001};
    std::memcpy(high - sizeof record, record, sizeof record);
    EXPECT_EQ(capture_from_frame_pointer(high - sizeof record, nullptr, low, high, out.data(), out.size()),
              1u);
  }
  EXPECT_EQ(capture_from_frame_pointer(low, nullptr, low, low, out.data(), out.size()), 0u)
      << "an empty stack";
  EXPECT_EQ(capture_from_frame_pointer(low, nullptr, high, low, out.data(), out.size()), 0u)
      << "bounds exchanged";
  munmap(memory, 3 * page);
}

__attribute__((noinline)) std::size_t walk_own_frames(Stack& out, const void*& return_address) {
  return_address = __builtin_extract_return_addr(__builtin_return_address(0));
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return capture_from_frame_pointer(reinterpret_cast<void*>(here), nullptr,
                                    reinterpret_cast<void*>(here - 4096), reinterpret_cast<void*>(here + 16),
                                    out.data(), out.size());
}

TEST(FramePointers, real_frame_record_holds_the_return_address) {
  Stack stack{};
  const void* return_address = nullptr;
  ASSERT_EQ(walk_own_frames(stack, return_address), 1u);
  EXPECT_EQ(static_cast<char*>(stack[0]) + 1, return_address);
}

}  // namespace
}  // namespace weft::os
