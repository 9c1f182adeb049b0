// SPDX-License-Identifier: MIT
#include "trace_reader/replay.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "trace_reader/timeline.h"
#include "trace_reader/trace_builder.h"

namespace weft::tools {
namespace {

using Event = trace::format::Event;
using Written = TraceBuilder::Written;

constexpr std::uint64_t kRunning = 2;
constexpr std::uint64_t kWaiting = 4;

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};  // chars as bytes
}

struct Names final : EventSink {
  void event(const OrderedEvent& event) override {
    names += std::string(trace::format::spec(event.type).name) + "@" + std::to_string(event.context.m) + " ";
  }
  std::string names;
};

std::string order_of(const std::string& trace) {
  Names names;
  const auto fault = replay(read_trace(bytes_of(trace)), names);
  return fault ? "offset " + std::to_string(fault->offset) + ": " + fault->reason : names.names;
}

std::string reason_of(const std::string& trace) {
  Names names;
  const auto fault = replay(read_trace(bytes_of(trace)), names);
  if (!fault) return "valid";
  EXPECT_LE(fault->offset, trace.size());
  EXPECT_FALSE(fault->reason.empty());
  return fault->reason;
}

// P 0 and goroutine 1 run on M 0.
TraceBuilder running(std::initializer_list<Written> more, unsigned version = 23) {
  TraceBuilder trace(version);
  trace.events(1, 0, 100, {{Event::kProcStatus, {0, 0, 1}}, {Event::kGoStatus, {1, 1, 0, kRunning}}});
  trace.events(1, 0, 102, more);
  trace.strings(1, {"chan send", "work", "main", "main.cpp"}).stacks(1, {{11, 3, 4, 7}});
  return version >= 25 ? trace.sync(1) : trace.frequency(1);
}

