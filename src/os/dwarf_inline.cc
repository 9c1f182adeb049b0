// SPDX-License-Identifier: MIT
#include "os/dwarf_inline.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "os/dwarf_form.h"

namespace weft::os {
namespace {

// Names and numbers of the DWARF standard, section 7.5.
enum Tag : std::uint64_t { kCompileUnit = 0x11, kInlinedSubroutine = 0x1d, kSubprogram = 0x2e, kPartialUnit = 0x3c };
enum Attribute : std::uint64_t {
  kStatementList = 0x10,
  kLowPc = 0x11,
  kHighPc = 0x12,
  kRanges = 0x55,
  kCallFile = 0x58,
  kCallLine = 0x59,
  kAddrBase = 0x73,
  kRnglistsBase = 0x74,
};
enum RangeEntry : std::uint8_t {
  kEndOfList,
  kBaseAddressx,
  kStartxEndx,
  kStartxLength,
  kOffsetPair,
  kBaseAddress,
  kStartEnd,
  kStartLength,
};

constexpr std::size_t kMaxDepth = 256;  // deeper trees are damaged, or of no interest

struct Unit {
  std::size_t entries = 0, end = 0;  // in .debug_info
  std::uint64_t abbrev = 0;
  std::uint16_t version = 0;
  bool is_64bit = false;
  std::uint8_t address_size = 8;
  // From its first entry.
  std::uint64_t low_pc = 0;
  std::uint64_t line_unit = 0;
  std::uint64_t addr_base = 0, rnglists_base = 0;
};

// What an entry says that matters here.
struct Entry {
  std::uint64_t tag = 0;
  bool has_children = false;
  FormValue low_pc, high_pc, ranges, call_file, call_line, statement_list, addr_base, rnglists_base;
};

class InlineFinder {
 public:
  InlineFinder(const InlineSections& sections, std::uint64_t address) noexcept
      : sections_(sections), address_(address) {}

  std::size_t find(std::span<LineEntry> out) noexcept {
    for (std::size_t offset = 0; offset < sections_.info.size();) {
      const bool usable = read_unit(offset, offset);
      if (!usable) continue;
      ByteCursor cursor(sections_.info.first(unit_.end));
      cursor.seek(unit_.entries);
      forget_abbreviations();
      Entry root;
      if (!read_entry(cursor, root) || (root.tag != kCompileUnit && root.tag != kPartialUnit)) continue;
      adopt(root);
      if (contains(root)) return walk(cursor, out);
    }
    return 0;
  }

 private:
  // The header at `offset`; `next` is where the unit after it begins. False: nothing to be found in it.
  bool read_unit(std::size_t offset, std::size_t& next) noexcept {
    ByteCursor cursor(sections_.info);
    cursor.seek(offset);
    next = sections_.info.size();
    unit_ = {};
    std::uint64_t length = cursor.u32();
    unit_.is_64bit = length == 0xffffffff;
    if (unit_.is_64bit) length = cursor.u64();
    if (!cursor.ok() || length == 0 || length > cursor.remaining()) return false;
    unit_.end = next = cursor.offset() + static_cast<std::size_t>(length);
    unit_.version = cursor.u16();
    if (unit_.version < 3 || unit_.version > 5) return false;
    constexpr std::uint8_t kCompile = 1, kPartial = 3;
    const std::uint8_t kind = unit_.version >= 5 ? cursor.u8() : kCompile;
    if (unit_.version >= 5) unit_.address_size = cursor.u8();
    unit_.abbrev = unit_.is_64bit ? cursor.u64() : cursor.u32();
    if (unit_.version < 5) unit_.address_size = cursor.u8();
    unit_.entries = cursor.offset();
    return cursor.ok() && unit_.entries <= unit_.end && (kind == kCompile || kind == kPartial) &&
           (unit_.address_size == 4 || unit_.address_size == 8);
  }

  void adopt(const Entry& root) noexcept {
    unit_.line_unit = root.statement_list.number;
    unit_.addr_base = root.addr_base.number;
    unit_.rnglists_base = root.rnglists_base.number;
    if (root.low_pc) unit_.low_pc = address_of(root.low_pc).value_or(0);
  }

  // Entries.

  // Reads the entries behind the unit's first one. Collects the inlined calls around the address in the function that
  // holds it, outermost first, and returns them innermost first.
  std::size_t walk(ByteCursor& cursor, std::span<LineEntry> out) noexcept {
    std::size_t found = 0;
    std::size_t depth = 1;
    std::size_t inside = 0;  // depth of the function around the address; 0: not met yet
    while (cursor.ok() && cursor.remaining() > 0 && depth > 0 && depth < kMaxDepth) {
      Entry entry;
      if (!read_entry(cursor, entry)) {  // the end of a list of children
        if (!cursor.ok() || --depth <= inside) break;
        continue;
      }
      const bool is_function = entry.tag == kSubprogram, is_call = entry.tag == kInlinedSubroutine;
      if ((is_function || is_call) && contains(entry)) {
        if (is_function) {  // one inside another: the inner one has the code
          inside = entry.has_children ? depth : 0;
          found = 0;
          if (!entry.has_children) break;
        } else if (inside != 0 && found < out.size()) {
          out[found++] = {static_cast<std::size_t>(unit_.line_unit), entry.call_file.number,
                          static_cast<std::uint32_t>(entry.call_line.number)};
        }
      }
      if (entry.has_children) ++depth;
    }
    std::reverse(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(found));
    return found;
  }

