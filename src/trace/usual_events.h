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
//   Budget   a round trip of two goroutines takes 56 to 85 ns without its six events, so each instruction counts: inline (out of line it was 15 ns
//            more), no copy of the place, and one reading of the clock (10 ns) for a goroutine's leaving and the next one's start, where
//            nothing lies between.
//   _there   the most frequent, of a goroutine that does what it has done before: they call nothing, so that who has them in line and calls
//            nothing else either saves no registers. `ticks`: when it began; read first of all, for the processor waits with it for what comes before,
//            longest for a locked operation.
namespace weft::trace {

class UsualEvent {
 public:
  // `p` and `g` are where the thread is; g null: in the scheduler.
  UsualEvent(const Mark* p, const Mark* g) noexcept {
    Lane* lane = os::current_lane();
    if (WEFT_UNLIKELY(lane == nullptr || !recorder.try_enter(*lane))) return;
    lane_ = lane;
    if (WEFT_UNLIKELY(lane->p != p || lane->g != g || lane->p_in_call)) give_up();
  }
  ~UsualEvent() {
    if (lane_ != nullptr) recorder.leave(*lane_);
  }
  UsualEvent(const UsualEvent&) = delete;

  explicit operator bool() const noexcept { return lane_ != nullptr; }
  // Where to write; null: no room is left.
  Lane::Written* room() const noexcept {
    Lane::Written& open = lane_->open();
    return WEFT_LIKELY(open.at < open.limit) ? &open : nullptr;
  }
  // The other goroutine has been mentioned in this generation, and is in that state.
  bool knows(std::uint64_t word, format::GoStatus state) const noexcept {
    return Word::is(word, lane_->generation(), state);
  }
  // The stack's number; 0: not known.
  std::uint32_t find(const FrameChain& chain, ChainHint& hint) const noexcept {
    return lane_->chains.find(chain.frame, chain.high, lane_->generation(), hint);
  }
  // In line, and only where it was last.
  bool find_there(const FrameChain& chain, ChainHint hint, std::uint32_t& stack) const noexcept {
    return lane_->chains.find_there(chain.frame, chain.high, lane_->generation(), hint, stack);
  }
  void set_goroutine(Mark* g, std::uint64_t id) noexcept {
    lane_->g = g;
    lane_->g_id = id;
    lane_->g_in_call = false;
  }
  void leave_goroutine() noexcept { lane_->g = nullptr; }

  // How much later than the event before.
  std::uint64_t later(std::uint64_t ticks = os::ticks()) noexcept {
    const auto before = static_cast<std::int64_t>(lane_->last_time);
    const std::int64_t now = std::max(recorder.time_of(ticks), before);
    lane_->last_time = static_cast<std::uint64_t>(now);
    return static_cast<std::uint64_t>(now - before);
  }

  // An event consists of numbers, and counts when all of them are there and `Written::at` is behind them.
  static unsigned char* put(unsigned char* at, format::Event event, std::uint64_t later) noexcept {
    if (WEFT_LIKELY(later < 1u << 7))
      return put_bytes(at, static_cast<std::uint16_t>(static_cast<unsigned>(event) | later << 8), 2);
    *at++ = static_cast<unsigned char>(event);
    return put(at, later);
  }
  // format::put_varint, with the sizes that occur in one store.
  static unsigned char* put(unsigned char* at, std::uint64_t value) noexcept {
    if (value < 1u << 7) return put_bytes(at, static_cast<std::uint8_t>(value), 1);
    if (value < 1u << 14)
      return put_bytes(at, static_cast<std::uint16_t>((value & 0x7f) | 0x80 | (value << 1 & 0x7f00)), 2);
    if (value < 1u << 21)
      return put_bytes(
          at, static_cast<std::uint32_t>((value & 0x7f) | 0x8080 | (value << 1 & 0x7f00) | (value << 2 & 0x7f0000)), 3);
    return format::put_varint(at, value);
  }
  static unsigned char* put(unsigned char* at, format::Event event, std::uint64_t later, Reason reason) noexcept {
    const unsigned text = reason_string(reason);  // one byte: there are not so many
    if (WEFT_UNLIKELY(later >= 1u << 7)) return put(put(at, event, later), std::uint64_t{text});
    return put_bytes(at, static_cast<std::uint32_t>(static_cast<unsigned>(event) | later << 8 | text << 16), 3);
  }

 private:
  // There is room for more than is used.
  template <class Bytes>
  static unsigned char* put_bytes(unsigned char* at, Bytes bytes, int used) noexcept {
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(at, &bytes, sizeof bytes);
    return at + used;
  }
  void give_up() noexcept {
    recorder.leave(*lane_);
    lane_ = nullptr;
  }

