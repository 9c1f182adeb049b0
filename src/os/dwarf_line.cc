// SPDX-License-Identifier: MIT
#include "os/dwarf_line.h"

#include <algorithm>

#include "os/dwarf_form.h"

namespace weft::os {
namespace {

// Names and numbers of the DWARF standard, section 6.2.
enum Standard : std::uint8_t {
  kCopy = 1,
  kAdvancePc,
  kAdvanceLine,
  kSetFile,
  kSetColumn,
  kNegateStatement,
  kSetBasicBlock,
  kConstAddPc,
  kFixedAdvancePc,
  kSetPrologueEnd,
  kSetEpilogueBegin,
  kSetIsa,
};
enum Extended : std::uint8_t { kEndSequence = 1, kSetAddress = 2 };
enum Content : std::uint64_t { kPath = 1, kDirectoryIndex = 2 };

struct UnitExtent {
  bool is_64bit = false;
  std::size_t end = 0;
};

// Reads a unit's length; false if the section ends before the unit does.
bool read_extent(ByteCursor& cursor, UnitExtent& out) noexcept {
  std::uint64_t length = cursor.u32();
  out.is_64bit = length == 0xffffffff;
  if (out.is_64bit) length = cursor.u64();
  if (!cursor.ok() || length > cursor.remaining()) return false;
  out.end = cursor.offset() + static_cast<std::size_t>(length);
  return true;
}

// The header of the unit at `offset`. False: nothing usable in it; `next` is then still set if a further unit
// can follow.
bool read_unit(Bytes section, std::size_t offset, LineUnit& unit, std::size_t& next) noexcept {
  next = section.size();
  ByteCursor whole(section);
  whole.seek(offset);
  UnitExtent extent;
  if (!read_extent(whole, extent)) return false;
  next = extent.end;
  ByteCursor cursor(section.first(extent.end));
  cursor.seek(whole.offset());
  unit = {};
  unit.offset = offset;
  unit.end = extent.end;
  unit.is_64bit_format = extent.is_64bit;
  unit.version = cursor.u16();
  if (unit.version < 2 || unit.version > 5) return false;
  if (unit.version >= 5) cursor.skip(2);  // sizes of address and segment selector
  const std::uint64_t header_length = extent.is_64bit ? cursor.u64() : cursor.u32();
  if (header_length > cursor.remaining()) return false;
  unit.program = cursor.offset() + static_cast<std::size_t>(header_length);
  unit.min_instruction_length = cursor.u8();
  const std::uint8_t operations = unit.version >= 4 ? cursor.u8() : 1;
  cursor.skip(1);  // whether rows start as statements
  unit.line_base = static_cast<std::int8_t>(cursor.u8());
  unit.line_range = cursor.u8();
  unit.opcode_base = cursor.u8();
  if (unit.opcode_base == 0 || unit.line_range == 0 || operations > 1) return false;  // more than 1: VLIW machines
  unit.opcode_lengths = cursor.take(unit.opcode_base - 1u);
  unit.tables = cursor.offset();
  return cursor.ok() && unit.tables <= unit.program;
}

struct Row {
  std::uint64_t address = 0;
  std::uint64_t file = 1;
  std::uint64_t line = 1;
};

enum class Step { kNothing, kRow, kEndOfSequence, kEndOfProgram };

// The machine that a line program runs on.
class LineMachine {
 public:
  LineMachine(Bytes section, const LineUnit& unit, std::size_t start) noexcept
      : unit_(unit),
        cursor_(section.first(unit.end)),
        const_add_(static_cast<std::uint64_t>((255 - unit.opcode_base) / unit.line_range) *
                   unit.min_instruction_length) {
    cursor_.seek(start);
  }

  const Row& row() const noexcept { return row_; }
  std::size_t position() const noexcept { return cursor_.offset(); }

  // Runs until a row is complete, the sequence ends (its last row's address is the first after it), or
  // nothing is left.
  Step run() noexcept {
    for (;;) {
      if (cursor_.remaining() == 0) return Step::kEndOfProgram;
      const Step step = execute(cursor_.u8());
      if (!cursor_.ok()) return Step::kEndOfProgram;
      if (step != Step::kNothing) return step;
    }
  }

