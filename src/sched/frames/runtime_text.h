// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Which code is the runtime's: all code of libweft.a is in sections of one name (cmake/GatherText.cmake).
namespace weft::sched {

// Was the code of the library gathered? If not, it cannot be told from the user's.
bool knows_runtime_text() noexcept;
// Is it code of the library? Always false if the code was not gathered.
bool in_runtime(std::uintptr_t pc) noexcept;
// The first function on each goroutine's stack.
std::uintptr_t first_function_of_goroutines() noexcept;
// The function that calls the closures of goroutines: with sanitizers a separate one, otherwise the first function.
std::uintptr_t entry_of_goroutines() noexcept;

}  // namespace weft::sched
