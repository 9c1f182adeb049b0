// SPDX-License-Identifier: MIT
#include "arch/first_argument.h"

#include <gtest/gtest.h>
#include <vector>

namespace weft::arch::aarch64 {
namespace {

constexpr Instruction kMovX0X20 = 0xaa1403e0, kMovW0W20 = 0x2a1403e0, kMovX0X2 = 0xaa0203e0, kMovX1X19 = 0xaa1303e1,
                      kMovX2X21 = 0xaa1503e2, kMovX3Zero = 0xd2800003, kMovX8Ppoll = 0xd2800928, kMovX0One = 0xd2800020,
                      kMovX0MinusOne = 0x92800000, kMovX0Xzr = 0xaa1f03e0, kAddX0SpSixteen = 0x910043e0,
                      kSxtwX0W20 = 0x93407e80, kLdrX0SpEight = 0xf94007e0, kLdrX0X19 = 0xf9400260,
                      kStrX3SpEight = 0xf90007e3, kMovX5AllOnes = 0xb2407fe5, kCall = 0x94000010, kNop = 0xd503201f,
                      kSubSp = 0xd10043ff;

// An unconditional jump by that many instructions.
constexpr Instruction jump_by(std::int64_t distance) {
  return 0x14000000 | (static_cast<Instruction>(distance) & 0x03ffffff);
}
constexpr Instruction jump_if_zero_by(std::int64_t distance) {
  return 0x34000003 | (static_cast<Instruction>(distance) & 0x7ffff) << 5;
}

std::optional<std::uint64_t> argument(std::vector<Instruction> code, const Registers& now) {
  code.push_back(kSystemCall);
  return first_argument(code, code.size() - 1, now);
}

class FirstArgument : public ::testing::Test {
 protected:
  FirstArgument() {
    for (unsigned i = 0; i < 31; ++i) now_.general[i] = 0xffff'0000'0000 + i;
    now_.general[0] = static_cast<std::uint64_t>(-4);
    now_.stack = reinterpret_cast<std::uint64_t>(stack_);
  }
  std::uint64_t stack_[4] = {1, 0x1234567890, 3, 4};
  Registers now_{};
};

TEST_F(FirstArgument, is_found_as_the_c_librarys_poll_loads_it) {
  EXPECT_EQ(argument({kCall, kMovX1X19, kMovX0X20, kMovX2X21, kMovX3Zero, kMovX8Ppoll}, now_), now_.general[20]);
  EXPECT_EQ(argument({kMovX0X20, kMovX1X19, kMovX2X21, kMovX8Ppoll}, now_), now_.general[20]);
  EXPECT_EQ(argument({kMovX0X20, kMovX5AllOnes, kStrX3SpEight, kMovX8Ppoll}, now_), now_.general[20]);
}

TEST_F(FirstArgument, is_found_from_constants_the_stack_and_half_registers) {
  EXPECT_EQ(argument({kMovX0One}, now_), 1u);
  EXPECT_EQ(argument({kMovX0MinusOne}, now_), ~std::uint64_t{0});
  EXPECT_EQ(argument({kMovX0Xzr}, now_), 0u);
  EXPECT_EQ(argument({kMovW0W20}, now_), 20u);
  EXPECT_EQ(argument({kAddX0SpSixteen}, now_), now_.stack + 16);
  EXPECT_EQ(argument({kLdrX0SpEight}, now_), 0x1234567890u);
  EXPECT_EQ(argument({kSxtwX0W20}, now_), 20u);
  now_.general[20] = 0xffffffff;
  EXPECT_EQ(argument({kSxtwX0W20}, now_), ~std::uint64_t{0});
}

TEST_F(FirstArgument, is_the_last_one_written) {
  EXPECT_EQ(argument({kMovX0One, kMovX0X20, kMovX8Ppoll}, now_), now_.general[20]);
}

TEST_F(FirstArgument, is_unknown_where_its_source_is_gone) {
  EXPECT_EQ(argument({kMovX0X2, kMovX2X21, kMovX8Ppoll}, now_), std::nullopt);  // glibc 2.41's one place for all calls
  EXPECT_EQ(argument({kLdrX0X19, kMovX8Ppoll}, now_), std::nullopt);            // the memory may have changed
  EXPECT_EQ(argument({kMovX8Ppoll}, now_), std::nullopt);
  EXPECT_EQ(argument({kMovX0X20, kCall, kMovX8Ppoll}, now_), std::nullopt);
  EXPECT_EQ(argument({kMovX0X20, kNop, kMovX8Ppoll}, now_), std::nullopt);
  EXPECT_EQ(argument({kMovX0X20, kSubSp, kMovX8Ppoll}, now_), std::nullopt);
}

TEST_F(FirstArgument, is_unknown_where_a_jump_may_have_left_out_its_loading) {
  // 0: jump to X; 1: mov x0; 2: mov x1; 3: svc
  EXPECT_EQ(argument({jump_by(2), kMovX0X20, kMovX1X19}, now_), std::nullopt);
  EXPECT_EQ(argument({jump_if_zero_by(3), kMovX0X20, kMovX1X19}, now_), std::nullopt);
  EXPECT_EQ(argument({jump_by(1), kMovX0X20, kMovX1X19}, now_), now_.general[20]);
  EXPECT_EQ(argument({jump_if_zero_by(4), kMovX0X20, kMovX1X19}, now_), now_.general[20]);
  // from behind the call: 0: mov x0; 1: mov x1; 2: svc; 3: jump back
  const std::vector<Instruction> again{kMovX0X20, kMovX1X19, kSystemCall, jump_by(-2)};
  EXPECT_EQ(first_argument(again, 2, now_), std::nullopt);
  const std::vector<Instruction> anew{kMovX0X20, kMovX1X19, kSystemCall, jump_by(-3)};
  EXPECT_EQ(first_argument(anew, 2, now_), now_.general[20]);
}

}  // namespace
}  // namespace weft::arch::aarch64