 private:
  Step execute(std::uint8_t opcode) noexcept {
    if (opcode >= unit_.opcode_base) {
      const unsigned adjusted = opcode - unit_.opcode_base;
      row_.address += static_cast<std::uint64_t>(adjusted / unit_.line_range) * unit_.min_instruction_length;
      row_.line += static_cast<std::uint64_t>(static_cast<std::int64_t>(unit_.line_base) + adjusted % unit_.line_range);
      return Step::kRow;
    }
    switch (opcode) {
      case 0:                 return execute_extended();
      case kCopy:             return Step::kRow;
      case kAdvancePc:        row_.address += cursor_.uleb() * unit_.min_instruction_length; break;
      case kAdvanceLine:      row_.line += static_cast<std::uint64_t>(cursor_.sleb()); break;
      case kSetFile:          row_.file = cursor_.uleb(); break;
      case kSetColumn:
      case kSetIsa:           cursor_.uleb(); break;
      case kNegateStatement:
      case kSetBasicBlock:
      case kSetPrologueEnd:
      case kSetEpilogueBegin: break;
      case kConstAddPc:       row_.address += const_add_; break;
      case kFixedAdvancePc:   row_.address += cursor_.u16(); break;
      default:
        for (std::uint8_t operands = unit_.opcode_lengths[opcode - 1u]; operands != 0; --operands) cursor_.uleb();
        break;
    }
    return Step::kNothing;
  }

  Step execute_extended() noexcept {
    const std::uint64_t length = cursor_.uleb();
    ByteCursor operand(cursor_.take(length));
    switch (operand.u8()) {
      case kEndSequence: return Step::kEndOfSequence;
      case kSetAddress:
        if (operand.remaining() == 8) {
          row_.address = operand.u64();
        } else if (operand.remaining() == 4) {
          row_.address = operand.u32();
        }
        break;
      default: break;  // discriminators, and what vendors add
    }
    return Step::kNothing;
  }

  const LineUnit& unit_;
  ByteCursor cursor_;
  std::uint64_t const_add_;
  Row row_;
};

std::string_view string_at(Bytes strings, std::uint64_t offset) noexcept {
  if (offset >= strings.size()) return {};
  return ByteCursor(strings.subspan(static_cast<std::size_t>(offset))).text();
}

struct FileEntry {
  std::string_view path;
  std::uint64_t directory = 0;
};

// The two tables of DWARF 5: each describes its own entries.
class EntryTable {
 public:
  // Leaves the cursor at the first entry.
  EntryTable(const LineSections& sections, const LineUnit& unit, ByteCursor& cursor) noexcept
      : sections_(sections), sizes_{8, unit.is_64bit_format ? 8u : 4u}, cursor_(cursor) {
    const std::uint8_t columns = cursor.u8();
    const std::size_t start = cursor.offset();
    for (unsigned i = 0; i < columns; ++i) {
      cursor.uleb();
      cursor.uleb();
    }
    columns_ = columns;
    formats_start_ = start;
    count_ = cursor.uleb();
    if (columns == 0) count_ = 0;  // entries without contents: a huge count of them would never end
  }

  std::uint64_t count() const noexcept { return count_; }

  // The next entry; `formats` is a cursor over the same bytes.
  FileEntry read(ByteCursor formats) noexcept {
    FileEntry entry;
    formats.seek(formats_start_);
    for (unsigned i = 0; i < columns_ && cursor_.ok(); ++i) {
      const std::uint64_t content = formats.uleb(), form = formats.uleb();
      if (form == kFlagPresent) cursor_.fail();  // has no bytes: again a huge count would never end
      const FormValue value = read_form(cursor_, form, sizes_);
      if (content == kPath) entry.path = text_of(value);
      if (content == kDirectoryIndex) entry.directory = value.number;
    }
    return entry;
  }

 private:
  // Names given by index stay empty, because they need .debug_info.
  std::string_view text_of(const FormValue& value) const noexcept {
    switch (value.form) {
      case kLineStrp: return string_at(sections_.line_str, value.number);
      case kStrp:     return string_at(sections_.str, value.number);
      default:        return value.text;
    }
  }