  // False: the null entry that ends a list of children, or nothing more.
  bool read_entry(ByteCursor& cursor, Entry& out) noexcept {
    const std::uint64_t code = cursor.uleb();
    if (code == 0 || !cursor.ok()) return false;
    ByteCursor abbrev(sections_.abbrev);
    if (!seek_abbreviation(abbrev, code)) {
      cursor.fail();
      return false;
    }
    out = {};
    out.tag = abbrev.uleb();
    out.has_children = abbrev.u8() != 0;
    for (;;) {
      const std::uint64_t name = abbrev.uleb(), form = abbrev.uleb();
      if (!abbrev.ok() || (name == 0 && form == 0)) break;
      const FormValue value = read_value(cursor, abbrev, form);
      switch (name) {
        case kLowPc:         out.low_pc = value; break;
        case kHighPc:        out.high_pc = value; break;
        case kRanges:        out.ranges = value; break;
        case kCallFile:      out.call_file = value; break;
        case kCallLine:      out.call_line = value; break;
        case kStatementList: out.statement_list = value; break;
        case kAddrBase:      out.addr_base = value; break;
        case kRnglistsBase:  out.rnglists_base = value; break;
        default:             break;
      }
    }
    return cursor.ok() && abbrev.ok();
  }

  FormValue read_value(ByteCursor& cursor, ByteCursor& abbrev, std::uint64_t form) noexcept {
    if (form == kImplicitConst) return {static_cast<std::uint64_t>(abbrev.sleb()), form, {}};
    return read_form(cursor, form, {unit_.address_size, unit_.is_64bit ? 8u : 4u});
  }

  // Abbreviations. All compilers number them from 1, so the places of the first ones are kept by number.

  void forget_abbreviations() noexcept {
    known_ = 0;
    next_ = unit_.abbrev;
  }

  // Leaves the cursor behind the code.
  bool seek_abbreviation(ByteCursor& cursor, std::uint64_t code) noexcept {
    if (code - 1 < known_) {
      cursor.seek(places_[code - 1]);
      return cursor.ok();
    }
    cursor.seek(static_cast<std::size_t>(std::min<std::uint64_t>(next_, sections_.abbrev.size())));
    bool in_order = true;
    while (cursor.ok()) {
      const std::uint64_t here = cursor.uleb();
      if (here == 0) return false;  // the end of the unit's abbreviations
      const std::size_t place = cursor.offset();
      const bool wanted = here == code;
      skip_abbreviation(cursor);
      if (!cursor.ok()) return false;
      in_order = in_order && here == known_ + 1 && known_ < kPlaces && place <= UINT32_MAX;
      if (in_order) {
        places_[known_++] = static_cast<std::uint32_t>(place);
        next_ = cursor.offset();
      }
      if (wanted) {
        cursor.seek(place);
        return true;
      }
    }
    return false;
  }

  static void skip_abbreviation(ByteCursor& cursor) noexcept {
    cursor.uleb();  // tag
    cursor.u8();    // children
    for (;;) {
      const std::uint64_t name = cursor.uleb(), form = cursor.uleb();
      if (form == kImplicitConst) cursor.sleb();
      if (!cursor.ok() || (name == 0 && form == 0)) return;
    }
  }

  // Addresses.

  bool contains(const Entry& entry) noexcept {
    if (entry.ranges) return in_ranges(entry.ranges);
    if (!entry.low_pc || !entry.high_pc) return false;
    const std::optional<std::uint64_t> low = address_of(entry.low_pc);
    if (!low || *low == 0) return false;
    const std::optional<std::uint64_t> high =
        is_address(entry.high_pc.form) ? address_of(entry.high_pc) : *low + entry.high_pc.number;
    return high && address_ >= *low && address_ < *high;
  }

  static bool is_address(std::uint64_t form) noexcept {
    return form == kAddr || form == kAddrx || (form >= kAddrx1 && form <= kAddrx4);
  }

  std::optional<std::uint64_t> address_of(const FormValue& value) const noexcept {
    return value.form == kAddr ? value.number : indexed_address(value.number);
  }

  std::optional<std::uint64_t> indexed_address(std::uint64_t index) const noexcept {
    if (index > sections_.addr.size() || unit_.addr_base > sections_.addr.size()) return std::nullopt;
    ByteCursor cursor(sections_.addr);
    cursor.seek(static_cast<std::size_t>(unit_.addr_base + index * unit_.address_size));
    const std::uint64_t address = read_sized(cursor, unit_.address_size);
    return cursor.ok() ? std::optional(address) : std::nullopt;
  }

