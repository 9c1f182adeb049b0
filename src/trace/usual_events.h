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
//   Budget   a round trip of two goroutines takes 56 ns without its six events, so each instruction counts: inline (out of line it was 15 ns
//            more), no copy of the place, and one reading of the clock (10 ns) for a goroutine's leaving and the next one's start, where
//            nothing lies between.
namespace weft::trace {

class UsualEvent {
 public:
  // `p` and `g` are where the thread is; g null: in the scheduler.
  UsualEvent(Lane* lane, std::uint32_t generation, const Mark* p, const Mark* g) noexcept {
    if (WEFT_UNLIKELY(!recorder.try_enter(lane, generation, section_))) return;
    if (WEFT_LIKELY(lane->p == p && lane->g == g && !lane->p_in_call)) return;
    give_up();
  }
  ~UsualEvent() {
    if (section_.lane != nullptr) section_.leave();
  }
  UsualEvent(const UsualEvent&) = delete;

  explicit operator bool() const noexcept { return section_.lane != nullptr; }
  // The other goroutine has been mentioned in this generation, and is in that state.
  bool knows(std::uint64_t word, format::GoStatus state) const noexcept {
    return (word & ~Word::kSequenceBits) == (section_.generation << 32 | static_cast<std::uint8_t>(state));
  }
  void set_goroutine(Mark* g, std::uint64_t id) noexcept {
    Lane& lane = *section_.lane;
    lane.g = g;
    lane.g_id = id;
    lane.g_in_call = false;
  }
  void leave_goroutine() noexcept { section_.lane->g = nullptr; }

  template <class... Numbers>
  void write_now(format::Event event, Numbers... numbers) noexcept {
    Lane& lane = *section_.lane;
    const std::uint64_t before = lane.last_time;
    const std::uint64_t now = std::max(recorder.now(), before);
    lane.last_time = now;
    write(event, now - before, numbers...);
  }
  // So much later than the event before.
  template <class... Numbers>
  void write(format::Event event, std::uint64_t later, Numbers... numbers) noexcept {
    unsigned char* at = section_.at;
    if (WEFT_LIKELY(later < 1u << 7)) {
      at = put_bytes(at, static_cast<std::uint16_t>(static_cast<unsigned>(event) | later << 8), 2);
    } else {
      *at++ = static_cast<unsigned char>(event);
      at = put_number(at, later);
    }
    ((at = put_number(at, static_cast<std::uint64_t>(numbers))), ...);
    section_.at = at;
    section_.written->at = at;
  }

 private:
  // There is room for more than is used.
  template <class Bytes>
  static unsigned char* put_bytes(unsigned char* at, Bytes bytes, int used) noexcept {
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(at, &bytes, sizeof bytes);
    return at + used;
  }
  // format::put_varint, with the sizes that occur in one store.
  static unsigned char* put_number(unsigned char* at, std::uint64_t value) noexcept {
    if (value < 1u << 7) return put_bytes(at, static_cast<std::uint8_t>(value), 1);
    if (value < 1u << 14)
      return put_bytes(at, static_cast<std::uint16_t>((value & 0x7f) | 0x80 | (value << 1 & 0x7f00)), 2);
    if (value < 1u << 21)
      return put_bytes(
          at, static_cast<std::uint32_t>((value & 0x7f) | 0x8080 | (value << 1 & 0x7f00) | (value << 2 & 0x7f0000)), 3);
    return format::put_varint(at, value);
  }
  void give_up() noexcept {
    section_.leave();
    section_.lane = nullptr;
  }

