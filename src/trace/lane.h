// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "base/check.h"
#include "trace/emit.h"
#include "trace/format.h"
#include "trace/known_chains.h"

// A thread's part of the recorder: its buffers, and what a reader of the trace knows about the thread so far.
namespace weft::trace {

// One batch of events. Taken from a pool, filled by one thread, emptied by the collector.
struct Buffer {
  static constexpr std::size_t kBytes = 16 * 1024;
  static constexpr std::size_t kHeaderRoom = 48;
  Buffer* next = nullptr;
  std::uint64_t time = 0;  // of the batch: its first event's, relative to the session
  std::uint32_t used = 0;  // bytes of data, set when the buffer is closed
  std::uint32_t header = 0;
  unsigned char header_room[kHeaderRoom];  // the batch's header goes right before its data once its size is known
  unsigned char data[kBytes - 24 - kHeaderRoom];
};
static_assert(sizeof(Buffer) == Buffer::kBytes && sizeof(Buffer::data) <= format::kMaxBatch);

// The word of a Mark: generation (32 bits), state (4), sequence number in the generation (28).
//   Number   Stored as it is written to the trace, seven bits in a byte, because most events write one and spreading
//            its bits would take ten instructions each time. The bit above each seven is always set, so that adding one
//            carries over it. That leaves 25 bits.
struct Word {
  static constexpr unsigned kSequenceBits = 28;
  static constexpr std::uint64_t kBetween = 0x808080;
  static constexpr std::uint64_t kSequences = std::uint64_t{1} << 25;
  static constexpr std::uint64_t make(std::uint64_t generation, std::uint64_t sequence, std::uint8_t state) noexcept {
    return marked(generation) | std::uint64_t{state} << kSequenceBits | kBetween | (sequence & 0x7f) |
           (sequence & 0x3f80) << 1 | (sequence & 0x1fc000) << 2 | (sequence & 0x1e00000) << 3;
  }
  static constexpr std::uint32_t generation(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }
  static constexpr std::uint64_t sequence(std::uint64_t word) noexcept {
    return (word & 0x7f) | (word >> 1 & 0x3f80) | (word >> 2 & 0x1fc000) | (word >> 3 & 0x1e00000);
  }
  static constexpr std::uint8_t state(std::uint64_t word) noexcept { return word >> kSequenceBits & 15; }
  // `marked`: a word with that generation, without state and number.
  static constexpr bool is(std::uint64_t word, std::uint64_t marked, format::GoStatus state) noexcept {
    return (word ^ marked) >> kSequenceBits == static_cast<std::uint64_t>(state);
  }
  static constexpr std::uint64_t marked(std::uint64_t generation) noexcept { return generation << 32; }
  // With the next number, of which there are enough (recorder.cc).
  static constexpr std::uint64_t next(std::uint64_t word, format::GoStatus from, format::GoStatus to) noexcept {
    return (word + 1 + ((static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)) << kSequenceBits)) |
           kBetween;
  }
  // With the same number: with_state() of a word whose state is known, in one addition.
  static constexpr std::uint64_t changed(std::uint64_t word, format::GoStatus from, format::GoStatus to) noexcept {
    WEFT_DCHECK(state(word) == static_cast<std::uint8_t>(from), "the word of who runs here says so");
    return word + ((static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)) << kSequenceBits);
  }
  static constexpr std::uint64_t with_state(std::uint64_t word, std::uint8_t state) noexcept {
    return (word & ~(std::uint64_t{15} << kSequenceBits)) | std::uint64_t{state} << kSequenceBits;
  }
};

// The P and the goroutine that readers of the trace believe to be on a thread.
//   Calls   During a call the P may be taken away at any time, and the goroutine stays until the end of the call is
//           recorded. A bit of each word says that it is in a call, because the usual events need a P and a goroutine
//           that are not.
//   Rule    A thread whose goroutine runs has a P that runs, because the P changes only while no goroutine runs. A
//           thread records each change of its P, or there is a gap. So if the goroutine is known to run here, the P is
//           the one that the thread has.
class KnownPlace {
 public:
  Mark* p() const noexcept { return mark_of(p_); }
  Mark* g() const noexcept { return mark_of(g_); }
  bool p_in_call() const noexcept { return (p_ & kInCall) != 0; }
  bool g_in_call() const noexcept { return (g_ & kInCall) != 0; }
  bool p_runs(const Mark* p) const noexcept { return p_ == word_of(p); }
  bool g_runs(const Mark* g) const noexcept { return g_ == word_of(g); }

