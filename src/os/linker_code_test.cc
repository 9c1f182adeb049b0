// SPDX-License-Identifier: MIT
// test-labels: qemu
#include "os/linker_code.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace weft::os {
namespace {

constexpr bool kIsLookedFor =
#if defined(__aarch64__)
    true;
#else
    false;
#endif

// A function that glibc's linker defines itself, and one of the C library's.
TEST(LinkerCode, is_the_dynamic_linkers_where_walks_go_wrong_there) {
  find_linker_code();
  const auto own = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "_dl_mcount"));
  ASSERT_NE(own, 0u);
  EXPECT_EQ(is_linker_code(own), kIsLookedFor);
}

TEST(LinkerCode, is_nothing_else) {
  find_linker_code();
  EXPECT_FALSE(is_linker_code(0));
  EXPECT_FALSE(is_linker_code(reinterpret_cast<std::uintptr_t>(&find_linker_code)));
  EXPECT_FALSE(is_linker_code(reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "qsort"))));
}

}  // namespace
}  // namespace weft::os
