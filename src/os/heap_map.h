// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "os/memory_map.h"

// The blocks of the C library's heap, found by walking it.
//   Job       Say which living block an address lies in, and remember for each block whether it was reached.
//   How       glibc writes the size of each block in front of it. The break, the 64 MiB heaps of its arenas, and blocks
//             with a mapping of their own are walked along these sizes. A bitmap, one bit for 16 bytes, has the starts.
//             Blocks in the caches of threads count as free; so their old contents keep nothing reachable.
//   Otherwise Memory that does not look like glibc's heap (another allocator, a walk that does not come out at the end)
//             is no block: add() leaves it to its caller, who takes it for reachable as a whole.
//   When      Nothing allocates or frees meanwhile: in a forked copy, or while every thread stands still. All memory
//             comes from mappings of its own.
namespace weft::os {

// Asks the allocator, before anything stands still, how it marks blocks in the caches of threads. 0: not known.
std::uintptr_t heap_cache_mark() noexcept;

class HeapMap {
 public:
  struct Block {
    std::uintptr_t begin = 0, end = 0;
    explicit operator bool() const noexcept { return begin != 0; }
  };
  struct Piece {
    std::uintptr_t begin = 0, end = 0;
  };
  struct Remainder {
    Piece before, behind;
  };

  // False: no memory.
  bool open(std::uintptr_t cache_mark) noexcept;
  // Mappings come lowest first. Returns what of the mapping is no heap.
  Remainder add(const Mapping& mapping) noexcept;
  std::size_t bytes() const noexcept { return bytes_; }
  bool failed() const noexcept { return failed_; }  // memory ran out: what find() says is not to be trusted

  Block find(std::uintptr_t address) const noexcept;
  // True: it was not marked before.
  bool mark(const Block& block) noexcept;
  // A second set of marks: blocks that somebody waits for.
  void watch(const Block& block) noexcept;
  bool is_watched(const Block& block) const noexcept;

 private:
  struct Range {
    std::uintptr_t begin, end;
    std::uint64_t* starts;   // one bit for 16 bytes; null: the whole range is one block
    std::uint64_t* summary;  // one bit for each word of starts that is not 0
    std::uint64_t* marks;
    std::uint64_t* watches;
  };
  static constexpr std::size_t kMaxRanges = std::size_t{1} << 20;

  const Range* range_of(std::uintptr_t address) const noexcept;
  Range* add_range(std::uintptr_t begin, std::uintptr_t end, bool is_one_block) noexcept;
  std::uintptr_t add_mapped_blocks(std::uintptr_t begin, std::uintptr_t end) noexcept;
  // Takes [start, end) of the mapping for a heap if a chunk begins at one of the first addresses and the sizes lead
  // from there exactly to the end. Returns that address; 0: there is none.
  std::uintptr_t add_walked(std::uintptr_t begin, std::uintptr_t first, std::uintptr_t end) noexcept;
  bool add_arena(std::uintptr_t begin, std::uintptr_t end) noexcept;
  // Returns where the walk ended; `end`, if it came out right.
  std::uintptr_t walk(std::uintptr_t begin, std::uintptr_t end, Range* range) const noexcept;

  Range* ranges_ = nullptr;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  std::uintptr_t cache_mark_ = 0;
  bool failed_ = false;
};

}  // namespace weft::os
