// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

// Names of WEFT_* variables: which ones are known, and which one a typo was meant to be.
namespace weft::runtime {

// True for the runtime's own variables (`known`), and for those of the weft command, the compiler plugins, tests and
// benchmarks, because programs inherit these from them.
bool is_known_name(std::string_view name, const std::vector<std::string_view>& known);

// The name of `known`, which is not empty, that differs from `name` by the fewest insertions, deletions, replacements
// and swaps of neighbours. Upper and lower case are the same.
std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace weft::runtime
