// SPDX-License-Identifier: MIT
#include "os/unwinder_code.h"

#include <unwind.h>

#include <algorithm>
#include <iterator>

#include "os/code_range.h"

// By a name of its own, for only newer C libraries declare it.
extern "C" int weft_dl_find_object(void*, void*) __asm__("_dl_find_object") __attribute__((weak));

namespace weft::os {
namespace {

CodeRange unwinder;  // written before the first signal

_Unwind_Reason_Code remember_caller(_Unwind_Context*, void*) {
  unwinder = code_around(__builtin_return_address(0));
  const CodeRange own = code_around(reinterpret_cast<const void*>(&find_unwinder_code));
  if (unwinder.begin == own.begin) unwinder = {};
  return _URC_END_OF_STACK;
}

}  // namespace

bool finds_frames_without_lock() noexcept { return &weft_dl_find_object != nullptr; }

void find_unwinder_code() noexcept { _Unwind_Backtrace(remember_caller, nullptr); }

bool is_unwinder_code(std::uintptr_t pc, std::uintptr_t function) noexcept {
  if (unwinder.begin != unwinder.end) return pc - unwinder.begin < unwinder.end - unwinder.begin;
  const std::uintptr_t leaving[] = {reinterpret_cast<std::uintptr_t>(&_Unwind_RaiseException),
                                    reinterpret_cast<std::uintptr_t>(&_Unwind_ForcedUnwind),
                                    reinterpret_cast<std::uintptr_t>(&_Unwind_Resume),
                                    reinterpret_cast<std::uintptr_t>(&_Unwind_Resume_or_Rethrow)};
  return std::find(std::begin(leaving), std::end(leaving), function) != std::end(leaving);
}

}  // namespace weft::os
