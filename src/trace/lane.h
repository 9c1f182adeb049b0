// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "trace/emit.h"
#include "trace/format.h"

// A thread's part of the recorder: where it writes, and what readers will know of it after what it has written.
namespace weft::trace {

// One batch of events. Taken from a pool, filled by one thread, emptied by the collector.
struct Buffer {
  static constexpr std::size_t kBytes = 16 * 1024;
  Buffer* next = nullptr;
  std::uint64_t time = 0;  // of the batch: the first event's
  std::uint32_t used = 0;  // advanced when an event is complete
  unsigned char data[kBytes - 24];
};
static_assert(sizeof(Buffer) == Buffer::kBytes && sizeof(Buffer::data) <= format::kMaxBatch);

// The word of a Mark: generation (32 bits), sequence number in it (28), state (4).
struct Word {
  static constexpr std::uint64_t make(std::uint64_t generation, std::uint64_t sequence, std::uint8_t state) noexcept {
    return generation << 32 | (sequence & 0xfff'ffff) << 4 | state;
  }
  static constexpr std::uint32_t generation(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }
  static constexpr std::uint64_t sequence(std::uint64_t word) noexcept { return word >> 4 & 0xfff'ffff; }
  static constexpr std::uint8_t state(std::uint64_t word) noexcept { return word & 15; }
  static constexpr std::uint64_t with_state(std::uint64_t word, std::uint8_t state) noexcept {
    return (word & ~std::uint64_t{15}) | state;
  }
};

struct alignas(base::kCacheLine) Lane {
  using GoStatus = format::GoStatus;

  // Held by the thread while it writes, and by the collector while it takes what was written. Nobody sleeps holding it.
  base::Atom<std::uint32_t> busy{0};
  base::Atom<bool> inside{false};  // this thread's: a signal handler must not wait for itself
  std::uint32_t generation = 0;    // the thread last wrote in it
  std::uint64_t thread = 0;        // its kernel id: the M's number in the trace
  std::uint64_t time = 0;          // of this section
  std::uint64_t last_time = 0;     // of the last event
  std::uint64_t lost = 0;

  // What a reader knows: the P and the goroutine on this thread.
  Mark* p = nullptr;
  std::uint64_t p_id = 0;
  bool p_in_call = false;    // it may be taken away at any time
  bool p_was_taken = false;  // from a call, in this recording: readers may still be waiting for the taker's word
  std::uint64_t p_word = 0;  // the P's word then: another one means that it is gone
  Mark* g = nullptr;
  std::uint64_t g_id = 0;
  bool g_in_call = false;
  GoStatus g_status() const noexcept { return g_in_call ? GoStatus::kSyscall : GoStatus::kRunning; }
  // False after a gap in which the goroutine ended: its mark is another one's, which does not run yet by what was recorded.
  bool g_is_still_there() const noexcept {
    return Word::state(g->word.load_relaxed()) == static_cast<std::uint8_t>(g_status());
  }

  struct Written {
    Buffer* first = nullptr;
    Buffer* last = nullptr;
  } written[2];  // by parity of the generation

  struct KnownStack {
    std::uint64_t hash = 0;
    std::uint32_t generation = 0;
    std::uint32_t number = 0;
  };
  static constexpr std::size_t kKnownStacks = 256;
  KnownStack stacks[kKnownStacks];

  base::Atom<bool> ended{false};  // the thread is gone
  Lane* next = nullptr;
};

}  // namespace weft::trace
