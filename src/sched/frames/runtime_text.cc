// SPDX-License-Identifier: MIT
#include "sched/frames/runtime_text.h"

#include "base/sanitizer.h"
#include "weft/detail/spawn_record.h"

extern "C" {
extern const char __start_weft_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_weft_text[] __attribute__((weak, visibility("hidden")));
void weft_goroutine_main();
void weft_run_entry(weft::detail::spawn_record* record);  // in builds with sanitizers
}

namespace weft::sched {

bool knows_runtime_text() noexcept { return __start_weft_text != nullptr; }

bool in_runtime(std::uintptr_t pc) noexcept {
  return pc - reinterpret_cast<std::uintptr_t>(__start_weft_text) <
         static_cast<std::uintptr_t>(__stop_weft_text - __start_weft_text);
}

std::uintptr_t first_function_of_goroutines() noexcept { return reinterpret_cast<std::uintptr_t>(&weft_goroutine_main); }

std::uintptr_t entry_of_goroutines() noexcept {
#if WEFT_ASAN || WEFT_TSAN
  return reinterpret_cast<std::uintptr_t>(&weft_run_entry);
#else
  return first_function_of_goroutines();
#endif
}

}  // namespace weft::sched