  Recorder::UsualSection section_;
};

// The thread's lane, and the number of the stack in the generation it last wrote in. Asked for first, before much is known that would have to
// be saved meanwhile.
struct Spot {
  Lane* lane = nullptr;  // null: something is not as usual
  std::uint32_t generation = 0;
  std::uint32_t stack = 0;  // none
};
__attribute__((always_inline)) inline Spot find_spot(const FrameChain& chain) noexcept {
  Spot spot;
  Lane* lane = os::current_lane();
  if (WEFT_UNLIKELY(lane == nullptr)) return spot;
  spot.generation = lane->generation;
  if (WEFT_LIKELY(chain.frame != nullptr)) {
    spot.stack = lane->chains.find(chain.frame, chain.high, spot.generation);
    if (WEFT_UNLIKELY(spot.stack == 0)) return spot;
  }
  spot.lane = lane;
  return spot;
}

// kGoBlock: it waits; kGoStop: it could go on.
__attribute__((always_inline)) inline bool usual_leave(format::Event event, const Mark* p, Mark* g, Reason reason,
                                                       const FrameChain& chain) noexcept {
  const Spot spot = find_spot(chain);
  if (WEFT_UNLIKELY(spot.lane == nullptr)) return false;
  UsualEvent it(spot.lane, spot.generation, p, g);
  if (WEFT_UNLIKELY(!it)) return false;
  it.write_now(event, reason_string(reason), spot.stack);
  const auto state = event == format::Event::kGoBlock ? format::GoStatus::kWaiting : format::GoStatus::kRunnable;
  g->word.store_relaxed(Word::with_state(g->word.load_relaxed(), static_cast<std::uint8_t>(state)));
  it.leave_goroutine();
  return true;
}

__attribute__((always_inline)) inline bool usual_unblock(const Spot& spot, const Mark* p, const Mark* g, Mark* woken,
                                                         std::uint64_t id) noexcept {
  using enum format::GoStatus;
  if (WEFT_UNLIKELY(spot.lane == nullptr)) return false;
  UsualEvent it(spot.lane, spot.generation, p, g);
  if (WEFT_UNLIKELY(!it)) return false;
  const std::uint64_t word = woken->word.load_acquire();  // pairs: trace.mark
  if (WEFT_UNLIKELY(!it.knows(word, kWaiting))) return false;
  const std::uint64_t next = Word::next(word, kWaiting, kRunnable);
  it.write_now(format::Event::kGoUnblock, id, Word::sequence(next), spot.stack);
  woken->word.store_relaxed(next);
  return true;
}

// `at_once`: after the one before has left, without a search; else the clock is read.
__attribute__((always_inline)) inline bool usual_start(const Mark* p, Mark* started, std::uint64_t id,
                                                       bool at_once) noexcept {
  using enum format::GoStatus;
  Lane* lane = os::current_lane();
  if (WEFT_UNLIKELY(lane == nullptr)) return false;
  UsualEvent it(lane, lane->generation, p, nullptr);
  if (WEFT_UNLIKELY(!it)) return false;
  const std::uint64_t word = started->word.load_acquire();  // pairs: trace.mark
  if (WEFT_UNLIKELY(!it.knows(word, kRunnable))) return false;
  const std::uint64_t next = Word::next(word, kRunnable, kRunning);
  if (at_once) {
    it.write(format::Event::kGoStart, 0, id, Word::sequence(next));
  } else {
    it.write_now(format::Event::kGoStart, id, Word::sequence(next));
  }
  started->word.store_relaxed(next);
  it.set_goroutine(started, id);
  return true;
}

// usual_leave() for kGoBlock and usual_start() in one.
__attribute__((always_inline)) inline bool usual_switch(const Spot& spot, const Mark* p, Mark* g, Reason reason,
                                                        Mark* started, std::uint64_t id) noexcept {
  using enum format::GoStatus;
  if (WEFT_UNLIKELY(spot.lane == nullptr)) return false;
  UsualEvent it(spot.lane, spot.generation, p, g);
  if (WEFT_UNLIKELY(!it)) return false;
  const std::uint64_t word = started->word.load_acquire();  // pairs: trace.mark
  if (WEFT_UNLIKELY(!it.knows(word, kRunnable))) return false;
  const std::uint64_t next = Word::next(word, kRunnable, kRunning);
  it.write_now(format::Event::kGoBlock, reason_string(reason), spot.stack);
  it.write(format::Event::kGoStart, 0, id, Word::sequence(next));
  g->word.store_relaxed(Word::with_state(g->word.load_relaxed(), static_cast<std::uint8_t>(kWaiting)));
  started->word.store_relaxed(next);
  it.set_goroutine(started, id);
  return true;
}

}  // namespace weft::trace