  bool in_ranges(const FormValue& list) const noexcept {
    if (unit_.version < 5) return in_old_ranges(list.number);
    std::uint64_t offset = list.number;
    if (list.form == kRnglistx) {
      const unsigned size = unit_.is_64bit ? 8 : 4;
      if (offset > sections_.rnglists.size() || unit_.rnglists_base > sections_.rnglists.size()) return false;
      ByteCursor table(sections_.rnglists);
      table.seek(static_cast<std::size_t>(unit_.rnglists_base + offset * size));
      offset = unit_.rnglists_base + read_sized(table, size);
      if (!table.ok()) return false;
    }
    if (offset > sections_.rnglists.size()) return false;
    ByteCursor cursor(sections_.rnglists);
    cursor.seek(static_cast<std::size_t>(offset));
    return in_range_list(cursor);
  }

  bool in_range_list(ByteCursor& cursor) const noexcept {
    std::uint64_t base = unit_.low_pc;
    while (cursor.ok()) {
      std::optional<std::uint64_t> low = 0, high = 0;
      switch (cursor.u8()) {
        case kEndOfList:    return false;
        case kBaseAddressx: base = indexed_address(cursor.uleb()).value_or(0); continue;
        case kBaseAddress:  base = read_sized(cursor, unit_.address_size); continue;
        case kStartxEndx:
          low = indexed_address(cursor.uleb());
          high = indexed_address(cursor.uleb());
          break;
        case kStartxLength:
          low = indexed_address(cursor.uleb());
          high = low.value_or(0) + cursor.uleb();
          break;
        case kOffsetPair:
          low = base + cursor.uleb();
          high = base + cursor.uleb();
          break;
        case kStartEnd:
          low = read_sized(cursor, unit_.address_size);
          high = read_sized(cursor, unit_.address_size);
          break;
        case kStartLength:
          low = read_sized(cursor, unit_.address_size);
          high = *low + cursor.uleb();
          break;
        default: return false;
      }
      if (cursor.ok() && low && high && *low != 0 && address_ >= *low && address_ < *high) return true;
    }
    return false;
  }

  bool in_old_ranges(std::uint64_t offset) const noexcept {
    if (offset > sections_.ranges.size()) return false;
    ByteCursor cursor(sections_.ranges);
    cursor.seek(static_cast<std::size_t>(offset));
    const std::uint64_t select = unit_.address_size == 8 ? ~std::uint64_t{0} : 0xffffffff;
    std::uint64_t base = unit_.low_pc;
    while (cursor.ok()) {
      const std::uint64_t low = read_sized(cursor, unit_.address_size);
      const std::uint64_t high = read_sized(cursor, unit_.address_size);
      if (low == 0 && high == 0) break;
      if (low == select) {
        base = high;
      } else if (cursor.ok() && base + low != 0 && address_ >= base + low && address_ < base + high) {
        return true;
      }
    }
    return false;
  }

  static constexpr std::size_t kPlaces = 512;

  const InlineSections& sections_;
  const std::uint64_t address_;
  Unit unit_;
  std::uint32_t places_[kPlaces];  // of abbreviation n + 1, behind its code
  std::size_t known_ = 0;
  std::uint64_t next_ = 0;  // offset of the first abbreviation whose place is not kept
};

// Whether the path goes through that directory, however it is cut into parts.
bool lies_in(const SourcePath& path, std::string_view directory) noexcept {
  std::size_t matched = 0;
  for (const std::string_view part : path.parts) {
    if (part.empty()) continue;
    if (part.front() == '/') matched = 0;
    for (const char c : part) {
      matched = c == directory[matched] ? matched + 1 : c == directory[0] ? 1 : 0;
      if (matched == directory.size()) return true;
    }
    if (part.back() != '/' && matched > 0) {  // the separator
      matched = directory[matched] == '/' ? matched + 1 : 0;
      if (matched == directory.size()) return true;
    }
  }
  return false;
}

// ".../include/weft/go.h", ".../include/weft/detail/launch.h".
bool is_own_header(const SourcePath& path) noexcept { return lies_in(path, "include/weft/"); }
// ".../include/c++/12/bits/std_mutex.h": where weft is called by std::lock_guard and the like.
bool is_library_header(const SourcePath& path) noexcept { return is_own_header(path) || lies_in(path, "include/c++/"); }

}  // namespace

std::size_t find_inlined_calls(const InlineSections& sections, std::uint64_t address,
                               std::span<LineEntry> out) noexcept {
  return InlineFinder(sections, address).find(out);
}

LineEntry leave_own_headers(const InlineSections& sections, const LineSections& lines, std::uint64_t address,
                            const LineEntry& line) noexcept {
  if (!is_own_header(source_path(lines, line.unit, line.file))) return line;
  LineEntry calls[32];
  const std::size_t count = find_inlined_calls(sections, address, calls);
  for (std::size_t i = 0; i < count; ++i) {
    const SourcePath path = source_path(lines, calls[i].unit, calls[i].file);
    if (calls[i].line != 0 && !path.empty() && !is_library_header(path)) return calls[i];
  }
  return line;
}

}  // namespace weft::os