  Lane* lane_ = nullptr;
};

// kGoBlock: it waits; kGoStop: it could go on.
__attribute__((always_inline)) inline bool usual_leave(format::Event event, const Mark* p, Mark* g, Reason reason,
                                                       const FrameChain& chain, ChainHint& hint) noexcept {
  UsualEvent it(p, g);
  if (WEFT_UNLIKELY(!it)) return false;
  std::uint32_t stack = 0;
  if (WEFT_LIKELY(chain.frame != nullptr) && WEFT_UNLIKELY((stack = it.find(chain, hint)) == 0)) return false;
  Lane::Written* written = it.room();
  if (WEFT_UNLIKELY(written == nullptr)) return false;
  unsigned char* at = it.put(written->at, event, it.later(), reason);
  written->at = it.put(at, stack);
  const auto state = event == format::Event::kGoBlock ? format::GoStatus::kWaiting : format::GoStatus::kRunnable;
  g->word.store_relaxed(Word::with_state(g->word.load_relaxed(), static_cast<std::uint8_t>(state)));
  it.leave_goroutine();
  return true;
}

// In a section, with the number of the stack.
__attribute__((always_inline)) inline bool write_unblock(UsualEvent& it, std::uint32_t stack, Mark* woken,
                                                         std::uint64_t id, std::uint64_t ticks) noexcept {
  using enum format::GoStatus;
  const std::uint64_t word = woken->word.load_acquire();  // pairs: trace.mark
  Lane::Written* written = it.room();
  if (WEFT_UNLIKELY(written == nullptr || !it.knows(word, kWaiting))) return false;
  const std::uint64_t next = Word::next(word, kWaiting, kRunnable);
  unsigned char* at = it.put(written->at, format::Event::kGoUnblock, it.later(ticks));
  at = it.put(at, id);
  at = it.put(at, Word::sequence(next));
  written->at = it.put(at, stack);
  woken->word.store_relaxed(next);
  return true;
}
// By anybody.
__attribute__((always_inline)) inline bool usual_unblock(const Mark* p, const Mark* g, const FrameChain& chain,
                                                         ChainHint& hint, Mark* woken, std::uint64_t id) noexcept {
  UsualEvent it(p, g);
  if (WEFT_UNLIKELY(!it)) return false;
  std::uint32_t stack = 0;
  if (WEFT_LIKELY(chain.frame != nullptr) && WEFT_UNLIKELY((stack = it.find(chain, hint)) == 0)) return false;
  return write_unblock(it, stack, woken, id, os::ticks());
}
// By a goroutine from where it has done so before: calls nothing.
__attribute__((always_inline)) inline bool usual_unblock_there(const Mark* p, const Mark* g, const FrameChain& chain,
                                                               ChainHint hint, Mark* woken, std::uint64_t id,
                                                               std::uint64_t ticks) noexcept {
  UsualEvent it(p, g);
  if (WEFT_UNLIKELY(!it)) return false;
  std::uint32_t stack;
  return WEFT_LIKELY(it.find_there(chain, hint, stack)) && write_unblock(it, stack, woken, id, ticks);
}

// `at_once`: after the one before has left, without a search; else the clock is read.
__attribute__((always_inline)) inline bool usual_start(const Mark* p, Mark* started, std::uint64_t id,
                                                       bool at_once) noexcept {
  using enum format::GoStatus;
  UsualEvent it(p, nullptr);
  if (WEFT_UNLIKELY(!it)) return false;
  const std::uint64_t word = started->word.load_acquire();  // pairs: trace.mark
  Lane::Written* written = it.room();
  if (WEFT_UNLIKELY(written == nullptr || !it.knows(word, kRunnable))) return false;
  const std::uint64_t next = Word::next(word, kRunnable, kRunning);
  unsigned char* at = it.put(written->at, format::Event::kGoStart, at_once ? 0 : it.later());
  at = it.put(at, id);
  written->at = it.put(at, Word::sequence(next));
  started->word.store_relaxed(next);
  it.set_goroutine(started, id);
  return true;
}

// usual_leave() for kGoBlock and usual_start() in one, of a goroutine that has waited there before: calls nothing.
__attribute__((always_inline)) inline bool usual_switch_there(const Mark* p, Mark* g, Reason reason,
                                                              const FrameChain& chain, ChainHint hint, Mark* started,
                                                              std::uint64_t id, std::uint64_t ticks) noexcept {
  using enum format::GoStatus;
  UsualEvent it(p, g);
  std::uint32_t stack;
  if (WEFT_UNLIKELY(!it || !it.find_there(chain, hint, stack))) return false;
  const std::uint64_t word = started->word.load_acquire();  // pairs: trace.mark
  Lane::Written* written = it.room();
  if (WEFT_UNLIKELY(written == nullptr || !it.knows(word, kRunnable))) return false;
  const std::uint64_t next = Word::next(word, kRunnable, kRunning);
  unsigned char* at = it.put(written->at, format::Event::kGoBlock, it.later(ticks), reason);
  at = it.put(at, stack);
  at = it.put(at, format::Event::kGoStart, 0);
  at = it.put(at, id);
  written->at = it.put(at, Word::sequence(next));
  g->word.store_relaxed(Word::with_state(g->word.load_relaxed(), static_cast<std::uint8_t>(kWaiting)));
  started->word.store_relaxed(next);
  it.set_goroutine(started, id);
  return true;
}

}  // namespace weft::trace
