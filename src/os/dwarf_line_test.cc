// SPDX-License-Identifier: MIT
// test-labels: qemu
#include "os/dwarf_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "os/elf_image.h"

namespace weft::os {
namespace {

// Writes what a compiler would.
class Writer {
 public:
  Writer& u8(unsigned value) { return number(value, 1); }
  Writer& u16(unsigned value) { return number(value, 2); }
  Writer& u32(std::uint64_t value) { return number(value, 4); }
  Writer& u64(std::uint64_t value) { return number(value, 8); }
  Writer& number(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes.push_back(static_cast<unsigned char>(value >> (8 * i)));
    return *this;
  }
  Writer& uleb(std::uint64_t value) {
    do {
      const auto low = static_cast<unsigned char>(value & 0x7f);
      value >>= 7;
      bytes.push_back(static_cast<unsigned char>(low | (value != 0 ? 0x80 : 0)));
    } while (value != 0);
    return *this;
  }
  Writer& sleb(std::int64_t value) {
    for (bool more = true; more;) {
      const auto low = static_cast<unsigned char>(value & 0x7f);
      value >>= 7;
      more = !((value == 0 && (low & 0x40) == 0) || (value == -1 && (low & 0x40) != 0));
      bytes.push_back(static_cast<unsigned char>(low | (more ? 0x80 : 0)));
    }
    return *this;
  }
  Writer& text(const std::string& value) {
    for (const char c : value) bytes.push_back(static_cast<unsigned char>(c));
    bytes.push_back(0);
    return *this;
  }
  Writer& append(const Writer& other) {
    bytes.insert(bytes.end(), other.bytes.begin(), other.bytes.end());
    return *this;
  }

  std::vector<unsigned char> bytes;
};

constexpr unsigned kOpcodeBase = 13;
constexpr int kLineBase = -5;
constexpr unsigned kLineRange = 14;

Writer set_address(std::uint64_t address) { return Writer().u8(0).uleb(9).u8(2).u64(address); }
Writer end_sequence() { return Writer().u8(0).uleb(1).u8(1); }
Writer special(unsigned address, int line) {
  return Writer().u8(static_cast<unsigned>(line - kLineBase) + kLineRange * address + kOpcodeBase);
}
Writer advance_pc(std::uint64_t by) { return Writer().u8(2).uleb(by); }
Writer advance_line(std::int64_t by) { return Writer().u8(3).sleb(by); }
Writer set_file(std::uint64_t file) { return Writer().u8(4).uleb(file); }
Writer copy() { return Writer().u8(1); }

struct Unit {
  unsigned version = 5;
  bool is_64bit = false;
  unsigned opcode_base = kOpcodeBase;
  unsigned line_range = kLineRange;
  Writer tables;
  Writer program;