std::string real_trace() {
  std::ifstream in(WEFT_TEST_DATA "/go126.trace", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(TraceReader, a_correct_trace_is_valid_in_every_version) {
  for (const unsigned version : {22u, 23u, 25u}) {
    EXPECT_EQ(reason_of(running({{Event::kGoBlock, {1, 1, 1}}}, version).bytes()), "valid") << version;
  }
  EXPECT_EQ(reason_of(running({{Event::kGoBlock, {1, 1, 1}}}, 26).raw("\x34").bytes()), "valid");
}

TEST(TraceReader, foreign_files_are_refused_at_their_first_byte) {
  EXPECT_EQ(order_of(""), "offset 0: the file is empty");
  for (const std::string text : {"hello",
                                 "\x7f"
                                 "ELF",
                                 "go 2.23 trace", "go 1.2x trace"}) {
    EXPECT_EQ(order_of(text), "offset 0: this is not an execution trace: it does not begin with \"go 1.NN trace\"")
        << text;
  }
  EXPECT_EQ(order_of("go 1.2"), "offset 6: the file ends in the middle of its header");
  EXPECT_NE(order_of(TraceBuilder(21).bytes()).find("cannot be read"), std::string::npos);
  EXPECT_EQ(order_of(TraceBuilder(23).bytes()), "offset 16: the file ends after its header: nothing was recorded");
}

TEST(TraceReader, sequence_numbers_order_events_against_their_times) {
  TraceBuilder trace;
  // M 1 unblocks goroutine 2 with a clock that is ahead of the blocking on M 0.
  trace.events(
      1, 0, 1000,
      {{Event::kProcStatus, {0, 0, 1}}, {Event::kGoStatus, {0, 2, 0, kRunning}}, {Event::kGoBlock, {9, 0, 0}}});
  trace.events(1, 1, 500,
               {{Event::kProcStatus, {0, 1, 1}}, {Event::kGoUnblock, {0, 2, 1, 0}}, {Event::kGoStart, {0, 2, 2}}});
  trace.frequency(1);
  EXPECT_EQ(order_of(trace.bytes()), "ProcStatus@1 ProcStatus@0 GoStatus@0 GoBlock@0 GoUnblock@1 GoStart@1 ");
}

TEST(TraceReader, a_switch_arrives_as_unblock_block_and_start) {
  const std::string trace = running({{Event::kGoCreateBlocked, {1, 5, 0, 0}},
                                     {Event::kGoSwitch, {1, 5, 1}},
                                     {Event::kGoSwitchDestroy, {1, 1, 1}}})
                                .bytes();
  EXPECT_EQ(
      order_of(trace),
      "ProcStatus@0 GoStatus@0 GoCreateBlocked@0 GoUnblock@0 GoBlock@0 GoStart@0 GoUnblock@0 GoDestroy@0 GoStart@0 ");
}

TEST(TraceReader, a_call_without_its_p_waits_for_the_thief) {
  TraceBuilder trace;
  trace.events(1, 0, 10,
               {{Event::kProcStatus, {0, 0, 1}},
                {Event::kGoStatus, {0, 1, 0, kRunning}},
                {Event::kGoSyscallBegin, {0, 1, 0}},
                {Event::kGoSyscallEndBlocked, {0}}});
  trace.events(1, 1, 50,
               {{Event::kProcSteal, {0, 0, 2, 0}}, {Event::kProcStart, {0, 0, 3}}, {Event::kGoStart, {0, 1, 1}}});
  trace.frequency(1);
  EXPECT_EQ(order_of(trace.bytes()),
            "ProcStatus@0 GoStatus@0 GoSyscallBegin@0 ProcSteal@1 GoSyscallEndBlocked@0 ProcStart@1 GoStart@1 ");
}

TEST(TraceReader, what_no_scheduler_may_do_is_named) {
  using L = std::initializer_list<Written>;
  EXPECT_EQ(reason_of(running(L{{Event::kProcStart, {1, 7, 1}}}).bytes()),
            "ProcStart on M 0 can never happen: P 7 was never mentioned before");
  EXPECT_EQ(reason_of(running(L{{Event::kGoStart, {1, 9, 1}}}).bytes()),
            "GoStart on M 0 can never happen: goroutine 9 does not exist");
  EXPECT_EQ(reason_of(running(L{{Event::kGoCreate, {1, 9, 0, 0}}, {Event::kGoStart, {1, 9, 2}}}).bytes()),
            "GoStart on M 0 can never happen: goroutine 9 is runnable at sequence number 0, the event has 2");
  EXPECT_EQ(reason_of(running(L{{Event::kGoCreate, {1, 9, 0, 0}}, {Event::kGoStart, {1, 9, 1}}}).bytes()),
            "GoStart on M 0: M 0 has goroutine 1 already");
  EXPECT_EQ(reason_of(running(L{{Event::kGoCreate, {1, 1, 0, 0}}}).bytes()),
            "GoCreate on M 0: goroutine 1 is created but exists already");
  EXPECT_EQ(reason_of(running(L{{Event::kProcStop, {1}}, {Event::kGoBlock, {1, 0, 0}}}).bytes()),
            "GoBlock on M 0: M 0 has no P");
  EXPECT_EQ(reason_of(running(L{{Event::kGoSyscallBegin, {1, 5, 0}}}).bytes()),
            "GoSyscallBegin on M 0: P 0 is at sequence number 0 of generation 1, the event has 5");
  EXPECT_EQ(reason_of(running(L{{Event::kStwEnd, {1}}}).bytes()), "STWEnd on M 0: the range was never begun");
  EXPECT_EQ(reason_of(running(L{{Event::kProcStatus, {1, 4, 1}}}).bytes()), "ProcStatus on M 0: M 0 has P 0 and P 4");
  EXPECT_EQ(reason_of(running(L{{Event::kGoStatus, {1, 1, 0, kWaiting}}}).bytes()),
            "GoStatus on M 0: goroutine 1 is running, not waiting");
  EXPECT_EQ(reason_of(running(L{{Event::kGoBlock, {1, 77, 0}}}).bytes()),
            "GoBlock names string 77, which is not in the table");
  EXPECT_EQ(reason_of(running(L{{Event::kGoBlock, {1, 1, 77}}}).bytes()),
            "GoBlock names stack 77, which is not in the table");
  EXPECT_EQ(
      reason_of(running(L{{Event::kUserRegionBegin, {1, 0, 1, 0}}, {Event::kUserRegionEnd, {1, 0, 2, 0}}}).bytes()),
      "UserRegionEnd on M 0: region \"work\" ends, but the innermost one is \"chan send\"");
}

TEST(TraceReader, a_p_cannot_be_on_two_ms) {
  TraceBuilder trace;
  trace.events(1, 0, 10, {{Event::kProcStatus, {0, 0, 1}}});
  trace.events(1, 1, 20, {{Event::kProcStatus, {0, 0, 1}}});
  trace.frequency(1);
  EXPECT_EQ(reason_of(trace.bytes()), "ProcStatus on M 1: P 0 is on M 0 and on M 1");
}

TEST(TraceReader, later_generations_must_agree_with_earlier_ones) {
  TraceBuilder trace = running({{Event::kGoBlock, {1, 1, 1}}});
  trace.events(
      2, 0, 300,
      {{Event::kProcStatus, {0, 0, 1}}, {Event::kGoStatus, {1, 1, 0, kWaiting}}, {Event::kGoUnblock, {1, 1, 1, 0}}});
  EXPECT_EQ(reason_of(TraceBuilder(trace).frequency(2).bytes()), "valid");
  TraceBuilder unknown = trace;
  unknown.events(2, 0, 400, {{Event::kGoStatus, {1, 8, 0, kWaiting}}}).frequency(2);
  EXPECT_EQ(reason_of(unknown.bytes()), "GoStatus on M 0: goroutine 8 gets a status but was never created");
  EXPECT_EQ(reason_of(TraceBuilder(trace).bytes()), "generation 2 has no frequency");
}

TEST(TraceReader, generations_before_a_cut_are_shown) {
  TraceBuilder trace = running({{Event::kGoBlock, {1, 1, 1}}});
  std::string cut = TraceBuilder(trace).events(2, 0, 300, {{Event::kProcStatus, {0, 0, 1}}}).bytes();
  cut.resize(cut.size() - 2);
  const Timeline line = make_timeline(read_trace(bytes_of(cut)));
  ASSERT_TRUE(line.fault);
  EXPECT_EQ(line.fault->reason, "the file ends in the middle of a batch of generation 2");
  EXPECT_EQ(line.events, 3u);
  ASSERT_EQ(line.goroutines.size(), 1u);
}

TEST(TraceReader, tables_with_limits_broken_are_refused) {
  EXPECT_NE(reason_of(TraceBuilder().strings(1, {std::string(1025, 'x')}).bytes()).find("a string of 1025 bytes"),
            std::string::npos);
  EXPECT_NE(reason_of(TraceBuilder().stacks(1, {std::vector<std::uint64_t>(4 * 129)}).bytes()).find("129 frames"),
            std::string::npos);
  EXPECT_NE(reason_of(TraceBuilder().stacks(1, {{1, 5, 0, 1}}).frequency(1).bytes()).find("names a string that is not"),
            std::string::npos);
  EXPECT_EQ(reason_of(TraceBuilder().frequency(1, 0).bytes()), "a frequency of zero");
  EXPECT_EQ(reason_of(TraceBuilder().frequency(1).frequency(1).bytes()), "generation 1 has two frequencies");
  EXPECT_EQ(reason_of(TraceBuilder().frequency(3).frequency(5).bytes()), "a batch of generation 5 inside generation 3");
  EXPECT_EQ(reason_of(TraceBuilder().raw("\x07").bytes()), "expected a batch, found byte 7");
  EXPECT_EQ(reason_of(TraceBuilder().raw("\x01\x01\x01\x01\xff\xff\xff\x7f").bytes()),
            "a batch of 268435455 bytes; the format allows 65536");
}

TEST(TraceReader, a_real_trace_cut_at_any_byte_is_one_fault_with_a_place) {
  const std::string trace = real_trace();
  ASSERT_GT(trace.size(), 1000u);
  ASSERT_EQ(reason_of(trace), "valid");
  for (std::size_t size = 0; size < trace.size(); ++size) {
    const std::string cut = trace.substr(0, size);
    const Timeline line = make_timeline(read_trace(bytes_of(cut)));
    ASSERT_TRUE(line.fault) << "cut at " << size;
    ASSERT_LE(line.fault->offset, size);
    ASSERT_FALSE(line.fault->reason.empty());
  }
}

TEST(TraceReader, a_real_trace_with_any_bit_flipped_is_read_or_refused_with_a_place) {
  const std::string trace = real_trace();
  for (std::size_t bit = 0; bit < trace.size() * 8; bit += 5) {
    std::string flipped = trace;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const Timeline line = make_timeline(read_trace(bytes_of(flipped)));
    if (!line.fault) continue;
    ASSERT_LE(line.fault->offset, flipped.size()) << bit;
    ASSERT_FALSE(line.fault->reason.empty()) << bit;
  }
}

}  // namespace
}  // namespace weft::tools
