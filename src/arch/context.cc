// SPDX-License-Identifier: MIT
#include "arch/context.h"

#include <cstring>

namespace weft::arch {

const void* context_frame_pointer(const void* sp) noexcept {
  const void* value;
  std::memcpy(&value, static_cast<const std::byte*>(sp) + WEFT_CONTEXT_FRAME_POINTER, sizeof value);
  return value;
}

const void* context_resume_address(const void* sp) noexcept {
  const void* value;
  std::memcpy(&value, static_cast<const std::byte*>(sp) + WEFT_CONTEXT_RESUME, sizeof value);
  return value;
}

}  // namespace weft::arch
