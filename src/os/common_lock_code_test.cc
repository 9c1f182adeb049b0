// SPDX-License-Identifier: MIT
#include "os/common_lock_code.h"

#include <gtest/gtest.h>
#include <cstdio>
#include <cstdlib>

#include "os/code_range.h"

namespace weft::os {
namespace {

template <class F>
std::uintptr_t address_of(F* function) {
  return reinterpret_cast<std::uintptr_t>(function);
}

TEST(CommonLockCode, knows_the_c_library_by_module_and_its_locking_functions_by_name) {
  find_common_lock_code();
  const std::uintptr_t own = address_of(&find_common_lock_code);
  EXPECT_FALSE(is_common_lock_code(own));
  EXPECT_FALSE(takes_common_lock(own, own));
  EXPECT_FALSE(takes_common_lock(own, 0));
  EXPECT_TRUE(takes_common_lock(address_of(&std::malloc), address_of(&std::malloc)));
  EXPECT_TRUE(takes_common_lock(address_of(&std::fwrite), address_of(&std::fwrite)));
  if (!knows_common_lock_code()) GTEST_SKIP() << "statically linked";
  const std::uintptr_t library = address_of(reinterpret_cast<void (*)()>(&::getenv));
  if (code_around(reinterpret_cast<const void*>(library)).begin !=
      code_around(reinterpret_cast<const void*>(own)).begin) {
    EXPECT_TRUE(is_common_lock_code(library));
  }
  EXPECT_FALSE(takes_common_lock(library, library)) << "of the same module, but it takes none";
}

}  // namespace
}  // namespace weft::os
