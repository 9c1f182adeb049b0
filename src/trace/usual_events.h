// SPDX-License-Identifier: MIT
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

#include "trace/emit.h"
#include "trace/fixed_strings.h"
#include "trace/format.h"
#include "trace/recorder.h"

// Fast paths for block, stop, unblock and start, of which a busy scheduler makes twelve million a second on one P. They
// cover the usual case: readers know this thread's P and goroutine already, the other goroutine has been mentioned in
// this generation, and the event's stack has a number. They write what emit.h's functions would. False: the case is not
// the usual one, nothing was written, and the caller must use emit.h.
//   Budget   A round trip of two goroutines takes 56 to 85 ns without its six events, so each instruction counts.
//            Therefore: inline (out of line it was 15 ns more), no copy of the place, and one reading of the clock (10
//            ns) for a goroutine's leaving and the next one's start if nothing lies between. Where the clock is read
//            matters: as the first or the last thing in the function it costs 2 ns more.
//   _there   The most frequent case: a goroutine does what it has done before. These functions call nothing, so a
//            function that inlines them and makes no other call saves no registers. Numbers passed by reference are
//            read where they are written, instead of being kept in registers until then.
namespace weft::trace {

class UsualEvent {
 public:
  // The thread's P and goroutine; g null: the thread is in the scheduler.
  UsualEvent(const Mark* p, const Mark* g) noexcept {
    if (WEFT_LIKELY(enter()) && WEFT_UNLIKELY(!lane_->known.p_runs(p) || !lane_->known.g_runs(g))) give_up();
  }
  // In goroutine g. If g is known to run here, so is the P (KnownPlace).
  explicit UsualEvent(const Mark& g) noexcept {
    if (WEFT_LIKELY(enter()) && WEFT_UNLIKELY(!lane_->known.g_runs(&g))) give_up();
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
  // The other goroutine, whose word this is, has been mentioned in this generation and is in that state.
  bool knows(std::uint64_t word, format::GoStatus state) const noexcept { return Word::is(word, lane_->marked, state); }
  // The stack's number; 0: not known.
  std::uint32_t find(const FrameChain& chain, ChainHint& hint) const noexcept {
    return lane_->chains.find(chain.frame, chain.high, hint);
  }
  // Inline, and looks only at the hint's entry.
  const std::uint32_t* find_there(const FrameChain& chain, ChainHint hint) const noexcept {
    return lane_->chains.find_there(chain.frame, chain.high, hint);
  }
  void set_goroutine(Mark* g, std::uint64_t id) noexcept {
    lane_->known.start_g(g);
    lane_->g_id = id;
  }
  void leave_goroutine() noexcept { lane_->known.forget_g(); }

  // An event is a row of numbers. It counts once all of them are written and `Written::at` is behind them. The first
  // two: the event's type, and how much later it is than the event before.
  unsigned char* put(unsigned char* at, format::Event event, std::uint64_t ticks) noexcept {
    const std::uint64_t now = Recorder::time_of(ticks);
    std::uint64_t later = now - lane_->last_time;
    if (WEFT_LIKELY(later < 1u << 7)) {
      lane_->last_time = now;
      return put_bytes(at, static_cast<std::uint16_t>(static_cast<unsigned>(event) | later << 8), 2);
    }
    if (WEFT_LIKELY(static_cast<std::int64_t>(later) > 0)) {
      lane_->last_time = now;
    } else {
      later = 0;  // the ticks are older than the event before
    }
    *at++ = static_cast<unsigned char>(event);
    return put(at, later);
  }
  static unsigned char* put_at_once(unsigned char* at, format::Event event) noexcept {
    return put_bytes(at, static_cast<std::uint32_t>(event), 2);  // a 16-bit constant would go through a register
  }
  // format::put_varint(), but the usual sizes take one store.
  static unsigned char* put(unsigned char* at, std::uint64_t value) noexcept {
    if (value < 1u << 7) return put_bytes(at, static_cast<std::uint8_t>(value), 1);
    if (value < 1u << 14)
      return put_bytes(at, static_cast<std::uint16_t>((value & 0x7f) | 0x80 | (value << 1 & 0x7f00)), 2);
    if (value < 1u << 21)
      return put_bytes(
          at, static_cast<std::uint32_t>((value & 0x7f) | 0x8080 | (value << 1 & 0x7f00) | (value << 2 & 0x7f0000)), 3);
    return format::put_varint(at, value);
  }
  static unsigned char* put(unsigned char* at, Reason reason) noexcept {  // one byte: there are few reasons
    return put_bytes(at, static_cast<std::uint8_t>(reason_string(reason)), 1);
  }
  // The sequence number: its bytes are in the word.
  static unsigned char* put_sequence(unsigned char* at, std::uint64_t word) noexcept {
    const auto bytes = static_cast<std::uint32_t>(word);
    if (WEFT_UNLIKELY((bytes & 0x0f000000) != 0)) return put_bytes(at, bytes & 0x0fffffff, 4);
    if ((bytes & 0x7f0000) != 0) return put_bytes(at, bytes & 0x7fffff, 3);
    if ((bytes & 0x7f00) != 0) return put_bytes(at, static_cast<std::uint16_t>(bytes & 0x7fff), 2);
    return put_bytes(at, static_cast<std::uint8_t>(bytes & 0x7f), 1);
  }

 private:
  // Stores all of `bytes`, of which `used` count: there is room for more than is used.
  template <class Bytes>
  static unsigned char* put_bytes(unsigned char* at, Bytes bytes, int used) noexcept {
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(at, &bytes, sizeof bytes);
    return at + used;
  }
  bool enter() noexcept {
    Lane* lane = os::current_lane();
    if (WEFT_UNLIKELY(lane == nullptr || !recorder.try_enter(*lane))) return false;
    lane_ = lane;
    return true;
  }
  void give_up() noexcept {
    recorder.leave(*lane_);
    lane_ = nullptr;
  }

  Lane* lane_ = nullptr;
};

// kGoBlock: the goroutine waits; kGoStop: it could go on.
__attribute__((always_inline)) inline bool usual_leave(format::Event event, Mark* g, Reason reason,
                                                       const FrameChain& chain, ChainHint& hint) noexcept {
  UsualEvent it(*g);
  if (WEFT_UNLIKELY(!it)) return false;
  std::uint32_t stack = 0;
  if (WEFT_LIKELY(chain.frame != nullptr) && WEFT_UNLIKELY((stack = it.find(chain, hint)) == 0)) return false;
  Lane::Written* written = it.room();
  if (WEFT_UNLIKELY(written == nullptr)) return false;
  unsigned char* at = it.put(written->at, event, os::ticks());
  at = it.put(at, reason);
  written->at = it.put(at, std::uint64_t{stack});
  const auto state = event == format::Event::kGoBlock ? format::GoStatus::kWaiting : format::GoStatus::kRunnable;
  g->word.store_relaxed(Word::changed(g->word.load_relaxed(), format::GoStatus::kRunning, state));
  it.leave_goroutine();
  return true;
}

// In a section, with the number of the stack.
__attribute__((always_inline)) inline bool write_unblock(UsualEvent& it, const std::uint32_t& stack, Mark* woken,
                                                         const std::uint64_t& id) noexcept {
  using enum format::GoStatus;
  const std::uint64_t word = woken->word.load_acquire();  // pairs: trace.mark
  Lane::Written* written = it.room();
  if (WEFT_UNLIKELY(written == nullptr || !it.knows(word, kWaiting))) return false;
  const std::uint64_t next = Word::next(word, kWaiting, kRunnable);
  unsigned char* at = it.put(written->at, format::Event::kGoUnblock, os::ticks());
  at = it.put(at, id);
  at = it.put_sequence(at, next);
  written->at = it.put(at, std::uint64_t{stack});
  woken->word.store_relaxed(next);
  return true;
}
// From any thread, in a goroutine or not.
__attribute__((always_inline)) inline bool usual_unblock(const Mark* p, const Mark* g, const FrameChain& chain,
                                                         ChainHint& hint, Mark* woken, std::uint64_t id) noexcept {
  UsualEvent it(p, g);
  if (WEFT_UNLIKELY(!it)) return false;
  std::uint32_t stack = 0;
  if (WEFT_LIKELY(chain.frame != nullptr) && WEFT_UNLIKELY((stack = it.find(chain, hint)) == 0)) return false;
  return write_unblock(it, stack, woken, id);
}
// From a goroutine, at a place where it has unblocked before: calls nothing.
__attribute__((always_inline)) inline bool usual_unblock_there(const Mark* g, const FrameChain& chain, ChainHint hint,
                                                               Mark* woken, const std::uint64_t& id) noexcept {
  UsualEvent it(*g);
  if (WEFT_UNLIKELY(!it)) return false;
  const std::uint32_t* stack = it.find_there(chain, hint);
  return WEFT_LIKELY(stack != nullptr) && write_unblock(it, *stack, woken, id);
}

// `at_once`: right after the goroutine before has left, without a search for work; the clock is not read again.
__attribute__((always_inline)) inline bool usual_start(const Mark* p, Mark* started, std::uint64_t id,
                                                       bool at_once) noexcept {
  using enum format::GoStatus;
  UsualEvent it(p, nullptr);
  if (WEFT_UNLIKELY(!it)) return false;
  const std::uint64_t word = started->word.load_acquire();  // pairs: trace.mark
  Lane::Written* written = it.room();
  if (WEFT_UNLIKELY(written == nullptr || !it.knows(word, kRunnable))) return false;
  const std::uint64_t next = Word::next(word, kRunnable, kRunning);
  constexpr auto kStart = format::Event::kGoStart;
  unsigned char* at = at_once ? it.put_at_once(written->at, kStart) : it.put(written->at, kStart, os::ticks());
  at = it.put(at, id);
  written->at = it.put_sequence(at, next);
  started->word.store_relaxed(next);
  it.set_goroutine(started, id);
  return true;
}

// usual_leave() for kGoBlock and usual_start() in one, for a goroutine that has waited at this place before:
// calls nothing.
__attribute__((always_inline)) inline bool usual_switch_there(Mark* g, const Reason& reason, const FrameChain& chain,
                                                              ChainHint hint, Mark* started,
                                                              const std::uint64_t& id) noexcept {
  using enum format::GoStatus;
  UsualEvent it(*g);
  if (WEFT_UNLIKELY(!it)) return false;
  const std::uint32_t* stack = it.find_there(chain, hint);
  if (WEFT_UNLIKELY(stack == nullptr)) return false;
  const std::uint64_t word = started->word.load_acquire();  // pairs: trace.mark
  Lane::Written* written = it.room();
  if (WEFT_UNLIKELY(written == nullptr || !it.knows(word, kRunnable))) return false;
  const std::uint64_t next = Word::next(word, kRunnable, kRunning);
  unsigned char* at = it.put(written->at, format::Event::kGoBlock, os::ticks());
  at = it.put(at, reason);
  at = it.put(at, std::uint64_t{*stack});
  at = it.put_at_once(at, format::Event::kGoStart);
  at = it.put(at, id);
  written->at = it.put_sequence(at, next);
  g->word.store_relaxed(Word::changed(g->word.load_relaxed(), kRunning, kWaiting));
  started->word.store_relaxed(next);
  it.set_goroutine(started, id);
  return true;
}

}  // namespace weft::trace