  const LineSections& sections_;
  FormSizes sizes_;
  ByteCursor& cursor_;
  unsigned columns_ = 0;
  std::size_t formats_start_ = 0;
  std::uint64_t count_ = 0;
};

// Entry `wanted` of the table at the cursor, which is left behind the table.
FileEntry pick_entry(const LineSections& sections, const LineUnit& unit, ByteCursor& cursor,
                     std::uint64_t wanted) noexcept {
  FileEntry picked;
  EntryTable table(sections, unit, cursor);
  for (std::uint64_t i = 0; i < table.count() && cursor.ok(); ++i) {
    const FileEntry entry = table.read(cursor);
    if (i == wanted && cursor.ok()) picked = entry;
  }
  return picked;
}

SourcePath path_version_5(const LineSections& sections, const LineUnit& unit, std::uint64_t file) noexcept {
  ByteCursor cursor(sections.line.first(unit.program));
  cursor.seek(unit.tables);
  pick_entry(sections, unit, cursor, 0);
  const FileEntry entry = pick_entry(sections, unit, cursor, file);
  SourcePath path;
  path.parts[2] = entry.path;
  cursor = ByteCursor(sections.line.first(unit.program));
  cursor.seek(unit.tables);
  path.parts[1] = pick_entry(sections, unit, cursor, entry.directory).path;
  if (entry.directory != 0) {
    cursor = ByteCursor(sections.line.first(unit.program));
    cursor.seek(unit.tables);
    path.parts[0] = pick_entry(sections, unit, cursor, 0).path;  // where the compiler ran
  }
  return path;
}

SourcePath path_version_2_to_4(const LineSections& sections, const LineUnit& unit, std::uint64_t file) noexcept {
  ByteCursor cursor(sections.line.first(unit.program));
  cursor.seek(unit.tables);
  while (!cursor.text().empty()) {  // directories; ends at the empty one, or failed
  }
  SourcePath path;
  for (std::uint64_t i = 1; cursor.ok(); ++i) {
    const std::string_view name = cursor.text();
    if (name.empty()) break;
    std::uint64_t directory = cursor.uleb();
    cursor.uleb();  // time
    cursor.uleb();  // size
    if (i != file || !cursor.ok()) continue;
    path.parts[2] = name;
    cursor.seek(unit.tables);
    for (; directory > 1 && !cursor.text().empty(); --directory) {
    }
    if (directory == 1) path.parts[1] = cursor.text();
    break;
  }
  return path;
}

}  // namespace

std::string SourcePath::to_string() const {
  std::string joined;
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    if (part.front() == '/') joined.clear();  // an absolute part needs nothing before it
    if (!joined.empty() && joined.back() != '/') joined += '/';
    joined += part;
  }
  return joined;
}

bool LineScanner::next(LineSequence& out) noexcept {
  for (;;) {
    if (!in_unit_) {
      if (next_unit_ >= sections_.line.size()) return false;
      in_unit_ = read_unit(sections_.line, next_unit_, unit_, next_unit_);
      if (!in_unit_) continue;
      position_ = unit_.program;
    }
    LineMachine machine(sections_.line, unit_, position_);
    out = {};
    out.unit = unit_.offset;
    out.program = position_;
    bool has_rows = false;
    Step step = machine.run();
    for (; step == Step::kRow; step = machine.run()) {
      const std::uint64_t address = machine.row().address;
      if (!has_rows || address < out.low) out.low = address;
      has_rows = true;
    }
    if (step == Step::kEndOfProgram) {
      in_unit_ = false;
      continue;
    }
    position_ = machine.position();
    out.high = machine.row().address;
    if (has_rows && out.high > out.low) return true;
  }
}

std::optional<LineEntry> find_line(const LineSections& sections, const LineSequence& sequence,
                                   std::uint64_t address) noexcept {
  LineUnit unit;
  std::size_t next = 0;
  if (!read_unit(sections.line, sequence.unit, unit, next) || sequence.program < unit.program ||
      sequence.program > unit.end) {
    return std::nullopt;
  }
  LineMachine machine(sections.line, unit, sequence.program);
  std::optional<Row> before;  // the last row at or before the address
  for (;;) {
    const Step step = machine.run();
    if (step == Step::kEndOfProgram) return std::nullopt;
    const Row& row = machine.row();
    if (row.address > address && before) break;
    if (step == Step::kEndOfSequence) return std::nullopt;
    // Line 0 says "no particular line": the one before is the better answer.
    if (row.address <= address && (row.line != 0 || !before)) before = row;
  }
  if (before->line == 0) return std::nullopt;
  return LineEntry{sequence.unit, before->file, static_cast<std::uint32_t>(before->line)};
}

SourcePath source_path(const LineSections& sections, std::size_t unit_offset, std::uint64_t file) noexcept {
  LineUnit unit;
  std::size_t next = 0;
  if (!read_unit(sections.line, unit_offset, unit, next)) return {};
  return unit.version >= 5 ? path_version_5(sections, unit, file) : path_version_2_to_4(sections, unit, file);
}

void LineIndex::sort() {
  sequences_.shrink_to_fit();
  std::sort(sequences_.begin(), sequences_.end(),
            [](const LineSequence& a, const LineSequence& b) { return a.low < b.low; });
}

std::optional<LineEntry> LineIndex::find(std::uint64_t address) const noexcept {
  const auto after =
      std::upper_bound(sequences_.begin(), sequences_.end(), address,
                       [](std::uint64_t value, const LineSequence& sequence) { return value < sequence.low; });
  // Sequences overlap only where a linker folded or dropped code: looking a little further back is enough.
  constexpr int kLookBack = 8;
  auto candidate = after;
  for (int i = 0; i < kLookBack && candidate != sequences_.begin(); ++i) {
    --candidate;
    if (address >= candidate->high) continue;
    if (const auto entry = find_line(sections_, *candidate, address)) return entry;
  }
  return std::nullopt;
}

}  // namespace weft::os