  Writer build() const {
    const auto offset = [this](Writer& out, std::uint64_t value) { out.number(value, is_64bit ? 8 : 4); };
    Writer header;  // from min_instruction_length to the tables
    header.u8(1);
    if (version >= 4) header.u8(1);
    header.u8(1).u8(static_cast<unsigned char>(kLineBase)).u8(line_range).u8(opcode_base);
    const unsigned lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 2, 0};
    for (unsigned i = 0; i + 1 < opcode_base; ++i) header.u8(lengths[i]);
    header.append(tables);
    Writer body;
    body.u16(version);
    if (version >= 5) body.u8(8).u8(0);
    offset(body, header.bytes.size());
    body.append(header).append(program);
    Writer out;
    if (is_64bit) out.u32(0xffffffff);
    offset(out, body.bytes.size());
    return out.append(body);
  }
};

Writer tables_2_to_4() {
  Writer tables;
  tables.text("/usr/include").text("lib").u8(0);
  tables.text("main.cc").uleb(0).uleb(0).uleb(0);
  tables.text("stdio.h").uleb(1).uleb(77).uleb(1000);
  tables.text("part.h").uleb(2).uleb(0).uleb(0).u8(0);
  return tables;
}

// Directories: 0 "/src", 1 "/usr/include", 2 "lib" (relative). Files: 0 and 1 main.cc, 2 stdio.h, 3 part.h.
Writer tables_5(unsigned path_form) {
  const char strings[] = "/src\0/usr/include\0lib\0main.cc\0stdio.h\0part.h";
  const auto name = [&](Writer& out, const char* text, unsigned at) {
    if (path_form == 0x08) {
      out.text(text);
    } else {
      out.u32(at);
    }
  };
  static_assert(sizeof strings > 40);
  Writer tables;
  tables.u8(1).uleb(1).uleb(path_form).uleb(3);
  name(tables, "/src", 0);
  name(tables, "/usr/include", 5);
  name(tables, "lib", 18);
  tables.u8(3).uleb(1).uleb(path_form).uleb(2).uleb(0x0b).uleb(5).uleb(0x1e).uleb(4);
  const struct {
    const char* text;
    unsigned at, directory;
  } files[] = {{"main.cc", 22, 0}, {"main.cc", 22, 0}, {"stdio.h", 30, 1}, {"part.h", 38, 2}};
  for (const auto& file : files) {
    name(tables, file.text, file.at);
    tables.u8(file.directory).u64(1).u64(2);  // directory and MD5
  }
  return tables;
}
const std::string kStrings5("/src\0/usr/include\0lib\0main.cc\0stdio.h\0part.h", 45);

// 0x1000: main.cc:10   0x1004: main.cc:12   0x1010: stdio.h:5   0x1020: part.h:300   end 0x1100
Writer sample_program(std::uint64_t start) {
  Writer program;
  program.append(set_address(start)).append(advance_line(9)).append(copy());
  program.append(special(4, 2));
  program.append(set_file(2)).append(advance_pc(0xc)).append(advance_line(-7)).append(copy());
  program.u8(5).uleb(17).u8(6).u8(7).u8(10).u8(11).u8(12).uleb(
      3);  // column, statement, block, prologue, epilogue, isa
  program.append(set_file(3)).append(advance_line(295)).u8(9).u16(0x10).append(copy());
  program.append(advance_pc(0xe0)).append(end_sequence());
  return program;
}

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

// "path:line" as found for an address, or "".
std::string find_text(const LineSections& sections, std::uint64_t address) {
  const LineIndex index(sections, [](std::uint64_t) { return true; });
  const auto entry = index.find(address);
  if (!entry) return "";
  return index.path(*entry).to_string() + ":" + std::to_string(entry->line);
}

void expect_sample(const LineSections& sections, std::uint64_t base, const std::string& comp_dir) {
  EXPECT_EQ(find_text(sections, base - 1), "");
  EXPECT_EQ(find_text(sections, base), comp_dir + "main.cc:10");
  EXPECT_EQ(find_text(sections, base + 3), comp_dir + "main.cc:10");
  EXPECT_EQ(find_text(sections, base + 4), comp_dir + "main.cc:12");
  EXPECT_EQ(find_text(sections, base + 0xf), comp_dir + "main.cc:12");
  EXPECT_EQ(find_text(sections, base + 0x10), "/usr/include/stdio.h:5");
  EXPECT_EQ(find_text(sections, base + 0x20), comp_dir + "lib/part.h:300");
  EXPECT_EQ(find_text(sections, base + 0xff), comp_dir + "lib/part.h:300");
  EXPECT_EQ(find_text(sections, base + 0x100), "") << "the end of the sequence is not part of it";
}

TEST(DwarfLine, versions_2_to_4_are_read) {
  for (const unsigned version : {2u, 3u, 4u}) {
    for (const bool is_64bit : {false, true}) {
      SCOPED_TRACE(version);
      Unit unit{version, is_64bit, kOpcodeBase, kLineRange, tables_2_to_4(), sample_program(0x1000)};
      const Writer section = unit.build();
      expect_sample({section.bytes, {}, {}}, 0x1000, "");
    }
  }
}

TEST(DwarfLine, version_5_is_read_with_each_form_of_names) {
  for (const unsigned form : {0x08u, 0x1fu, 0x0eu}) {
    SCOPED_TRACE(form);
    const Writer section =
        Unit{5, false, kOpcodeBase, kLineRange, tables_5(form), sample_program(0x1000)}.build();
    LineSections sections{section.bytes, {}, {}};
    if (form == 0x1f) sections.line_str = bytes_of(kStrings5);
    if (form == 0x0e) sections.str = bytes_of(kStrings5);
    expect_sample(sections, 0x1000, "/src/");
  }
  const Writer section =
      Unit{5, true, kOpcodeBase, kLineRange, tables_5(0x08), sample_program(0x1000)}.build();
  expect_sample({section.bytes, {}, {}}, 0x1000, "/src/");
}

TEST(DwarfLine, units_and_sequences_follow_each_other) {
  Writer program = sample_program(0x5000);
  program.append(sample_program(0x1000));
  Writer section = Unit{4, false, kOpcodeBase, kLineRange, tables_2_to_4(), program}.build();
  section.append(Unit{5, false, kOpcodeBase, kLineRange, tables_5(0x08), sample_program(0x3000)}.build());
  const LineSections sections{section.bytes, {}, {}};
  EXPECT_EQ(LineIndex(sections, [](std::uint64_t) { return true; }).size(), 3u);
  expect_sample(sections, 0x1000, "");
  expect_sample(sections, 0x3000, "/src/");
  expect_sample(sections, 0x5000, "");
}

TEST(DwarfLine, unusable_units_are_skipped) {
  Writer section = Unit{6, false, kOpcodeBase, kLineRange, tables_2_to_4(), sample_program(0x1000)}.build();
  section.append(Unit{1, false, kOpcodeBase, kLineRange, tables_2_to_4(), sample_program(0x1000)}.build());
  section.append(
      Unit{4, false, kOpcodeBase, 0, tables_2_to_4(), sample_program(0x1000)}.build());  // division by zero
  section.u32(0);                                                                        // an empty unit
  section.append(Unit{3, false, kOpcodeBase, kLineRange, tables_2_to_4(), sample_program(0x2000)}.build());
  const LineSections sections{section.bytes, {}, {}};
  EXPECT_EQ(LineIndex(sections, [](std::uint64_t) { return true; }).size(), 1u);
  expect_sample(sections, 0x2000, "");
}

TEST(DwarfLine, opcodes_of_a_later_standard_are_skipped_by_their_length) {
  Writer program;
  program.append(set_address(0x1000)).u8(13).uleb(500).uleb(1);  // opcode 13 with two operands
  program.u8(14);                                                // opcode 14 with none
  program.append(copy()).append(advance_pc(4)).append(end_sequence());
  const Writer section = Unit{4, false, 15, kLineRange, tables_2_to_4(), program}.build();
  EXPECT_EQ(find_text({section.bytes, {}, {}}, 0x1000), "main.cc:1");
}

TEST(DwarfLine, opcodes_beyond_a_small_base_are_special) {
  Writer program;
  program.append(set_address(0x1000)).append(copy());
  program.u8(static_cast<unsigned>(3 - kLineBase) + kLineRange * 2 +
             4);  // special, with base 4: address + 2, line + 3
  program.append(advance_pc(4)).append(end_sequence());
  const Writer section = Unit{4, false, 4, kLineRange, tables_2_to_4(), program}.build();
  EXPECT_EQ(find_text({section.bytes, {}, {}}, 0x1001), "main.cc:1");
  EXPECT_EQ(find_text({section.bytes, {}, {}}, 0x1002), "main.cc:4");
}

TEST(DwarfLine, const_add_pc_advances_like_opcode_255) {
  Writer program;
  program.append(set_address(0x1000)).append(copy()).u8(8);
  program.append(advance_line(1)).append(copy()).append(advance_pc(1)).append(end_sequence());
  const Writer section = Unit{4, false, kOpcodeBase, kLineRange, tables_2_to_4(), program}.build();
  const unsigned step = (255 - kOpcodeBase) / kLineRange;
  EXPECT_EQ(find_text({section.bytes, {}, {}}, 0x1000 + step - 1), "main.cc:1");
  EXPECT_EQ(find_text({section.bytes, {}, {}}, 0x1000 + step), "main.cc:2");
}

TEST(DwarfLine, line_zero_gives_the_line_before_it) {
  Writer program;
  program.append(set_address(0x1000)).append(advance_line(6)).append(copy());
  program.append(advance_pc(4)).append(advance_line(-7)).append(copy());
  program.append(advance_pc(4)).append(end_sequence());
  const Writer section = Unit{4, false, kOpcodeBase, kLineRange, tables_2_to_4(), program}.build();
  EXPECT_EQ(find_text({section.bytes, {}, {}}, 0x1006), "main.cc:7");
}

TEST(DwarfLine, last_of_several_rows_at_one_address_counts) {
  Writer program;
  program.append(set_address(0x1000)).append(copy()).append(advance_line(4)).append(copy());
  program.append(advance_pc(4)).append(end_sequence());
  const Writer section = Unit{4, false, kOpcodeBase, kLineRange, tables_2_to_4(), program}.build();
  EXPECT_EQ(find_text({section.bytes, {}, {}}, 0x1000), "main.cc:5");
}

TEST(DwarfLine, sequences_of_dropped_functions_do_not_count) {
  Writer program = sample_program(0);  // linkers put dropped code at 0
  program.append(sample_program(0x40));
  const Writer section = Unit{4, false, kOpcodeBase, kLineRange, tables_2_to_4(), program}.build();
  const LineSections sections{section.bytes, {}, {}};
  EXPECT_EQ(LineIndex(sections, [](std::uint64_t) { return true; }).size(), 1u);
  EXPECT_EQ(LineIndex(sections, [](std::uint64_t low) { return low != 0x40; }).size(), 0u);
  EXPECT_EQ(find_text(sections, 0x40), "main.cc:10");
}

TEST(DwarfLine, files_and_strings_out_of_range_have_no_name) {
  Writer program;
  program.append(set_address(0x1000))
      .append(set_file(99))
      .append(copy())
      .append(advance_pc(4))
      .append(end_sequence());
  for (const unsigned version : {4u, 5u}) {
    const Writer section =
        Unit{version, false, kOpcodeBase, kLineRange, version == 4 ? tables_2_to_4() : tables_5(0x1f),
             program}
            .build();
    EXPECT_EQ(find_text({section.bytes, {}, {}}, 0x1000), ":1");
  }
  const Writer section =
      Unit{5, false, kOpcodeBase, kLineRange, tables_5(0x1f), sample_program(0x1000)}.build();
  EXPECT_EQ(find_text({section.bytes, bytes_of(kStrings5).first(10), {}}, 0x1000), "/src:10")
      << "a cut string section";
}

TEST(DwarfLine, huge_counts_of_empty_entries_end) {
  Writer tables;
  tables.u8(0).uleb(~std::uint64_t{0}).u8(0).uleb(~std::uint64_t{0});
  const Writer section = Unit{5, false, kOpcodeBase, kLineRange, tables, sample_program(0x1000)}.build();
  EXPECT_EQ(find_text({section.bytes, {}, {}}, 0x1000), ":10");
}

TEST(DwarfLine, huge_counts_of_entries_without_bytes_end) {
  constexpr unsigned kFlagPresent = 0x19;
  Writer tables;
  for (int i = 0; i < 2; ++i) tables.u8(1).uleb(1).uleb(kFlagPresent).uleb(~std::uint64_t{0});
  const Writer section = Unit{5, false, kOpcodeBase, kLineRange, tables, sample_program(0x1000)}.build();
  EXPECT_EQ(find_text({section.bytes, {}, {}}, 0x1000), ":10");
}

TEST(DwarfLine, relative_and_absolute_parts_are_joined) {
  EXPECT_EQ((SourcePath{{"/c", "d", "f"}}.to_string()), "/c/d/f");
  EXPECT_EQ((SourcePath{{"/c", "/d", "f"}}.to_string()), "/d/f");
  EXPECT_EQ((SourcePath{{"/c", "/d/", "f"}}.to_string()), "/d/f");
  EXPECT_EQ((SourcePath{{"/c", "/d", "/f"}}.to_string()), "/f");
  EXPECT_EQ((SourcePath{{"", "", "f"}}.to_string()), "f");
  EXPECT_EQ((SourcePath{}.to_string()), "");
}

// Everything that can be asked of a section, for its effect on the sanitizers.
std::size_t walk_all(const LineSections& sections) {
  std::size_t names = 0;
  LineScanner scanner(sections);
  for (LineSequence sequence; scanner.next(sequence);) {
    for (const std::uint64_t address :
         {sequence.low, sequence.low + (sequence.high - sequence.low) / 2, sequence.high - 1}) {
      if (const auto entry = find_line(sections, sequence, address))
        names += source_path(sections, entry->unit, entry->file).to_string().size();
    }
  }
  for (const std::size_t unit : {std::size_t{0}, sections.line.size() / 2, sections.line.size()})
    source_path(sections, unit, 1);
  return names;
}

std::vector<unsigned char> many_units() {
  Writer section;
  for (const unsigned version : {2u, 3u, 4u, 5u}) {
    for (const bool is_64bit : {false, true}) {
      const Writer tables = version < 5 ? tables_2_to_4() : tables_5(is_64bit ? 0x08 : 0x1f);
      section.append(
          Unit{version, is_64bit, kOpcodeBase, kLineRange, tables, sample_program(0x1000 * version)}.build());
    }
  }
  return section.bytes;
}

TEST(DwarfLine, every_truncation_is_survived) {
  const std::vector<unsigned char> bytes = many_units();
  EXPECT_GT(walk_all({bytes, bytes_of(kStrings5), {}}), 0u);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::vector<unsigned char> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    walk_all({cut, bytes_of(kStrings5), {}});
  }
}

