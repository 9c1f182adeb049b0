// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

#include "os/byte_cursor.h"

// How DWARF writes a value: by one of the forms of the standard's section 7.5.6, in .debug_info and .debug_line alike.
namespace weft::os {

enum Form : std::uint64_t {
  kAddr = 0x01,
  kBlock2 = 0x03,
  kBlock4 = 0x04,
  kData2 = 0x05,
  kData4 = 0x06,
  kData8 = 0x07,
  kString = 0x08,
  kBlock = 0x09,
  kBlock1 = 0x0a,
  kData1 = 0x0b,
  kFlag = 0x0c,
  kSdata = 0x0d,
  kStrp = 0x0e,
  kUdata = 0x0f,
  kRefAddr = 0x10,
  kRef1 = 0x11,
  kRef2 = 0x12,
  kRef4 = 0x13,
  kRef8 = 0x14,
  kRefUdata = 0x15,
  kIndirect = 0x16,
  kSecOffset = 0x17,
  kExprloc = 0x18,
  kFlagPresent = 0x19,
  kStrx = 0x1a,
  kAddrx = 0x1b,
  kRefSup4 = 0x1c,
  kStrpSup = 0x1d,
  kData16 = 0x1e,
  kLineStrp = 0x1f,
  kRefSig8 = 0x20,
  kImplicitConst = 0x21,
  kLoclistx = 0x22,
  kRnglistx = 0x23,
  kRefSup8 = 0x24,
  kStrx1 = 0x25,
  kStrx2 = 0x26,
  kStrx3 = 0x27,
  kStrx4 = 0x28,
  kAddrx1 = 0x29,
  kAddrx2 = 0x2a,
  kAddrx3 = 0x2b,
  kAddrx4 = 0x2c,
  kGnuRefAlt = 0x1f20,
  kGnuStrpAlt = 0x1f21,
};

// Bytes of the forms without a fixed size.
struct FormSizes {
  unsigned address = 8;
  unsigned offset = 4;  // 8 in the 64-bit format
};

struct FormValue {
  std::uint64_t number = 0;  // a constant, an address, an index, or an offset into another section
  std::uint64_t form = 0;    // 0: the value is no number
  std::string_view text;     // of kString
  explicit operator bool() const noexcept { return form != 0; }
};

inline std::uint64_t read_sized(ByteCursor& cursor, unsigned size) noexcept {
  return size == 8 ? cursor.u64() : cursor.u32();
}

// Reads the value at the cursor and leaves the cursor behind it; an unknown form makes the cursor fail. The caller
// reads kImplicitConst itself, because that value stands elsewhere.
FormValue read_form(ByteCursor& cursor, std::uint64_t form, const FormSizes& sizes) noexcept;

}  // namespace weft::os
