// SPDX-License-Identifier: MIT
#include "trace_reader/timeline.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <sstream>
#include <string>

#include "trace_reader/analysis.h"
#include "trace_reader/text.h"
#include "trace_reader/trace_builder.h"
#include "viewer/outputs.h"

namespace weft::tools {
namespace {

using Event = trace::format::Event;

Timeline timeline_of(const std::string& trace) {
  return make_timeline(
      read_trace({reinterpret_cast<const unsigned char*>(trace.data()), trace.size()}));  // chars as bytes
}

// Goroutine 1 creates goroutine 2 ("worker") and waits; 2 runs, is preempted, runs, wakes 1 and ends.
std::string conversation(std::string_view name = "worker") {
  TraceBuilder trace;
  trace.events(1, 0, 100,
               {{Event::kProcStatus, {0, 0, 1}},
                {Event::kGoStatus, {0, 1, 0, 2}},
                {Event::kGoCreate, {10, 2, 2, 1}},
                {Event::kGoBlock, {10, 1, 1}},
                {Event::kGoStart, {5, 2, 1}},
                {Event::kGoLabel, {1, 3}},
                {Event::kGoStop, {100, 2, 1}},
                {Event::kGoStart, {50, 2, 2}},
                {Event::kGoUnblock, {20, 1, 1, 1}},
                {Event::kGoDestroy, {4}},
                {Event::kGoStart, {30, 1, 2}},
                {Event::kGoDestroy, {70}}});
  trace.strings(1, {"chan receive", "preempted", name, "weft::run", "main.cpp", "work()"});
  trace.stacks(1, {{11, 4, 5, 7}, {12, 6, 5, 3}}).frequency(1);
  return trace.bytes();
}

TEST(Timeline, spans_of_a_goroutine_cover_its_life_without_gaps) {
  const Timeline line = timeline_of(conversation());
  ASSERT_FALSE(line.fault) << line.fault->reason;
  ASSERT_EQ(line.goroutines.size(), 2u);
  EXPECT_EQ(line.duration, 300);
  for (const Goroutine& goroutine : line.goroutines) {
    std::int64_t at = goroutine.start;
    for (std::uint32_t i = 0; i < goroutine.spans; ++i) {
      const GoSpan& span = line.spans[goroutine.first_span + i];
      EXPECT_EQ(span.start, at);
      at = span.end;
    }
    EXPECT_EQ(at, goroutine.end);
  }
}

TEST(Timeline, states_reasons_and_wakers_are_as_recorded) {
  const Timeline line = timeline_of(conversation());
  const Goroutine& first = line.goroutines[0];
  const Goroutine& second = line.goroutines[1];
  EXPECT_EQ(line.title(second), "worker");
  EXPECT_EQ(line.text(second.function), "work()");
  EXPECT_EQ(second.creator, 0u);
  EXPECT_EQ(line.text(second.site.file), "main.cpp");
  ASSERT_EQ(first.spans, 4u);  // running, waiting, runnable, running
  const GoSpan* spans = &line.spans[first.first_span];
  EXPECT_EQ(spans[1].state, GoState::kWaiting);
  EXPECT_EQ(line.text(spans[1].reason), "chan receive");
  EXPECT_EQ(spans[1].end - spans[1].start, 176);
  EXPECT_EQ(spans[2].state, GoState::kRunnable);
  EXPECT_EQ(spans[2].by, 1u);
  ASSERT_EQ(second.spans, 4u);  // runnable, running, runnable, running
  spans = &line.spans[second.first_span];
  EXPECT_EQ(line.text(spans[0].reason), "created");
  EXPECT_EQ(line.text(spans[2].reason), "preempted");
  EXPECT_EQ(spans[2].end - spans[2].start, 50);
  EXPECT_EQ(second.time[static_cast<std::size_t>(GoState::kRunning)], 125);
}

TEST(Timeline, a_call_whose_p_is_stolen_is_two_spans) {
  TraceBuilder trace;
  trace.events(1, 0, 10,
               {{Event::kProcStatus, {0, 0, 1}},
                {Event::kGoStatus, {0, 1, 0, 2}},
                {Event::kGoSyscallBegin, {5, 1, 0}},
                {Event::kGoSyscallEndBlocked, {100}}});
  trace.events(1, 1, 50,
               {{Event::kProcSteal, {0, 0, 2, 0}}, {Event::kProcStart, {0, 0, 3}}, {Event::kGoStart, {80, 1, 1}}});
  const Timeline line = timeline_of(trace.frequency(1).bytes());
  ASSERT_FALSE(line.fault);
  ASSERT_EQ(line.spans.size(), 5u);  // running, call with P, call without, runnable, running
  EXPECT_EQ(line.spans[1].state, GoState::kInCall);
  EXPECT_EQ(line.spans[1].p, 0u);
  EXPECT_EQ(line.spans[2].state, GoState::kInCall);
  EXPECT_EQ(line.spans[2].p, kNoIndex);
  EXPECT_EQ(line.spans[2].m, 0u);
  EXPECT_EQ(line.spans[4].m, 1u);
}

TEST(Timeline, analysis_groups_by_spawn_site_and_counts_latencies) {
  const Timeline line = timeline_of(conversation());
  const Analysis analysis = analyse(line);
  ASSERT_EQ(analysis.groups.size(), 2u);
  EXPECT_EQ(site_text(line, analysis.groups[0]), "work(), created at main.cpp:7");
  EXPECT_EQ(analysis.latencies, (std::vector<std::int64_t>{15, 34, 50}));
  EXPECT_EQ(analysis.latency.buckets[3], 1u);  // 15 is in [8, 16)
  EXPECT_EQ(analysis.latency.buckets[5], 2u);
  EXPECT_EQ(analysis.most_alive, 2u);
  ASSERT_EQ(analysis.waits.size(), 1u);
  EXPECT_EQ(analysis.waits[0].time, 176);
}

// Found by the fuzzer: a clock of 292 years, and two goroutines that waited all the time.
TEST(Timeline, sums_of_endless_times_stay_at_the_largest_number) {
  constexpr std::uint64_t kNobody = trace::format::kNone, kWaiting = 4;
  TraceBuilder trace;
  trace.events(1, 0, 100,
               {{Event::kProcStatus, {0, 0, 1}},
                {Event::kGoStatus, {0, 1, 0, 2}},
                {Event::kGoStatus, {0, 2, kNobody, kWaiting}},
                {Event::kGoStatus, {0, 3, kNobody, kWaiting}},
                {Event::kGoDestroy, {std::uint64_t{1} << 63}}});
  trace.frequency(1);
  const Timeline line = timeline_of(trace.bytes());
  ASSERT_FALSE(line.fault) << line.fault->reason;
  const Analysis analysis = analyse(line);
  ASSERT_FALSE(analysis.waits.empty());
  EXPECT_EQ(analysis.waits.front().time, std::numeric_limits<std::int64_t>::max());
  for (const SpawnGroup& group : analysis.groups)
    for (const std::int64_t time : group.time) EXPECT_GE(time, 0);
}

// A hog is interrupted after 10 ns, loses its P to another M at 20, and computes without one until 110.
TEST(Timeline, computing_without_a_p_is_no_call_and_counts_as_use) {
  TraceBuilder trace;
  trace.events(1, 0, 100,
               {{Event::kProcStatus, {0, 0, 1}},
                {Event::kGoStatus, {0, 1, 0, 2}},
                {Event::kUserLog, {10, 0, 1, 0, 0}},
                {Event::kGoSyscallBegin, {0, 1, 1}},
                {Event::kGoSyscallEndBlocked, {100}}});
  trace.events(1, 7, 120, {{Event::kProcSteal, {0, 0, 2, 0}}});
  trace.strings(1, {trace::format::reason::kExile, "hog()", "main.cpp"});
  trace.stacks(1, {{11, 2, 3, 7}}).frequency(1);
  const Timeline line = timeline_of(trace.bytes());
  ASSERT_FALSE(line.fault) << line.fault->reason;
  EXPECT_TRUE(line.messages.empty());
  ASSERT_EQ(line.goroutines.size(), 1u);
  EXPECT_EQ(line.goroutines[0].time[static_cast<std::size_t>(GoState::kExiled)], 100);
  EXPECT_EQ(line.goroutines[0].time[static_cast<std::size_t>(GoState::kInCall)], 0);
  const Analysis analysis = analyse(line);
  EXPECT_EQ(analysis.exiled, 100);
  EXPECT_EQ(analysis.busy, 20);
  EXPECT_EQ(analysis.covered, 90);
  EXPECT_EQ(analysis.in_call, 0);
  std::ostringstream summary, json, page;
  write_summary(summary, line, "x.trace");
  EXPECT_NE(summary.str().find("(busy 100.0 %, in calls 0.0 %, idle 0.0 %)"), std::string::npos) << summary.str();
  EXPECT_NE(summary.str().find("without a P 100 ns of computing"), std::string::npos) << summary.str();
  write_perfetto(json, line);
  EXPECT_NE(json.str().find("\"name\":\"without a P\""), std::string::npos) << json.str();
  EXPECT_EQ(json.str().find("in call\","), std::string::npos) << json.str();
  write_page(page, line, "x.trace");
  EXPECT_NE(page.str().find("\"exiled\":100"), std::string::npos);
}

TEST(Timeline, the_summary_says_what_happened) {
  std::ostringstream out;
  write_summary(out, timeline_of(conversation()), "x.trace");
  const std::string text = out.str();
  for (const char* words : {"x.trace: 300 ns, 12 events in 1 generation, format 1.23",
                            "goroutines  2 (1 created, 2 ended, at most 2 at once)", "work(), created at main.cpp:7",
                            "176 ns  chan receive", "longest 50 ns", "goroutine 2 worker: preempted"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\nin\n" << text;
  }
}

constexpr std::string_view kEvil =
    "</script><script>document.title='pwned'</script><img src=x onerror=alert(1)>\n\x1b[31m\xff\xe2\x80\xae&\"'";

TEST(Timeline, names_with_markup_and_control_characters_stay_text_everywhere) {
  const Timeline line = timeline_of(conversation(kEvil));
  ASSERT_FALSE(line.fault);
  std::ostringstream page;
  std::ostringstream summary;
  std::ostringstream perfetto;
  write_page(page, line, kEvil);
  write_summary(summary, line, kEvil);
  write_perfetto(perfetto, line);
  EXPECT_EQ(page.str().find("<img"), std::string::npos);
  EXPECT_EQ(page.str().find("<script>document"), std::string::npos);
  for (const std::string& text : {page.str(), summary.str(), perfetto.str()}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\xff'), std::string::npos);
    EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
  }
  EXPECT_NE(summary.str().find("\\n\\x1b[31m\\xff\\xe2\\x80\\xae"), std::string::npos) << summary.str();
  EXPECT_NE(page.str().find("\\u003cimg src=x"), std::string::npos);
}

TEST(Text, broken_utf8_is_shown_byte_by_byte_and_right_utf8_is_kept) {
  EXPECT_EQ(visible("\xc3\xa4 \xe2\x82\xac \xf0\x9f\xa7\xb5"), "\xc3\xa4 \xe2\x82\xac \xf0\x9f\xa7\xb5");
  EXPECT_EQ(visible("\xc3"), "\\xc3");
  EXPECT_EQ(visible("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a surrogate pair
  EXPECT_EQ(visible("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(visible(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(json("\"\\<>&"), "\"\\\"\\\\\\u003c\\u003e\\u0026\"");
}

}  // namespace
}  // namespace weft::tools
