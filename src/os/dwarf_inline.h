// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "os/byte_cursor.h"
#include "os/dwarf_line.h"

// From inlined code to the calls that brought it there, by .debug_info (DWARF 3 to 5).
//   Job         show the user's line for a goroutine's start, a send or a lock: not the line in weft's header whose
//               body was inlined there, nor that of a std::lock_guard in between. .debug_line knows only the innermost
//               line.
//   How         the unit whose ranges hold the address is walked entry by entry. Nothing can be left out, because a
//               lambda's body may stand inside a function that is elsewhere. A large unit takes some milliseconds, so
//               only lines in weft's headers are looked up here.
//   Robustness  as dwarf_line.h: untrusted bytes, every step consumes input, nothing is allocated. Compressed or split
//               debug information gives no answer.
namespace weft::os {

struct InlineSections {
  Bytes info;      // .debug_info
  Bytes abbrev;    // .debug_abbrev
  Bytes ranges;    // .debug_ranges: DWARF 3, 4
  Bytes rnglists;  // .debug_rnglists: DWARF 5
  Bytes addr;      // .debug_addr: DWARF 5
};

// Where the inlined functions around the address were called, the innermost call first. Returns how many were written.
std::size_t find_inlined_calls(const InlineSections& sections, std::uint64_t address,
                               std::span<LineEntry> out) noexcept;

// `line`; but if that is in one of weft's public headers, the innermost call around it that is neither there nor in a
// header of the standard library.
LineEntry leave_own_headers(const InlineSections& sections, const LineSections& lines, std::uint64_t address,
                            const LineEntry& line) noexcept;

// `Image` is any class with section(name).
template <class Image>
InlineSections inline_sections(const Image& image) noexcept {
  return {image.section(".debug_info"), image.section(".debug_abbrev"), image.section(".debug_ranges"),
          image.section(".debug_rnglists"), image.section(".debug_addr")};
}

}  // namespace weft::os
