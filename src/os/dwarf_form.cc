// SPDX-License-Identifier: MIT
#include "os/dwarf_form.h"

namespace weft::os {

FormValue read_form(ByteCursor& cursor, std::uint64_t form, const FormSizes& sizes) noexcept {
  if (form == kIndirect) form = cursor.uleb();
  switch (form) {
    case kAddr:   return {read_sized(cursor, sizes.address), form, {}};
    case kData1:
    case kRef1:
    case kFlag:
    case kStrx1:
    case kAddrx1: return {cursor.u8(), form, {}};
    case kData2:
    case kRef2:
    case kStrx2:
    case kAddrx2: return {cursor.u16(), form, {}};
    case kStrx3:
    case kAddrx3: {
      const std::uint64_t low = cursor.u16();
      return {low | std::uint64_t{cursor.u8()} << 16, form, {}};
    }
    case kData4:
    case kRef4:
    case kStrx4:
    case kAddrx4:
    case kRefSup4:     return {cursor.u32(), form, {}};
    case kData8:
    case kRef8:
    case kRefSig8:
    case kRefSup8:     return {cursor.u64(), form, {}};
    case kData16:      cursor.skip(16); return {};  // MD5
    case kSdata:       return {static_cast<std::uint64_t>(cursor.sleb()), form, {}};
    case kUdata:
    case kRefUdata:
    case kStrx:
    case kAddrx:
    case kLoclistx:
    case kRnglistx:    return {cursor.uleb(), form, {}};
    case kStrp:
    case kLineStrp:
    case kRefAddr:
    case kSecOffset:
    case kStrpSup:
    case kGnuRefAlt:
    case kGnuStrpAlt:  return {read_sized(cursor, sizes.offset), form, {}};
    case kString:      return {0, 0, cursor.text()};
    case kFlagPresent: return {1, form, {}};
    case kBlock:
    case kExprloc:     cursor.skip(cursor.uleb()); return {};
    case kBlock1:      cursor.skip(cursor.u8()); return {};
    case kBlock2:      cursor.skip(cursor.u16()); return {};
    case kBlock4:      cursor.skip(cursor.u32()); return {};
    default:           cursor.fail(); return {};
  }
}

}  // namespace weft::os
