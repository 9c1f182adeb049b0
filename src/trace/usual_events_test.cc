// SPDX-License-Identifier: MIT
#include "trace/usual_events.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace weft::trace {
namespace {

using enum format::GoStatus;

constexpr std::uint8_t bits(format::GoStatus state) { return static_cast<std::uint8_t>(state); }

// Numbers of each encoded size, and around each change of size.
std::vector<std::uint64_t> numbers() {
  std::vector<std::uint64_t> all;
  for (unsigned shift = 0; shift < 25; ++shift)
    for (const int beside : {-1, 0, 1}) all.push_back((std::uint64_t{1} << shift) + static_cast<std::uint64_t>(beside));
  all.push_back(Word::kSequences - 3);
  return all;
}

TEST(Word, holds_what_it_is_made_of) {
  for (const std::uint32_t generation : {1u, 7u, UINT32_MAX})
    for (const std::uint64_t number : numbers()) {
      const std::uint64_t word = Word::make(generation, number, bits(kWaiting));
      EXPECT_EQ(Word::generation(word), generation);
      EXPECT_EQ(Word::sequence(word), number);
      EXPECT_EQ(Word::state(word), bits(kWaiting));
      EXPECT_EQ(Word::with_state(word, bits(kSyscall)), Word::make(generation, number, bits(kSyscall)));
    }
}

TEST(Word, next_is_as_if_made_with_the_next_number) {
  for (const std::uint64_t number : numbers()) {
    const std::uint64_t waiting = Word::make(7, number, bits(kWaiting));
    const std::uint64_t runnable = Word::next(waiting, kWaiting, kRunnable);
    EXPECT_EQ(runnable, Word::make(7, number + 1, bits(kRunnable))) << number;
    EXPECT_EQ(Word::next(runnable, kRunnable, kRunning), Word::make(7, number + 2, bits(kRunning))) << number;
  }
}

TEST(Word, changed_is_with_another_state) {
  for (const std::uint64_t number : numbers())
    for (const format::GoStatus to : {kWaiting, kRunnable}) {
      const std::uint64_t word = Word::make(7, number, bits(kRunning));
      EXPECT_EQ(Word::changed(word, kRunning, to), Word::make(7, number, bits(to)));
    }
}

TEST(Word, is_of_one_generation_and_state) {
  for (const std::uint64_t number : numbers()) {
    const std::uint64_t word = Word::make(7, number, bits(kWaiting));
    EXPECT_TRUE(Word::is(word, Word::marked(7), kWaiting));
    for (const std::uint32_t other : {6u, 8u, 7u | 1u << 31})
      EXPECT_FALSE(Word::is(word, Word::marked(other), kWaiting));
    for (const format::GoStatus other : {kRunnable, kRunning, kSyscall})
      EXPECT_FALSE(Word::is(word, Word::marked(7), other));
  }
  EXPECT_FALSE(Word::is(0, Word::marked(7), kWaiting));
}

TEST(UsualEvent, writes_a_sequence_number_as_any_other) {
  for (const std::uint64_t number : numbers()) {
    unsigned char expected[format::kMaxVarint] = {}, written[format::kMaxVarint] = {};
    const auto size = format::put_varint(expected, number) - expected;
    ASSERT_EQ(UsualEvent::put_sequence(written, Word::make(UINT32_MAX, number, 15)) - written, size) << number;
    EXPECT_TRUE(std::equal(expected, expected + size, written)) << number;
  }
}

// The difference in time that is written for an event so many units after the one before.
std::uint64_t written_time(UsualEvent& it, std::int64_t units) {
  const std::uint64_t now = os::ticks(), many = 1 << 20;
  const std::uint64_t ticks_per_unit = many / (Recorder::time_of(now + many) - Recorder::time_of(now));
  const std::uint64_t last = os::current_lane()->last_time;
  const std::uint64_t ahead = last + static_cast<std::uint64_t>(units) - Recorder::time_of(now);
  unsigned char bytes[2 * format::kMaxVarint];
  const unsigned char* end =
      it.put(bytes, format::Event::kGoStart, now + ahead * ticks_per_unit);
  EXPECT_EQ(bytes[0], static_cast<unsigned char>(format::Event::kGoStart));
  std::uint64_t later = 0;
  EXPECT_EQ(format::get_varint(bytes + 1, end, later), end);
  return later;
}

TEST(UsualEvent, writes_how_much_later_it_is_and_never_goes_back) {
  recorder.prepare({});
  recorder.begin_session();
  ASSERT_TRUE(Section());
  if (UsualEvent it(nullptr, nullptr); it) {  // false where sections need a fence
    const std::uint64_t& last = os::current_lane()->last_time;
    for (const std::uint64_t later : numbers()) {
      const std::uint64_t before = last;
      EXPECT_EQ(written_time(it, static_cast<std::int64_t>(later)), later);
      EXPECT_EQ(last, before + later);
    }
    for (const std::int64_t earlier : {1, 127, 128, 1 << 20}) {
      const std::uint64_t before = last;
      EXPECT_EQ(written_time(it, -earlier), 0u);
      EXPECT_EQ(last, before);
    }
  }
  recorder.end_generation(true, false);
}

// Also if the thread has recorded in a longer session before.
TEST(Recorder, times_are_counted_from_the_beginning_of_the_session) {
  recorder.prepare({});
  std::thread([] {  // a new thread, whose lane is as new
    for (const int length_us : {20'000, 0}) {
      recorder.begin_session();
      const std::uint64_t before = recorder.now_in_session();
      EXPECT_LT(before, Recorder::now());
      if (Section section; section) {
        const std::uint64_t time = section.lane().open().last->time;
        EXPECT_GE(time, before);
        EXPECT_LE(time, recorder.now_in_session());
      }
      usleep(static_cast<useconds_t>(length_us));
      EXPECT_TRUE(Section());
      recorder.end_generation(true, false);
    }
  })
      .join();
}

TEST(KnownPlace, holds_a_p_and_a_goroutine) {
  Mark p, g, other;
  KnownPlace known;
  EXPECT_EQ(known.p(), nullptr);
  EXPECT_EQ(known.g(), nullptr);
  EXPECT_FALSE(known.p_runs(&p));
  known.start_p(&p);
  EXPECT_TRUE(known.p_runs(&p));
  EXPECT_FALSE(known.p_runs(&other));
  EXPECT_TRUE(known.g_runs(nullptr));
  known.start_g(&g);
  EXPECT_TRUE(known.g_runs(&g));
  EXPECT_FALSE(known.g_runs(&other));
  EXPECT_FALSE(known.g_runs(nullptr));
  known.forget_g();
  EXPECT_EQ(known.g(), nullptr);
  EXPECT_TRUE(known.p_runs(&p));
  known.start_g(&g);
  known.forget();
  EXPECT_EQ(known.p(), nullptr);
  EXPECT_EQ(known.g(), nullptr);
}

TEST(KnownPlace, nothing_runs_in_a_call) {
  Mark p, g, other;
  KnownPlace known;
  known.start_p(&p);
  known.start_g(&g);
  known.begin_call();
  EXPECT_TRUE(known.p_in_call() && known.g_in_call());
  EXPECT_EQ(known.p(), &p);
  EXPECT_EQ(known.g(), &g);
  EXPECT_FALSE(known.p_runs(&p));
  EXPECT_FALSE(known.g_runs(&g));
  known.end_call();
  EXPECT_FALSE(known.p_in_call() || known.g_in_call());
  EXPECT_TRUE(known.p_runs(&p) && known.g_runs(&g));

  known.begin_call();
  known.forget_p();  // taken
  EXPECT_FALSE(known.p_in_call());
  EXPECT_EQ(known.p(), nullptr);
  known.start_p(&other);
  EXPECT_TRUE(known.p_runs(&other));
  EXPECT_TRUE(known.g_in_call());  // until its end is recorded
  EXPECT_FALSE(known.g_runs(&g));
  known.forget_g();
  known.start_g(&g);
  EXPECT_TRUE(known.g_runs(&g));
}

#if WEFT_DEBUG_CHECKS
TEST(KnownPlaceDeathTest, no_p_changes_under_a_goroutine_that_runs) {
  Mark p, g, other;
  KnownPlace known;
  EXPECT_DEATH(known.start_g(&g), "a goroutine runs on a P");
  known.start_p(&p);
  known.start_g(&g);
  EXPECT_DEATH(known.start_p(&other), "no P changes under a goroutine that runs");
  EXPECT_DEATH(known.forget_p(), "no P changes under a goroutine that runs");
  known.begin_call();
  known.forget_p();
}
#endif

TEST(Lane, marks_those_of_its_generation) {
  const auto lane = std::make_unique<Lane>();
  for (const std::uint32_t generation : {5u, 6u}) {
    lane->go_on_in(generation);
    EXPECT_EQ(lane->generation(), generation);
    EXPECT_TRUE(Word::is(Word::make(generation, 1, bits(kRunnable)), lane->marked, kRunnable));
    EXPECT_FALSE(Word::is(Word::make(generation - 1, 1, bits(kRunnable)), lane->marked, kRunnable));
  }
}

}  // namespace
}  // namespace weft::trace
