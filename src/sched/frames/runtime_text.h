// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Which code is the runtime's: all of libweft.a is in sections of one name (cmake/GatherText.cmake).
namespace weft::sched {

// Was the code of the library gathered? If not, nobody can tell it from the user's.
bool knows_runtime_text() noexcept;
// Code of the library; never, where it was not gathered.
bool in_runtime(std::uintptr_t pc) noexcept;
// The first function on each goroutine's stack.
std::uintptr_t first_function_of_goroutines() noexcept;
// The function that calls the closures of goroutines. Sanitizers need one of its own.
std::uintptr_t entry_of_goroutines() noexcept;

}  // namespace weft::sched