TEST(DwarfLine, every_changed_byte_is_survived) {
  const std::vector<unsigned char> bytes = many_units();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<unsigned char> changed = bytes;
      changed[at] = static_cast<unsigned char>(value);
      walk_all({changed, bytes_of(kStrings5), {}});
    }
  }
}

TEST(DwarfLine, random_changes_and_random_bytes_are_survived) {
  std::mt19937 random(7);
  const std::vector<unsigned char> bytes = many_units();
  for (int round = 0; round < 3000; ++round) {
    std::vector<unsigned char> changed = bytes;
    for (unsigned i = 0; i < 1 + random() % 20; ++i)
      changed[random() % changed.size()] = static_cast<unsigned char>(random());
    walk_all({changed, bytes_of(kStrings5), bytes_of(kStrings5)});
    std::vector<unsigned char> noise(random() % 300);
    for (auto& byte : noise) byte = static_cast<unsigned char>(random());
    walk_all({noise, noise, noise});
  }
}

TEST(DwarfLine, own_line_table_is_read_and_survives_damage) {
  const ElfImage image = ElfImage::open("/proc/self/exe");
  ASSERT_TRUE(image.valid());
  const Bytes line = image.section(".debug_line");
  if (line.empty()) GTEST_SKIP() << "compiled without debug information";
  const Bytes line_str = image.section(".debug_line_str"), str = image.section(".debug_str");
  const Bytes part = line.first(std::min<std::size_t>(line.size(), 1'000'000));
  EXPECT_GT(walk_all({part, line_str, str}), 0u);
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    std::vector<unsigned char> changed(part.begin(), part.end());
    for (int i = 0; i < 50; ++i) changed[random() % changed.size()] = static_cast<unsigned char>(random());
    walk_all({changed, line_str, str});
  }
}

