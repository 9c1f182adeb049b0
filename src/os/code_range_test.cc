// SPDX-License-Identifier: MIT
#include "os/code_range.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace weft::os {
namespace {

bool contains(const CodeRange& range, const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return range.begin <= at && at < range.end;
}

TEST(CodeRange, is_the_code_of_the_module_and_no_other) {
  const CodeRange own = code_around(reinterpret_cast<const void*>(&code_around));
  EXPECT_TRUE(contains(own, reinterpret_cast<const void*>(&code_around)));
  const void* in_libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");  // no sanitizer replaces it
  ASSERT_NE(in_libc, nullptr);
  EXPECT_FALSE(contains(own, in_libc));
  EXPECT_TRUE(contains(code_around(in_libc), in_libc));
}

TEST(CodeRange, is_empty_where_there_is_no_code) {
  const int here = 0;
  const CodeRange none = code_around(&here);
  EXPECT_EQ(none.begin, none.end);
}

}  // namespace
}  // namespace weft::os
