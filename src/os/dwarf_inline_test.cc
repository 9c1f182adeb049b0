// SPDX-License-Identifier: MIT
// test-labels: qemu
#include "os/dwarf_inline.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "os/elf_image.h"

// Programs built in many ways are in symbolizer_builds_test.cc.
namespace weft::os {
namespace {

__attribute__((noinline)) const void* caller() {
  return static_cast<const char*>(__builtin_extract_return_addr(__builtin_return_address(0))) - 1;
}

constexpr unsigned kInnerLine = __LINE__ + 2;
__attribute__((always_inline)) inline const void* inner() {
  const void* pc = caller();
  asm volatile("" : "+r"(pc));
  return pc;
}
constexpr unsigned kMiddleLine = __LINE__ + 1;
__attribute__((always_inline)) inline const void* middle() { return inner(); }

struct Place {
  const void* pc;
  unsigned line;
};
__attribute__((noinline)) Place outer() {
  const void* pc = middle();
  return {pc, __LINE__ - 1};
}

class InlinedCalls : public testing::Test {
 protected:
  void SetUp() override {
    image_ = ElfImage::open("/proc/self/exe");
    ASSERT_TRUE(image_.valid());
    sections_ = inline_sections(image_);
    if (sections_.info.empty()) GTEST_SKIP() << "built without debug information";
    lines_ = {image_.section(".debug_line"), image_.section(".debug_line_str"), image_.section(".debug_str")};
  }

  // The address as in the file, whether the program is position-independent or not.
  std::uint64_t address_of(const void* pc) const {
    const auto at = reinterpret_cast<std::uintptr_t>(pc);
    const auto here = reinterpret_cast<std::uintptr_t>(&outer);
    std::uint64_t in_file = 0;
    image_.for_each_function([&](const FunctionSymbol& symbol) {
      if (image_.name_of(symbol).find("5outerEv") != std::string_view::npos) in_file = symbol.address;
    });
    EXPECT_NE(in_file, 0u);
    return in_file + (at - here);
  }

  ElfImage image_;
  InlineSections sections_;
  LineSections lines_;
};

TEST_F(InlinedCalls, are_found_from_the_innermost_outwards) {
  const Place place = outer();
  LineEntry calls[8];
  const std::size_t count = find_inlined_calls(sections_, address_of(place.pc), calls);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(calls[0].line, kMiddleLine) << "inner() is called in middle()";
  EXPECT_EQ(calls[1].line, place.line) << "middle() is called in outer()";
  for (const LineEntry& call : {calls[0], calls[1]}) {
    const std::string path = source_path(lines_, call.unit, call.file).to_string();
    EXPECT_TRUE(path.ends_with("dwarf_inline_test.cc")) << path;
  }
}

TEST_F(InlinedCalls, are_none_where_nothing_was_inlined) {
  LineEntry calls[8];
  EXPECT_EQ(find_inlined_calls(sections_, address_of(reinterpret_cast<const void*>(&outer)), calls), 0u);
  EXPECT_EQ(find_inlined_calls(sections_, 1, calls), 0u);
  EXPECT_EQ(find_inlined_calls({}, address_of(outer().pc), calls), 0u);
}

TEST_F(InlinedCalls, are_left_only_from_headers_of_weft) {
  const std::uint64_t address = address_of(outer().pc);
  LineEntry calls[8];
  ASSERT_EQ(find_inlined_calls(sections_, address, calls), 2u);
  const LineEntry line{calls[0].unit, calls[0].file, kInnerLine};
  EXPECT_EQ(leave_own_headers(sections_, lines_, address, line).line, kInnerLine) << "this file is none";
}

TEST_F(InlinedCalls, of_damaged_files_end) {
  const std::uint64_t address = address_of(outer().pc);
  std::mt19937 random(7);
  LineEntry calls[8];
  const auto damage = [&](Bytes bytes, unsigned one_in) {
    std::vector<unsigned char> copy(bytes.begin(), bytes.end());
    for (std::size_t i = random() % one_in; i < copy.size(); i += 1 + random() % (2 * one_in))
      copy[i] = static_cast<unsigned char>(random());
    return copy;
  };
  for (int round = 0; round < 40; ++round) {
    const unsigned one_in = 1u << (3 + round % 12);
    const auto info = damage(sections_.info, one_in * 16), abbrev = damage(sections_.abbrev, one_in);
    const auto ranges = damage(sections_.ranges, one_in), rnglists = damage(sections_.rnglists, one_in);
    InlineSections damaged = sections_;
    if (round % 4 != 1) damaged.info = info;
    if (round % 4 != 2) damaged.abbrev = abbrev;
    damaged.ranges = ranges;
    damaged.rnglists = rnglists;
    EXPECT_LE(find_inlined_calls(damaged, address, calls), std::size(calls));
    damaged = sections_;
    damaged.info = sections_.info.first(random() % sections_.info.size());
    damaged.abbrev = sections_.abbrev.first(random() % sections_.abbrev.size());
    EXPECT_LE(find_inlined_calls(damaged, address, calls), std::size(calls));
  }
}

}  // namespace
}  // namespace weft::os