TEST(ByteCursor, numbers_are_read_and_the_end_is_final) {
  const std::vector<unsigned char> bytes{0xe5, 0x8e, 0x26, 0x9b, 0xf1, 0x59,
                                         0x7f, 0x80, 0x7f, 0x41, 0x00, 0x01};
  ByteCursor cursor(bytes);
  EXPECT_EQ(cursor.uleb(), 624485u);
  EXPECT_EQ(cursor.sleb(), -624485);
  EXPECT_EQ(cursor.sleb(), -1);
  EXPECT_EQ(cursor.sleb(), -128);
  EXPECT_EQ(cursor.text(), "A");
  EXPECT_EQ(cursor.remaining(), 1u);
  EXPECT_EQ(cursor.u16(), 0u) << "one byte is not two";
  EXPECT_FALSE(cursor.ok());
  EXPECT_EQ(cursor.remaining(), 0u);
  EXPECT_EQ(cursor.u8(), 0u);
  cursor.seek(0);
  EXPECT_FALSE(cursor.ok()) << "failed for good";
}

TEST(ByteCursor, overlong_and_unterminated_input_is_bounded) {
  std::vector<unsigned char> bytes(100, 0x80);
  ByteCursor endless(bytes);
  EXPECT_EQ(endless.uleb(), 0u);
  EXPECT_FALSE(endless.ok());
  bytes.assign(20, 0xff);
  bytes.push_back(0x01);
  ByteCursor overlong(bytes);
  EXPECT_EQ(overlong.uleb(), ~std::uint64_t{0});
  EXPECT_TRUE(overlong.ok());
  ByteCursor unterminated(bytes);
  EXPECT_EQ(unterminated.text(), "");
  EXPECT_FALSE(unterminated.ok());
  ByteCursor huge(bytes);
  EXPECT_TRUE(huge.take(~std::uint64_t{0}).empty());
  EXPECT_FALSE(huge.ok());
  ByteCursor empty(Bytes{});
  EXPECT_EQ(empty.u64(), 0u);
  EXPECT_EQ(empty.text(), "");
  EXPECT_FALSE(empty.ok());
}

}  // namespace
}  // namespace weft::os
