// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "trace/emit.h"
#include "trace/fixed_strings.h"
#include "trace/format.h"
#include "trace/recorder.h"

// The events of which a busy scheduler makes twelve million a second on one P (block, stop, unblock, start), as they usually are: readers know this
// thread's P and goroutine already, the other goroutine has been mentioned in this generation, its stack has a number. They write what
// emit.h's functions would. False: something is different, nothing was written, and emit.h has to see to it.
//   Budget   a round trip of two goroutines takes 62 ns without its six events, so each instruction counts: inline (out of line it was 15 ns
//            more), no copy of the place, and one reading of the clock (10 ns) for a goroutine's leaving and the next one's start, where
//            nothing lies between.
namespace weft::trace {

class UsualEvent {
 public:
  // `p` and `g` are where the thread is; g null: in the scheduler.
  UsualEvent(Mark* p, Mark* g) noexcept : lane_(recorder.try_enter()) {
    if (WEFT_LIKELY(lane_ != nullptr && lane_->p == p && lane_->g == g && !lane_->p_in_call)) return;
    if (lane_ != nullptr) recorder.leave(*lane_);
    lane_ = nullptr;
  }
  ~UsualEvent() {
    if (lane_ != nullptr) recorder.leave(*lane_);
  }
  UsualEvent(const UsualEvent&) = delete;

  explicit operator bool() const noexcept { return lane_ != nullptr; }
  std::uint32_t generation() const noexcept { return lane_->generation; }
  // False: not known, or there is none.
  bool stack(const FrameChain& chain, std::uint32_t& number) const noexcept {
    number = 0;
    return chain.frame == nullptr || (number = lane_->chains.find(chain, lane_->generation)) != 0;
  }
  void set_goroutine(Mark* g, std::uint64_t id) noexcept {
    lane_->g = g;
    lane_->g_id = id;
    lane_->g_in_call = false;
  }
  void leave_goroutine() noexcept { lane_->g = nullptr; }

  template <class... Numbers>
  void write_now(format::Event event, Numbers... numbers) noexcept {
    const std::uint64_t before = lane_->last_time;
    const std::uint64_t now = std::max(recorder.now(), before);
    lane_->last_time = now;
    write(event, now - before, numbers...);
  }
  // At the time of the event before.
  template <class... Numbers>
  void write(format::Event event, std::uint64_t later, Numbers... numbers) noexcept {
    Lane::Written& written = lane_->open();
    unsigned char* at = written.at;
    *at++ = static_cast<unsigned char>(event);
    at = put_number(at, later);
    ((at = put_number(at, static_cast<std::uint64_t>(numbers))), ...);
    written.at = at;
  }

 private:
  // format::put_varint, with the sizes that occur in one store. There is room for more than is used.
  static unsigned char* put_number(unsigned char* at, std::uint64_t value) noexcept {
    static_assert(std::endian::native == std::endian::little);
    if (value < 1u << 7) {
      *at = static_cast<unsigned char>(value);
      return at + 1;
    }
    if (value < 1u << 14) {
      const auto bytes = static_cast<std::uint16_t>((value & 0x7f) | 0x80 | (value << 1 & 0x7f00));
      std::memcpy(at, &bytes, sizeof bytes);
      return at + 2;
    }
    if (value < 1u << 21) {
      const auto bytes =
          static_cast<std::uint32_t>((value & 0x7f) | 0x8080 | (value << 1 & 0x7f00) | (value << 2 & 0x7f0000));
      std::memcpy(at, &bytes, sizeof bytes);
      return at + 3;
    }
    return format::put_varint(at, value);
  }

  Lane* lane_;
};

// kGoBlock: it waits; kGoStop: it could go on.
__attribute__((always_inline)) inline bool usual_leave(format::Event event, Mark* p, Mark* g, Reason reason,
                                                       const FrameChain& chain) noexcept {
  UsualEvent it(p, g);
  std::uint32_t stack;
  if (WEFT_UNLIKELY(!it || !it.stack(chain, stack))) return false;
  it.write_now(event, reason_string(reason), stack);
  const auto state = event == format::Event::kGoBlock ? format::GoStatus::kWaiting : format::GoStatus::kRunnable;
  g->word.store_relaxed(Word::with_state(g->word.load_relaxed(), static_cast<std::uint8_t>(state)));
  it.leave_goroutine();
  return true;
}

__attribute__((always_inline)) inline bool usual_unblock(Mark* p, Mark* g, Mark* woken, std::uint64_t id,
                                                         const FrameChain& chain) noexcept {
  UsualEvent it(p, g);
  std::uint32_t stack;
  if (WEFT_UNLIKELY(!it || !it.stack(chain, stack))) return false;
  const std::uint64_t word = woken->word.load_acquire();  // pairs: trace.mark
  constexpr auto kWaiting = static_cast<std::uint8_t>(format::GoStatus::kWaiting);
  if (WEFT_UNLIKELY(Word::generation(word) != it.generation() || Word::state(word) != kWaiting)) return false;
  const std::uint64_t sequence = Word::sequence(word) + 1;
  it.write_now(format::Event::kGoUnblock, id, sequence, stack);
  woken->word.store_relaxed(
      Word::make(it.generation(), sequence, static_cast<std::uint8_t>(format::GoStatus::kRunnable)));
  return true;
}

// `at_once`: after the one before has left, without a search; else the clock is read.
__attribute__((always_inline)) inline bool usual_start(Mark* p, Mark* started, std::uint64_t id,
                                                       bool at_once) noexcept {
  UsualEvent it(p, nullptr);
  if (WEFT_UNLIKELY(!it)) return false;
  const std::uint64_t word = started->word.load_acquire();  // pairs: trace.mark
  constexpr auto kRunnable = static_cast<std::uint8_t>(format::GoStatus::kRunnable);
  if (WEFT_UNLIKELY(Word::generation(word) != it.generation() || Word::state(word) != kRunnable)) return false;
  const std::uint64_t sequence = Word::sequence(word) + 1;
  if (at_once) {
    it.write(format::Event::kGoStart, 0, id, sequence);
  } else {
    it.write_now(format::Event::kGoStart, id, sequence);
  }
  started->word.store_relaxed(
      Word::make(it.generation(), sequence, static_cast<std::uint8_t>(format::GoStatus::kRunning)));
  it.set_goroutine(started, id);
  return true;
}

}  // namespace weft::trace
