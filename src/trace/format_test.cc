// SPDX-License-Identifier: MIT
#include "trace/format.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft::trace::format {
namespace {

TEST(TraceFormat, numbers_survive_the_way_through_a_varint) {
  const std::vector<std::uint64_t> values = {
      0, 1, 127, 128, 300, 16383, 16384, std::uint64_t{1} << 62, std::uint64_t{1} << 63, kNone};
  for (const std::uint64_t value : values) {
    unsigned char bytes[kMaxVarint];
    const unsigned char* const end = put_varint(bytes, value);
    EXPECT_EQ(static_cast<std::size_t>(end - bytes), varint_size(value));
    std::uint64_t read = 0;
    EXPECT_EQ(get_varint(bytes, end, read), end);
    EXPECT_EQ(read, value);
    for (const unsigned char* cut = bytes; cut != end; ++cut) EXPECT_EQ(get_varint(bytes, cut, read), nullptr);
  }
}

TEST(TraceFormat, a_varint_of_more_than_64_bits_is_refused) {
  const unsigned char too_long[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
  const unsigned char too_large[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
  std::uint64_t value = 0;
  EXPECT_EQ(get_varint(too_long, too_long + sizeof too_long, value), nullptr);
  EXPECT_EQ(get_varint(too_large, too_large + sizeof too_large, value), nullptr);
}

// Numbers as Go's runtime writes them; a slip in the enumeration shifts all behind it.
TEST(TraceFormat, events_have_the_numbers_of_the_format) {
  EXPECT_EQ(static_cast<int>(Event::kEventBatch), 1);
  EXPECT_EQ(static_cast<int>(Event::kFrequency), 8);
  EXPECT_EQ(static_cast<int>(Event::kProcStart), 10);
  EXPECT_EQ(static_cast<int>(Event::kGoCreate), 14);
  EXPECT_EQ(static_cast<int>(Event::kGoBlock), 20);
  EXPECT_EQ(static_cast<int>(Event::kGoStatus), 25);
  EXPECT_EQ(static_cast<int>(Event::kHeapGoal), 38);
  EXPECT_EQ(static_cast<int>(Event::kUserLog), 44);
  EXPECT_EQ(static_cast<int>(Event::kExperimentalBatch), 49);
  EXPECT_EQ(static_cast<int>(Event::kEndOfGeneration), 52);
}

TEST(TraceFormat, timed_events_begin_with_their_time_and_ends_name_a_begin) {
  for (std::size_t number = 1; number < kEventCount; ++number) {
    const EventSpec& it = kEvents[number];
    EXPECT_FALSE(it.name.empty()) << number;
    EXPECT_TRUE(!it.timed || it.args[0] == Arg::kTime) << it.name;
    EXPECT_TRUE(it.begin == Event::kNoEvent || spec(it.begin).name.ends_with("Begin")) << it.name;
  }
}

TEST(TraceFormat, versions_know_their_events_only) {
  EXPECT_FALSE(is_event(0, 26));
  EXPECT_TRUE(is_event(44, 22));
  EXPECT_FALSE(is_event(45, 22));
  EXPECT_TRUE(is_event(49, 23));
  EXPECT_FALSE(is_event(50, 23));
  EXPECT_TRUE(is_event(51, 25));
  EXPECT_FALSE(is_event(52, 25));
  EXPECT_FALSE(is_event(53, 26));
}

}  // namespace
}  // namespace weft::trace::format
