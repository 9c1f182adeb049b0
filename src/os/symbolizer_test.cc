// SPDX-License-Identifier: MIT
// test-labels: qemu
#include "os/symbolizer.h"

#include <gtest/gtest.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace weft::os {
namespace {

__attribute__((noinline, used)) int static_function(int value) { return value + static_cast<int>(getpid()); }

template <class T>
struct Box {
  __attribute__((noinline, used)) static int method(T value, const char*) {
    return static_function(static_cast<int>(value));
  }
};

const void* address_of(int (*function)(int)) { return reinterpret_cast<const void*>(function); }

TEST(Symbolizer, names_static_functions_and_the_offset_into_them) {
  const Symbol start = symbolize(address_of(static_function));
  EXPECT_EQ(start.function, "weft::os::(anonymous namespace)::static_function(int)");
  EXPECT_EQ(start.offset, 0u);
  const Symbol inside = symbolize(static_cast<const char*>(address_of(static_function)) + 3);
  EXPECT_EQ(inside.function, start.function);
  EXPECT_EQ(inside.offset, 3u);
  EXPECT_EQ(start.module, std::filesystem::read_symlink("/proc/self/exe").string());
}

TEST(Symbolizer, demangles_templates) {
  const Symbol symbol = symbolize(reinterpret_cast<const void*>(&Box<long>::method));
  EXPECT_EQ(symbol.function, "weft::os::(anonymous namespace)::Box<long>::method(long, char const*)");
}

TEST(Symbolizer, names_functions_of_shared_libraries) {
  const Symbol symbol = symbolize(reinterpret_cast<const void*>(dl_iterate_phdr));
  EXPECT_NE(symbol.function.find("dl_iterate_phdr"), std::string::npos) << symbol.function;
  EXPECT_FALSE(symbol.module.empty());
}

TEST(Symbolizer, addresses_in_no_module_have_no_names) {
  const auto heap = std::make_unique<int>(1);
  const int local = 2;
  for (const void* pc : {static_cast<const void*>(nullptr), reinterpret_cast<const void*>(1),
                         reinterpret_cast<const void*>(~std::uintptr_t{0}), static_cast<const void*>(heap.get()),
                         static_cast<const void*>(&local), reinterpret_cast<const void*>(std::uintptr_t{1} << 63)}) {
    const Symbol symbol = symbolize(pc);
    EXPECT_EQ(symbol.function, "") << pc;
    EXPECT_EQ(symbol.module, "") << pc;
    EXPECT_EQ(symbol.line, 0u) << pc;
    EXPECT_EQ(symbol.offset, reinterpret_cast<std::uintptr_t>(pc));
  }
}

TEST(Symbolizer, data_of_a_module_is_no_function) {
  static int variable = 3;
  const Symbol symbol = symbolize(&variable);
  EXPECT_EQ(symbol.function, "");
  EXPECT_NE(symbol.module, "");
}

TEST(Symbolizer, vdso_is_tolerated) {
  const auto start = static_cast<std::uintptr_t>(getauxval(AT_SYSINFO_EHDR));
  if (start == 0) GTEST_SKIP() << "no vdso";
  bool found_a_name = false;
  for (std::uintptr_t offset = 0; offset < 4096; offset += 16) {
    found_a_name |= !symbolize(reinterpret_cast<const void*>(start + offset)).function.empty();
  }
  EXPECT_TRUE(found_a_name) << "its symbols are in memory";
}

TEST(Symbolizer, without_lines_no_line_is_given) {
  const Symbol symbol = symbolize(address_of(static_function), false);
  EXPECT_FALSE(symbol.function.empty());
  EXPECT_EQ(symbol.file, "");
  EXPECT_EQ(symbol.line, 0u);
}

TEST(Symbolizer, many_threads_get_the_same_answers) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 2000; ++i) {
        const auto offset = static_cast<std::ptrdiff_t>(i % 4);
        const Symbol symbol = symbolize(static_cast<const char*>(address_of(static_function)) + offset, i % 2 == 0);
        ASSERT_EQ(symbol.function, "weft::os::(anonymous namespace)::static_function(int)");
        ASSERT_EQ(symbol.offset, static_cast<std::uintptr_t>(offset));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Symbolizer, more_addresses_than_are_remembered_still_work) {
  const auto* const text = static_cast<const char*>(address_of(static_function));
  for (std::ptrdiff_t i = 0; i < 10000; ++i) symbolize(text + i);
  EXPECT_EQ(symbolize(text).offset, 0u);
}

TEST(FormatFrames, two_lines_per_frame_after_the_indent) {
  void* const pcs[] = {const_cast<void*>(address_of(static_function)), reinterpret_cast<void*>(0x10)};
  const std::string text = format_frames(pcs, 2, "> ");
  std::istringstream lines(text);
  std::string name, place, unknown, nowhere, rest;
  std::getline(lines, name);
  std::getline(lines, place);
  std::getline(lines, unknown);
  std::getline(lines, nowhere);
  EXPECT_EQ(name, "> weft::os::(anonymous namespace)::static_function(int)");
  EXPECT_EQ(place.find(">     "), 0u) << place;
  EXPECT_NE(place.find(" +0x0 pc=0x"), std::string::npos) << place;
  EXPECT_EQ(unknown, "> ??");
  EXPECT_EQ(nowhere, ">     pc=0x10");
  EXPECT_FALSE(std::getline(lines, rest)) << rest;
  EXPECT_EQ(format_frames(pcs, 0, ""), "");
}

}  // namespace
}  // namespace weft::os
