// SPDX-License-Identifier: MIT
#include "runtime/variable_names.h"

#include <algorithm>

namespace weft::runtime {
namespace {

constexpr std::string_view kToolNames[] = {
    "WEFT_BUILD_DIR",       // the weft command
    "WEFT_JOBS",            // the same
    "WEFT_LOG_BUILDS",      // the same
    "WEFT_NO_INSTALL",      // the same
    "WEFT_PREEMPT_BUDGET",  // tools/compiler/llvm_plugin.cc
    "WEFT_PREEMPT_ENTRY",   // the same
    "WEFT_REPLAY",          // api/testing_explore.cc
    "WEFT_SEQUENCE_SEED",   // tests
    "WEFT_STRESS_SECONDS",  // the same
};
constexpr std::string_view kToolPrefixes[] = {"WEFT_BENCH_", "WEFT_MODEL_", "WEFT_TEST_"};

constexpr std::size_t kLongest = 64;  // characters of a name that are compared

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// Optimal string alignment; three rows of the table are enough.
std::size_t distance(std::string_view one, std::string_view other) {
  std::size_t rows[3][kLongest + 1];
  for (std::size_t j = 0; j <= other.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::size_t* const row = rows[i % 3];
    const std::size_t* const last = rows[(i - 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const bool same = upper(one[i - 1]) == upper(other[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && upper(one[i - 1]) == upper(other[j - 2]) && upper(one[i - 2]) == upper(other[j - 1]))
        row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
    }
  }
  return rows[one.size() % 3][other.size()];
}

}  // namespace

bool is_known_name(std::string_view name, const std::vector<std::string_view>& known) {
  return std::find(known.begin(), known.end(), name) != known.end() ||
         std::find(std::begin(kToolNames), std::end(kToolNames), name) != std::end(kToolNames) ||
         std::any_of(std::begin(kToolPrefixes), std::end(kToolPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& known) {
  const std::string_view compared = name.substr(0, kLongest);
  return *std::min_element(known.begin(), known.end(), [&](std::string_view one, std::string_view other) {
    return distance(compared, one.substr(0, kLongest)) < distance(compared, other.substr(0, kLongest));
  });
}

}  // namespace weft::runtime
