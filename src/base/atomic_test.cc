// SPDX-License-Identifier: MIT
#include "base/atomic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace weft::base {
namespace {

template <class T>
class AtomBump : public testing::Test {};
using Sizes = testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(AtomBump, Sizes);

TYPED_TEST(AtomBump, adds_to_this_number_and_no_other) {
  struct {
    Atom<TypeParam> before{0}, number{0}, after{0};
  } all;
  all.number.bump();
  EXPECT_EQ(all.number.load_relaxed(), TypeParam{1});
  all.number.bump_release();
  EXPECT_EQ(all.number.load_relaxed(), TypeParam{2});
  const TypeParam most = std::numeric_limits<TypeParam>::max();
  all.number.bump(static_cast<TypeParam>(most - 3));
  EXPECT_EQ(all.number.load_relaxed(), static_cast<TypeParam>(most - 1));
  all.number.bump_release();
  EXPECT_EQ(all.number.load_relaxed(), most);
  all.number.bump(static_cast<TypeParam>(-1));
  EXPECT_EQ(all.number.load_relaxed(), static_cast<TypeParam>(most - 1));
  EXPECT_EQ(all.before.load_relaxed(), TypeParam{0});
  EXPECT_EQ(all.after.load_relaxed(), TypeParam{0});
}

}  // namespace
}  // namespace weft::base
