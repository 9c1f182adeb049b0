// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/byte_cursor.h"

// From code address to source line, by .debug_line (DWARF 2 to 5).
//   Job         a line for each frame of a dump, fast from the second lookup on, and in a crash without
//               allocating.
//   Shape       .debug_line is a list of units; a unit is a header with file names and a program for a
//               small machine; a run of the program gives sequences, each a contiguous, ascending range of
//               addresses. LineScanner finds all sequences; one of them is run again to find the row for an
//               address. So an index needs 32 bytes per sequence (about one per function or per object
//               file) instead of 16 for each of its rows, and none at all in a crash.
//   Robustness  the bytes are untrusted: all reading goes through ByteCursor, each step of each loop
//               consumes input, and a damaged unit is skipped. Compressed sections are not read (no line).
//   Rejected    libdw, libbacktrace: dependencies that allocate. An index of rows: many times larger.
namespace weft::os {

struct LineSections {
  Bytes line;      // .debug_line
  Bytes line_str;  // .debug_line_str: names of DWARF 5
  Bytes str;       // .debug_str
};

// One run of rows: addresses [low, high).
struct LineSequence {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::size_t unit = 0;     // offset of its unit in .debug_line
  std::size_t program = 0;  // offset of its first opcode
};

struct LineEntry {
  std::size_t unit = 0;
  std::uint64_t file = 0;  // number in the unit's table of files
  std::uint32_t line = 0;
};

// A file name in up to three parts to be joined by '/': compilation directory, directory, name. Points into
// the sections.
struct SourcePath {
  std::string_view parts[3];
  bool empty() const noexcept { return parts[2].empty(); }
  std::string to_string() const;
};

// What the header of a unit says that is needed to run its program.
struct LineUnit {
  std::size_t offset = 0;  // of the unit in .debug_line
  std::size_t tables = 0;  // of the directory and file tables
  std::size_t program = 0;
  std::size_t end = 0;
  std::uint16_t version = 0;
  bool is_64bit_format = false;
  std::uint8_t min_instruction_length = 1;
  std::int8_t line_base = 0;
  std::uint8_t line_range = 1;
  std::uint8_t opcode_base = 1;
  Bytes opcode_lengths;
};

// Walks all sequences of all units. Allocates nothing.
class LineScanner {
 public:
  explicit LineScanner(const LineSections& sections) noexcept : sections_(sections) {}
  // The next sequence that has addresses, or false at the end.
  bool next(LineSequence& out) noexcept;

 private:
  LineSections sections_;
  LineUnit unit_;
  std::size_t next_unit_ = 0;
  std::size_t position_ = 0;  // in the current unit's program
  bool in_unit_ = false;
};

// The row for an address within the sequence. Allocates nothing.
std::optional<LineEntry> find_line(const LineSections& sections, const LineSequence& sequence,
                                   std::uint64_t address) noexcept;

// Name of a file of a unit; empty if there is no such file. Allocates nothing.
SourcePath source_path(const LineSections& sections, std::size_t unit, std::uint64_t file) noexcept;

// All sequences, sorted by address.
class LineIndex {
 public:
  LineIndex() = default;
  // `is_code(address)` weeds out what the linker has left of functions that it dropped.
  template <class IsCode>
  LineIndex(const LineSections& sections, IsCode is_code) : sections_(sections) {
    LineScanner scanner(sections);
    for (LineSequence sequence; scanner.next(sequence);) {
      if (sequence.low != 0 && is_code(sequence.low)) sequences_.push_back(sequence);
    }
    sort();
  }

  std::optional<LineEntry> find(std::uint64_t address) const noexcept;
  SourcePath path(const LineEntry& entry) const noexcept {
    return source_path(sections_, entry.unit, entry.file);
  }
  const LineSections& sections() const noexcept { return sections_; }
  std::size_t size() const noexcept { return sequences_.size(); }

 private:
  void sort();

  LineSections sections_;
  std::vector<LineSequence> sequences_;
};

}  // namespace weft::os
