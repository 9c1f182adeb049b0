// SPDX-License-Identifier: MIT
#include "arch/context.h"

#include <cstring>

#include "arch/context_layout.h"

namespace weft::arch {

void* make_context(void* stack_top) noexcept {
  // Reached by a return that pops the frame: the stack pointer is then top - 16, aligned as a call instruction wants it.
  const auto top = reinterpret_cast<std::uintptr_t>(stack_top) & ~std::uintptr_t{15};
  auto* context = reinterpret_cast<std::byte*>(top - 16 - WEFT_CONTEXT_SIZE);
  std::memset(context, 0, WEFT_CONTEXT_SIZE);
  auto entry = &weft_context_entry;
  std::memcpy(context + WEFT_CONTEXT_RESUME, &entry, sizeof entry);
  return context;
}

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