  void start_p(Mark* p) noexcept { change_p(word_of(p)); }
  void forget_p() noexcept { change_p(0); }
  void start_g(Mark* g) noexcept {
    WEFT_DCHECK(p_ != 0 && !p_in_call(), "a goroutine runs on a P");
    g_ = word_of(g);
  }
  void forget_g() noexcept { g_ = 0; }
  void forget() noexcept { p_ = g_ = 0; }
  void begin_call() noexcept {
    p_ |= kInCall;
    g_ |= kInCall;
  }
  void end_call() noexcept {
    p_ &= ~kInCall;
    g_ &= ~kInCall;
  }

 private:
  static constexpr std::uintptr_t kInCall = 1;
  static_assert(alignof(Mark) > kInCall);
  static std::uintptr_t word_of(const Mark* mark) noexcept { return reinterpret_cast<std::uintptr_t>(mark); }
  static Mark* mark_of(std::uintptr_t word) noexcept { return reinterpret_cast<Mark*>(word & ~kInCall); }
  void change_p(std::uintptr_t word) noexcept {
    WEFT_DCHECK(g_ == 0 || g_in_call(), "no P changes under a goroutine that runs");
    p_ = word;
  }

  std::uintptr_t p_ = 0;
  std::uintptr_t g_ = 0;
};

struct alignas(base::kCacheLine) Lane {
  using GoStatus = format::GoStatus;

  // Odd while the thread is in a section; a new number in each section.
  base::Atom<std::uint32_t> section{0};
  // The generation in which the thread last wrote. In a gap the collector stores it while the thread may load it.
  base::Atom<std::uint32_t> last_generation{0};
  std::uint32_t generation() const noexcept { return last_generation.load_relaxed(); }
  std::uint64_t last_time = 0;  // of the last event

  KnownPlace known;
  // A P was taken from a call of this thread in this trace: readers may still be waiting for the taker's event.
  bool p_was_taken = false;

  struct Written {
    unsigned char* at = nullptr;     // in the last buffer: after the last complete event
    unsigned char* limit = nullptr;  // a section may begin only before it
    Buffer* first = nullptr;
    Buffer* last = nullptr;

    void close_last() noexcept {
      if (last != nullptr) last->used = static_cast<std::uint32_t>(at - last->data);
    }
  } written[2];  // by parity of the generation
  Written* opened = &written[0];
  std::uint64_t marked = 0;  // Word::marked(generation()), to ask whether a word is of this generation
  Written& open() noexcept { return *opened; }
  void go_on_in(std::uint32_t other) noexcept {
    last_generation.store_relaxed(other);
    opened = &written[other & 1];
    marked = Word::marked(other);
    chains.forget();
  }

  std::uint64_t p_id = 0;
  std::uint64_t p_word = 0;  // the P's word when its call began: a different word means that the P was taken
  std::uint64_t g_id = 0;
  GoStatus g_status() const noexcept { return known.g_in_call() ? GoStatus::kSyscall : GoStatus::kRunning; }
  // False after a gap in which the goroutine ended: its mark then belongs to another goroutine, which does not run yet
  // as far as was recorded.
  bool g_is_still_there() const noexcept {
    return Word::state(known.g()->word.load_relaxed()) == static_cast<std::uint8_t>(g_status());
  }

  std::uint64_t time = 0;    // of this section
  std::uint64_t thread = 0;  // its kernel id: the M's number in the trace
  base::Atom<std::uint64_t> lost{0};
  std::uint64_t lost_counted = 0;  // used by the collector only

  struct KnownStack {
    std::uint64_t hash = 0;
    std::uint32_t generation = 0;
    std::uint32_t number = 0;
  };
  static constexpr std::size_t kKnownStacks = 256;
  KnownStack stacks[kKnownStacks];
  KnownChains chains;

  base::Atom<bool> ended{false};  // the thread is gone
  Lane* next = nullptr;
};

}  // namespace weft::trace
