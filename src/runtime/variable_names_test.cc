// SPDX-License-Identifier: MIT
#include "runtime/variable_names.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/options.h"

namespace weft::runtime {
namespace {

Parsed parse(const std::vector<std::string>& names) {
  return parse_environment([](const char*) -> const char* { return nullptr; }, names);
}

TEST(VariableNames, a_typo_is_one_line_with_the_nearest_name) {
  const char* const typos[][2] = {
      {"WEFT_MAXPROC", "WEFT_MAXPROCS"},       {"WEFT_MAX_PROCS", "WEFT_MAXPROCS"},
      {"WEFT_MAXPORCS", "WEFT_MAXPROCS"},      {"WEFT_maxprocs", "WEFT_MAXPROCS"},
      {"WEFT_POLICIY", "WEFT_POLICY"},         {"WEFT_STACKSIZE", "WEFT_STACK_SIZE"},
      {"WEFT_SCHED_TRACE", "WEFT_SCHEDTRACE"}, {"WEFT_TRAEC", "WEFT_TRACE"},
      {"WEFT_MAXTHREADS", "WEFT_MAX_THREADS"}, {"WEFT_DEBGU", "WEFT_DEBUG"},
      {"WEFT_SLICES", "WEFT_SLICE"},           {"WEFT_PREEMT", "WEFT_PREEMPT"},
  };
  for (const auto& [typo, meant] : typos) {
    const Parsed parsed = parse({typo});
    EXPECT_TRUE(parsed.ok()) << "a warning, not an error";
    ASSERT_EQ(parsed.warnings.size(), 1u) << typo;
    EXPECT_EQ(parsed.warnings[0],
              std::string("weft: unknown variable \"") + typo + "\" ignored; the nearest name is " + meant);
  }
}

TEST(VariableNames, what_is_like_nothing_gets_a_name_all_the_same_and_stays_one_short_line) {
  for (const std::string& name : {std::string("WEFT_FOO"), std::string("WEFT_"), "WEFT_" + std::string(5000, 'X'),
                                  std::string("WEFT_\n\033[31m")}) {
    const Parsed parsed = parse({name});
    ASSERT_EQ(parsed.warnings.size(), 1u);
    EXPECT_NE(parsed.warnings[0].find("the nearest name is WEFT_"), std::string::npos) << parsed.warnings[0];
    EXPECT_EQ(parsed.warnings[0].find_first_of("\n\033"), std::string::npos);
    EXPECT_LT(parsed.warnings[0].size(), 200u);
  }
  EXPECT_EQ(parse({"WEFT_A", "WEFT_B"}).warnings.size(), 2u) << "one line each";
}

TEST(VariableNames, variables_of_weft_and_of_its_tools_are_no_typos) {
  EXPECT_TRUE(parse({"WEFT_MAXPROCS", "WEFT_POLICY", "WEFT_STACK_SIZE", "WEFT_PREEMPT", "WEFT_PREEMPT_SIGNAL",
                     "WEFT_SLICE", "WEFT_SCHEDTRACE", "WEFT_TRACE", "WEFT_CPUPROFILE", "WEFT_DEBUG_ADDR", "WEFT_MAX_THREADS", "WEFT_DEBUG"})
                  .warnings.empty());
  EXPECT_TRUE(parse({"WEFT_BUILD_DIR", "WEFT_JOBS", "WEFT_NO_INSTALL", "WEFT_LOG_BUILDS", "WEFT_TEST_THOROUGH",
                     "WEFT_TEST_RUNNER", "WEFT_STRESS_SECONDS", "WEFT_SEQUENCE_SEED", "WEFT_MODEL_MUTANT",
                     "WEFT_PREEMPT_BUDGET"})
                  .warnings.empty());
}

}  // namespace
}  // namespace weft::runtime
