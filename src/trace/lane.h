// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "trace/emit.h"
#include "trace/format.h"
#include "trace/known_chains.h"

// A thread's part of the recorder: where it writes, and what readers will know of it after what it has written.
namespace weft::trace {

// One batch of events. Taken from a pool, filled by one thread, emptied by the collector.
struct Buffer {
  static constexpr std::size_t kBytes = 16 * 1024;
  static constexpr std::size_t kHeaderRoom = 48;
  Buffer* next = nullptr;
  std::uint64_t time = 0;  // of the batch: the first event's
  std::uint32_t used = 0;  // when it is no longer written to
  std::uint32_t header = 0;
  unsigned char header_room[kHeaderRoom];  // the batch's header is put before its data, when its size is known
  unsigned char data[kBytes - 24 - kHeaderRoom];
};
static_assert(sizeof(Buffer) == Buffer::kBytes && sizeof(Buffer::data) <= format::kMaxBatch);

// The word of a Mark: generation (32 bits), state (4), sequence number in the generation (28).
struct Word {
  static constexpr unsigned kSequenceBits = 28;
  static constexpr std::uint64_t kSequence = (std::uint64_t{1} << kSequenceBits) - 1;
  static constexpr std::uint64_t make(std::uint64_t generation, std::uint64_t sequence, std::uint8_t state) noexcept {
    return (generation << 4 | state) << kSequenceBits | (sequence & kSequence);
  }
  static constexpr std::uint32_t generation(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }
  static constexpr std::uint64_t sequence(std::uint64_t word) noexcept { return word & kSequence; }
  static constexpr std::uint8_t state(std::uint64_t word) noexcept { return word >> kSequenceBits & 15; }
  static constexpr bool is(std::uint64_t word, std::uint64_t generation, format::GoStatus state) noexcept {
    return word >> kSequenceBits == (generation << 4 | static_cast<std::uint8_t>(state));
  }
  // With the next number. A generation ends long before there are 2^28.
  static constexpr std::uint64_t next(std::uint64_t word, format::GoStatus from, format::GoStatus to) noexcept {
    return word + 1 + ((static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)) << kSequenceBits);
  }
  static constexpr std::uint64_t with_state(std::uint64_t word, std::uint8_t state) noexcept {
    return (word & ~(std::uint64_t{15} << kSequenceBits)) | std::uint64_t{state} << kSequenceBits;
  }
};

struct alignas(base::kCacheLine) Lane {
  using GoStatus = format::GoStatus;

  // Odd while the thread is in a section, another number in each.
  base::Atom<std::uint32_t> section{0};
  // The thread last wrote in it. In a gap the collector writes it, and the thread may look.
  base::Atom<std::uint32_t> last_generation{0};
  std::uint32_t generation() const noexcept { return last_generation.load_relaxed(); }
  std::uint64_t last_time = 0;  // of the last event

  // What a reader knows: the P and the goroutine on this thread.
  Mark* p = nullptr;
  Mark* g = nullptr;
  bool p_in_call = false;    // it may be taken away at any time
  bool p_was_taken = false;  // from a call, in this recording: readers may still be waiting for the taker's word
  bool g_in_call = false;

  struct Written {
    unsigned char* at = nullptr;     // in the last buffer: after the last complete event
    unsigned char* limit = nullptr;  // a section may begin before it
    Buffer* first = nullptr;
    Buffer* last = nullptr;

    void close_last() noexcept {
      if (last != nullptr) last->used = static_cast<std::uint32_t>(at - last->data);
    }
  } written[2];  // by parity of the generation
  Written* opened = &written[0];
  Written& open() noexcept { return *opened; }
  void go_on_in(std::uint32_t other) noexcept {
    last_generation.store_relaxed(other);
    opened = &written[other & 1];
  }

  std::uint64_t p_id = 0;
  std::uint64_t p_word = 0;  // the P's word when its call began: another one means that it is gone
  std::uint64_t g_id = 0;
  GoStatus g_status() const noexcept { return g_in_call ? GoStatus::kSyscall : GoStatus::kRunning; }
  // False after a gap in which the goroutine ended: its mark is another one's, which does not run yet by what was recorded.
  bool g_is_still_there() const noexcept {
    return Word::state(g->word.load_relaxed()) == static_cast<std::uint8_t>(g_status());
  }

  std::uint64_t time = 0;    // of this section
  std::uint64_t thread = 0;  // its kernel id: the M's number in the trace
  base::Atom<std::uint64_t> lost{0};
  std::uint64_t lost_counted = 0;  // the collector's

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
