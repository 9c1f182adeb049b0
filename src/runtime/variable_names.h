// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

// Names of WEFT_* variables: which are somebody's, and which one a typo was meant to be.
namespace weft::runtime {

// True for the runtime's own (`known`), and for those of the weft command, the compiler plugins, tests and benchmarks, which
// programs inherit from them.
bool is_known_name(std::string_view name, const std::vector<std::string_view>& known);

// The one of `known`, which is not empty, that the fewest insertions, deletions, replacements and swaps of neighbours make of
// `name`. Upper and lower case are the same.
std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace weft::runtime
