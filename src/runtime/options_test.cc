// SPDX-License-Identifier: MIT
#include "runtime/options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <random>
#include <string>

namespace weft::runtime {
namespace {

using Environment = std::map<std::string, std::string>;

Parsed parse(const Environment& environment) {
  return parse_environment([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

// The error for one variable; fails the test if the value was accepted.
std::string error_of(const std::string& name, const std::string& value) {
  const Parsed parsed = parse({{name, value}});
  EXPECT_FALSE(parsed.ok()) << name << "=" << value.substr(0, 80);
  EXPECT_EQ(parsed.error.find('\n'), std::string::npos) << "one line";
  EXPECT_EQ(parsed.error.find("weft: " + name + "=\""), 0u) << parsed.error;
  EXPECT_NE(parsed.error.find("accepted: "), std::string::npos) << parsed.error;
  EXPECT_LT(parsed.error.size(), 300u);
  return parsed.error;
}

const char* const kBadNumbers[] = {"abc",
                                   "",
                                   "-1",
                                   "+4",
                                   " 4 ",
                                   " 4",
                                   "4 ",
                                   "4x",
                                   "1e3",
                                   "0x10",
                                   "4.0",
                                   "4,",
                                   "\t4",
                                   "4\n",
                                   "٤",
                                   "\xff\xfe",
                                   "--4",
                                   "99999999999999999999",
                                   "18446744073709551616",
                                   "18446744073709551620",
                                   "2147483648",
                                   "4294967297",
                                   "-9223372036854775808"};

TEST(Options, empty_environment_sets_nothing) {
  const Parsed parsed = parse({});
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed.warnings.empty());
  const Settings& s = parsed.settings;
  EXPECT_FALSE(s.maxprocs || s.policy || s.stack_size || s.preempt || s.slice_ms || s.schedtrace_ms || s.trace_path || s.cpu_profile_path || s.debug_address ||
               s.max_threads);
  EXPECT_FALSE(s.debug.randsched.on || s.debug.starve.on || s.debug.buggify || s.debug.spin_us);
}

TEST(Options, all_variables_are_read) {
  const Parsed parsed = parse({{"WEFT_MAXPROCS", "12"},
                               {"WEFT_POLICY", "batch"},
                               {"WEFT_STACK_SIZE", "64K"},
                               {"WEFT_PREEMPT", "off"},
                               {"WEFT_SLICE", "5"},
                               {"WEFT_SCHEDTRACE", "1000"},
                               {"WEFT_TRACE", "out dir/trace.out"},
                               {"WEFT_CPUPROFILE", "cpu.pb.gz"},
                               {"WEFT_DEBUG_ADDR", "127.0.0.1:6060"},
                               {"WEFT_MAX_THREADS", "500"},
                               {"WEFT_DEBUG", "randsched=7,starve,buggify=0,spin_us=50"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error;
  EXPECT_TRUE(parsed.warnings.empty());
  const Settings& s = parsed.settings;
  EXPECT_EQ(s.maxprocs, 12);
  EXPECT_EQ(s.policy, PolicyName::kBatch);
  EXPECT_EQ(s.stack_size, 65536u);
  EXPECT_EQ(s.preempt, false);
  EXPECT_EQ(s.slice_ms, 5);
  EXPECT_EQ(s.schedtrace_ms, 1000);
  EXPECT_EQ(s.trace_path, "out dir/trace.out");
  EXPECT_EQ(s.cpu_profile_path, "cpu.pb.gz");
  EXPECT_EQ(s.debug_address, "127.0.0.1:6060");
  EXPECT_EQ(s.max_threads, 500);
  EXPECT_TRUE(s.debug.randsched.on);
  EXPECT_EQ(s.debug.randsched.seed, 7u);
  EXPECT_TRUE(s.debug.starve.on);
  EXPECT_EQ(s.debug.starve.seed, std::nullopt);
  EXPECT_EQ(s.debug.buggify, 0u);
  EXPECT_EQ(s.debug.spin_us, 50u);
}

TEST(Options, numbers_accept_exactly_their_range) {
  const struct {
    const char* name;
    int low, high;
    std::optional<int> Settings::* member;
  } kNumbers[] = {{"WEFT_MAXPROCS", 1, 1024, &Settings::maxprocs},
                  {"WEFT_SLICE", 1, 10000, &Settings::slice_ms},
                  {"WEFT_SCHEDTRACE", 1, 3600000, &Settings::schedtrace_ms},
                  {"WEFT_MAX_THREADS", 4, 1000000, &Settings::max_threads}};
  for (const auto& [name, low, high, member] : kNumbers) {
    for (const int good : {low, low + 1, high}) {
      const Parsed parsed = parse({{name, std::to_string(good)}});
      ASSERT_TRUE(parsed.ok()) << parsed.error;
      EXPECT_EQ(parsed.settings.*member, good);
    }
    EXPECT_EQ(parse({{name, "000" + std::to_string(high)}}).settings.*member, high) << "leading zeros are base 10 too";
    error_of(name, std::to_string(low - 1));
    error_of(name, std::to_string(high + 1));
    error_of(name, "0");
    for (const char* bad : kBadNumbers) error_of(name, bad);
  }
}

TEST(Options, message_names_variable_value_and_what_is_accepted) {
  EXPECT_EQ(error_of("WEFT_MAXPROCS", "4x"),
            "weft: WEFT_MAXPROCS=\"4x\" cannot be used; accepted: a number from 1 to 1024, written in base 10");
  EXPECT_EQ(error_of("WEFT_MAXPROCS", "1000000"),
            "weft: WEFT_MAXPROCS=\"1000000\" cannot be used; accepted: a number from 1 to 1024, written in "
            "base 10");
  EXPECT_EQ(error_of("WEFT_POLICY", "Classic"),
            "weft: WEFT_POLICY=\"Classic\" cannot be used; accepted: one of classic, global, batch, matrix");
  EXPECT_EQ(error_of("WEFT_SLICE", ""),
            "weft: WEFT_SLICE=\"\" cannot be used; accepted: a number of milliseconds from 1 to 10000, "
            "written in base 10");
}

TEST(Options, megabyte_values_are_cut_in_the_message) {
  for (const char* name : {"WEFT_MAXPROCS", "WEFT_POLICY", "WEFT_STACK_SIZE", "WEFT_PREEMPT", "WEFT_SLICE",
                           "WEFT_SCHEDTRACE", "WEFT_TRACE", "WEFT_CPUPROFILE", "WEFT_DEBUG_ADDR", "WEFT_MAX_THREADS"}) {
    const std::string error = error_of(name, std::string(1 << 20, '4'));
    EXPECT_NE(error.find("=\"" + std::string(60, '4') + "\"... (1048576 bytes)"), std::string::npos) << error;
  }
  EXPECT_EQ(parse({{"WEFT_MAXPROCS", std::string(1 << 20, '0') + "8"}}).settings.maxprocs, 8)
      << "long, but a number in range";
}

TEST(Options, locked_fallback_takes_a_number_or_off) {
  EXPECT_FALSE(parse({}).settings.locked_fallback.has_value());
  const auto off = parse({{"WEFT_LOCKED_FALLBACK", "off"}}).settings.locked_fallback;
  ASSERT_TRUE(off.has_value());
  EXPECT_FALSE(off->has_value());
  EXPECT_EQ(parse({{"WEFT_LOCKED_FALLBACK", "64"}}).settings.locked_fallback->value(), 64u);
  for (const char* wrong : {"", "0", "on", "-1", "1000001", "8 "})
    EXPECT_EQ(parse({{"WEFT_LOCKED_FALLBACK", wrong}}).error,
              "weft: WEFT_LOCKED_FALLBACK=" + quote_for_message(wrong) +
                  " cannot be used; accepted: off, or a number from 1 to 1000000, written in base 10");
}

TEST(Options, policy_takes_the_four_names_only) {
  EXPECT_EQ(parse({{"WEFT_POLICY", "classic"}}).settings.policy, PolicyName::kClassic);
  EXPECT_EQ(parse({{"WEFT_POLICY", "global"}}).settings.policy, PolicyName::kGlobal);
  EXPECT_EQ(parse({{"WEFT_POLICY", "batch"}}).settings.policy, PolicyName::kBatch);
  EXPECT_EQ(parse({{"WEFT_POLICY", "matrix"}}).settings.policy, PolicyName::kMatrix);
  for (const char* bad : {"", "CLASSIC", "classic ", "classics", "glob", "1", "global,batch"})
    error_of("WEFT_POLICY", bad);
}

TEST(Options, batch_takes_krocs_rules_or_its_own) {
  EXPECT_FALSE(parse({}).settings.kroc_batches);
  EXPECT_FALSE(parse({{"WEFT_BATCH", "own"}}).settings.kroc_batches);
  EXPECT_TRUE(parse({{"WEFT_BATCH", "kroc"}}).settings.kroc_batches);
  for (const char* bad : {"", "KROC", "on", "1", "kroc "}) error_of("WEFT_BATCH", bad);
}

TEST(Options, preempt_is_on_or_off) {
  EXPECT_EQ(parse({{"WEFT_PREEMPT", "on"}}).settings.preempt, true);
  EXPECT_EQ(parse({{"WEFT_PREEMPT", "off"}}).settings.preempt, false);
  for (const char* bad : {"", "1", "0", "true", "ON", "offf", "on off"}) error_of("WEFT_PREEMPT", bad);
}

TEST(Options, stack_size_takes_bytes_kibibytes_and_mebibytes) {
  const auto size = [](const char* text) { return parse({{"WEFT_STACK_SIZE", text}}).settings.stack_size; };
  EXPECT_EQ(size("16384"), 16384u);
  EXPECT_EQ(size("16K"), 16384u);
  EXPECT_EQ(size("20000"), 20000u);
  EXPECT_EQ(size("1M"), 1048576u);
  EXPECT_EQ(size("1024M"), std::size_t{1} << 30);
  EXPECT_EQ(size("1048576K"), std::size_t{1} << 30);
  EXPECT_EQ(size("1073741824"), std::size_t{1} << 30);
  for (const char* bad : {"0",
                          "1",
                          "16383",
                          "15K",
                          "0K",
                          "1025M",
                          "1048577K",
                          "1073741825",
                          "9223372036854775808",
                          "K",
                          "M",
                          "64k",
                          "64KB",
                          "64 K",
                          "6 4K",
                          "1G",
                          "0x10000",
                          "-64K",
                          "+64K",
                          "64KK",
                          "1.5M",
                          "18014398509481984K",
                          "17592186044416M",
                          "64K ",
                          "\xff"}) {
    error_of("WEFT_STACK_SIZE", bad);
  }
  for (const char* bad : kBadNumbers) error_of("WEFT_STACK_SIZE", bad);
}

TEST(Options, trace_path_is_any_nonempty_path_that_can_exist) {
  for (const char* good : {"t", "../t", "/dev/full", "a b\xff", "-"})
    EXPECT_EQ(parse({{"WEFT_TRACE", good}}).settings.trace_path, good);
  EXPECT_TRUE(parse({{"WEFT_TRACE", std::string(4095, 'p')}}).ok());
  error_of("WEFT_TRACE", "");
  error_of("WEFT_TRACE", std::string(4096, 'p'));
}

TEST(Options, first_bad_value_is_the_error_and_the_only_one) {
  const Parsed parsed = parse({{"WEFT_MAXPROCS", "x"}, {"WEFT_POLICY", "y"}, {"WEFT_DEBUG", "spin_us=z"}});
  EXPECT_NE(parsed.error.find("WEFT_MAXPROCS"), std::string::npos);
  EXPECT_EQ(parsed.error.find("WEFT_POLICY"), std::string::npos);
}

TEST(Options, debug_choices_are_the_usual_way_or_the_other) {
  const struct {
    const char *usual, *other;
    std::optional<bool> DebugSettings::* member;
  } kChoices[] = {{"search_order=go127", "search_order=seed", &DebugSettings::seed_search_order},
                  {"spawn_place=next", "spawn_place=back", &DebugSettings::spawn_at_back},
                  {"wake_place=here", "wake_place=last", &DebugSettings::wake_on_last_p},
                  {"early_timers=off", "early_timers=on", &DebugSettings::early_timers},
                  {"leases=off", "leases=always", &DebugSettings::leases},
                  {"retreats=off", "retreats=always", &DebugSettings::retreats}};
  for (const auto& [usual, other, member] : kChoices) {
    EXPECT_EQ(parse({}).settings.debug.*member, std::nullopt);
    EXPECT_EQ(parse({{"WEFT_DEBUG", usual}}).settings.debug.*member, false);
    EXPECT_EQ(parse({{"WEFT_DEBUG", other}}).settings.debug.*member, true);
  }
  EXPECT_EQ(parse({{"WEFT_DEBUG", "wake_place=there"}}).error,
            "weft: WEFT_DEBUG: wake_place=\"there\" cannot be used; accepted: here or last");
  EXPECT_FALSE(parse({{"WEFT_DEBUG", "spawn_place"}}).ok());
}

TEST(Options, debug_unknown_keys_warn_and_the_rest_counts) {
  const Parsed parsed = parse({{"WEFT_DEBUG", "nope,spin_us=3,RANDSCHED=1,=5,randsched"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error;
  ASSERT_EQ(parsed.warnings.size(), 3u);
  EXPECT_EQ(parsed.warnings[0],
            "weft: WEFT_DEBUG: unknown key \"nope\" ignored; known are randsched[=seed], starve[=seed], "
            "buggify=seed, "
            "spin_us=microseconds, preempt, ladder=step, search_order=go127|seed, spawn_place=next|back, "
            "wake_place=here|last, early_timers=off|on, leases=off|always, retreats=off|always");
  EXPECT_NE(parsed.warnings[1].find("\"RANDSCHED\""), std::string::npos);
  EXPECT_NE(parsed.warnings[2].find("\"\""), std::string::npos);
  EXPECT_EQ(parsed.settings.debug.spin_us, 3u);
  EXPECT_TRUE(parsed.settings.debug.randsched.on);
}

TEST(Options, debug_ladder_is_a_step_of_the_plan) {
  EXPECT_EQ(parse({{"WEFT_DEBUG", "ladder=3"}}).settings.debug.ladder, 3u);
  EXPECT_FALSE(parse({{"WEFT_DEBUG", "ladder=6"}}).ok());
  EXPECT_FALSE(parse({{"WEFT_DEBUG", "spin_us=1"}}).settings.debug.ladder);
}

TEST(Options, debug_last_of_two_equal_keys_wins) {
  const DebugSettings debug = parse({{"WEFT_DEBUG", "spin_us=1,randsched=9,spin_us=2,randsched"}}).settings.debug;
  EXPECT_EQ(debug.spin_us, 2u);
  EXPECT_EQ(debug.randsched.seed, std::nullopt);
}

TEST(Options, debug_empty_items_and_trailing_commas_are_harmless) {
  for (const char* text : {"", ",", ",,,", "spin_us=4,", ",spin_us=4", "spin_us=4,,starve=1,"}) {
    const Parsed parsed = parse({{"WEFT_DEBUG", text}});
    EXPECT_TRUE(parsed.ok()) << text;
    EXPECT_TRUE(parsed.warnings.empty()) << text;
  }
}

TEST(Options, debug_missing_value_warns_and_a_bad_one_is_an_error) {
  const Parsed missing = parse({{"WEFT_DEBUG", "buggify,spin_us"}});
  EXPECT_TRUE(missing.ok());
  ASSERT_EQ(missing.warnings.size(), 2u);
  EXPECT_NE(missing.warnings[0].find("buggify=a number from 0 to 18446744073709551615"), std::string::npos)
      << missing.warnings[0];
  for (const char* text : {"spin_us=", "spin_us=x", "spin_us=1000001", "spin_us=-1", "spin_us= 1",
                           "randsched=", "starve=0x1", "buggify=18446744073709551616", "spin_us=1=2"}) {
    const Parsed parsed = parse({{"WEFT_DEBUG", text}});
    EXPECT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error.find("weft: WEFT_DEBUG: "), 0u) << parsed.error;
    EXPECT_NE(parsed.error.find("accepted: a number from 0 to "), std::string::npos) << parsed.error;
  }
  EXPECT_EQ(parse({{"WEFT_DEBUG", "buggify=18446744073709551615"}}).settings.debug.buggify, ~std::uint64_t{0});
}

TEST(Options, quoted_values_are_printable_text) {
  EXPECT_EQ(quote_for_message("plain"), "\"plain\"");
  EXPECT_EQ(quote_for_message("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(quote_for_message("a\nb\tc\rd\x1b[31m\x7f"), "\"a\\nb\\tc\\rd\\x1b[31m\\x7f\"");
  EXPECT_EQ(quote_for_message(std::string_view("\0", 1)), "\"\\x00\"");
  EXPECT_EQ(quote_for_message("grün 漢 😀"), "\"grün 漢 😀\"") << "valid UTF-8 stays";
  EXPECT_EQ(quote_for_message("\xff\xc3"), "\"\\xff\\xc3\"");
  EXPECT_EQ(quote_for_message("\xc0\xaf"), "\"\\xc0\\xaf\"") << "overlong";
  EXPECT_EQ(quote_for_message("\xe0\x82\xa9"), "\"\\xe0\\x82\\xa9\"") << "overlong in three bytes";
  EXPECT_EQ(quote_for_message("\xed\xa0\x80"), "\"\\xed\\xa0\\x80\"") << "surrogate";
  EXPECT_EQ(quote_for_message("\xf4\x90\x80\x80"), "\"\\xf4\\x90\\x80\\x80\"") << "beyond Unicode";
  EXPECT_EQ(quote_for_message("\xe2\x80\xae"), "\"\\xe2\\x80\\xae\"") << "right-to-left override";
  EXPECT_EQ(quote_for_message("\xc2\x85"), "\"\\xc2\\x85\"") << "C1 control";
}

TEST(Options, quoted_values_are_cut_at_sixty_characters_and_between_characters) {
  EXPECT_EQ(quote_for_message(std::string(60, 'x')), "\"" + std::string(60, 'x') + "\"");
  EXPECT_EQ(quote_for_message(std::string(61, 'x')), "\"" + std::string(60, 'x') + "\"... (61 bytes)");
  EXPECT_EQ(quote_for_message(std::string(58, 'x') + "\xff"), "\"" + std::string(58, 'x') + "\"... (59 bytes)");
  std::string wide;
  for (int i = 0; i < 61; ++i) wide += "ü";
  EXPECT_EQ(quote_for_message(wide), "\"" + wide.substr(0, 120) + "\"... (122 bytes)");
}

TEST(Options, random_bytes_never_break_the_message) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string value;
    for (std::size_t length = random() % 40; value.size() < length;) value += static_cast<char>(random() % 255 + 1);
    for (const char* name : {"WEFT_MAXPROCS", "WEFT_STACK_SIZE", "WEFT_DEBUG"}) {
      const Parsed parsed = parse({{name, value}});
      std::string text = parsed.error;
      for (const std::string& warning : parsed.warnings) text += warning;
      for (const char c : text) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    }
  }
}

TEST(OptionsDeathTest, bad_value_ends_the_process_with_status_2_and_one_line) {
  EXPECT_EXIT(
      {
        setenv("WEFT_MAXPROCS", "many", 1);
        settings_from_environment_or_exit();
      },
      testing::ExitedWithCode(2),
      "^weft: WEFT_MAXPROCS=\"many\" cannot be used; accepted: a number from 1 to 1024, written in base "
      "10\n$");
}

TEST(OptionsDeathTest, warnings_are_printed_and_the_program_goes_on) {
  EXPECT_EXIT(
      {
        setenv("WEFT_DEBUG", "bogus", 1);
        setenv("WEFT_MAXPROCS", "3", 1);
        _exit(settings_from_environment_or_exit().maxprocs == 3 ? 7 : 8);
      },
      testing::ExitedWithCode(7), "^weft: WEFT_DEBUG: unknown key \"bogus\" ignored");
}

}  // namespace
}  // namespace weft::runtime
