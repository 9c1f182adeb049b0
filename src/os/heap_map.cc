// SPDX-License-Identifier: MIT
#include "os/heap_map.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "os/memory.h"
#include "os/peek.h"

// Other threads' blocks have red zones and marks of the sanitizers in between.
#define WEFT_READS_ANYTHING __attribute__((no_sanitize("address", "thread")))

namespace weft::os {
namespace {

// glibc: a chunk begins 16 bytes before the block. Its second word has the size, a multiple of 16, and three flags.
constexpr std::uintptr_t kGrain = 16, kHeader = 16, kMinChunk = 32, kFlags = 7;
constexpr std::uintptr_t kPreviousInUse = 1, kMapped = 2;
constexpr std::uintptr_t kArenaBytes = std::uintptr_t{64} << 20;
constexpr std::uintptr_t kLastStart = 0x4000;  // the first chunk begins within so many bytes
constexpr std::uintptr_t kFence = 64;  // the end of a heap that grew into another one

WEFT_READS_ANYTHING std::uintptr_t word_at(std::uintptr_t address) noexcept {
  return *reinterpret_cast<const volatile std::uintptr_t*>(address);
}
std::uintptr_t size_at(std::uintptr_t chunk) noexcept { return word_at(chunk + 8) & ~kFlags; }

bool test(const std::uint64_t* bits, std::size_t index) noexcept { return (bits[index / 64] >> index % 64 & 1) != 0; }
void set(std::uint64_t* bits, std::size_t index) noexcept { bits[index / 64] |= std::uint64_t{1} << index % 64; }

// What the allocator has written into the second word of a block that was just freed into the thread's cache.
std::uintptr_t mark_in_freed(std::size_t bytes) noexcept {
  void* block = std::malloc(bytes);
  if (block == nullptr) return 0;
  auto address = reinterpret_cast<std::uintptr_t>(block);
  asm volatile("" : "+r"(address) : : "memory");  // the compiler must not know whose memory this is
  std::free(block);
  return word_at(address + 8);
}

}  // namespace

std::uintptr_t heap_cache_mark() noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
  return 0;
#else
  const std::uintptr_t one = mark_in_freed(24), other = mark_in_freed(56);
  return one == other ? one : 0;
#endif
}

bool HeapMap::open(std::uintptr_t cache_mark) noexcept {
  cache_mark_ = cache_mark;
  ranges_ = static_cast<Range*>(reserve_memory(kMaxRanges * sizeof(Range), "weft heap map"));
  return ranges_ != nullptr;
}

HeapMap::Range* HeapMap::add_range(std::uintptr_t begin, std::uintptr_t end, bool is_one_block) noexcept {
  if (count_ == kMaxRanges) return nullptr;
  const std::size_t grains = is_one_block ? 64 : (end - begin) / kGrain + 64;
  const std::size_t words = grains / 64 + 1, levels = words / 64 + 1;
  auto* bits = static_cast<std::uint64_t*>(reserve_memory((3 * words + levels) * sizeof(std::uint64_t), "weft heap map"));
  if (bits == nullptr) {
    failed_ = true;
    return nullptr;
  }
  Range& range = ranges_[count_++];
  range = {begin, end, is_one_block ? nullptr : bits, bits + words, bits + words + levels, bits + 2 * words + levels};
  bytes_ += end - begin;
  return &range;
}

WEFT_READS_ANYTHING std::uintptr_t HeapMap::walk(std::uintptr_t begin, std::uintptr_t end,
                                                 Range* range) const noexcept {
  std::uintptr_t chunk = begin;
  while (end - chunk >= kMinChunk) {
    const std::uintptr_t size = size_at(chunk);
    if (size < kMinChunk || size % kGrain != 0 || size > end - chunk) break;
    if (size == end - chunk) return end;  // the rest that was never given out
    const std::uintptr_t next = chunk + size;
    const bool is_used = end - next < kHeader || (word_at(next + 8) & kPreviousInUse) != 0;
    const bool is_cached = cache_mark_ != 0 && word_at(chunk + kHeader + 8) == cache_mark_;
    if (range != nullptr && is_used && !is_cached) {
      const std::size_t index = (chunk + kHeader - range->begin) / kGrain;
      set(range->starts, index);
      set(range->summary, index / 64);
    }
    chunk = next;
  }
  return end - chunk <= kFence ? end : chunk;
}

std::uintptr_t HeapMap::add_mapped_blocks(std::uintptr_t begin, std::uintptr_t end) noexcept {
  std::uintptr_t header[2];
  while (end - begin >= kPage && peek(header, begin, sizeof header) == sizeof header && header[0] == 0) {
    const std::uintptr_t size = header[1] & ~kFlags;
    if ((header[1] & kFlags) != kMapped || size < kPage || size % kPage != 0 || size > end - begin) break;
    if (add_range(begin, begin + size, true) == nullptr) break;
    begin += size;
  }
  return begin;
}

// What stands before the first chunk depends on glibc's version (an arena's own structures) and on the program (a static
// one keeps its thread-local variables at the start of the break).
std::uintptr_t HeapMap::add_walked(std::uintptr_t begin, std::uintptr_t first, std::uintptr_t end) noexcept {
  const std::uintptr_t last = std::min(begin + kLastStart, end - kMinChunk);
  for (std::uintptr_t start = first; start <= last; start += kGrain) {
    if ((word_at(start + 8) & kPreviousInUse) == 0 || walk(start, end, nullptr) != end) continue;
    Range* range = add_range(begin, end, false);
    if (range == nullptr) return 0;
    walk(start, end, range);
    return start;
  }
  return 0;
}

// The header of each heap of an arena: the arena, the heap before, the bytes in use, the bytes that may be written.
bool HeapMap::add_arena(std::uintptr_t begin, std::uintptr_t end) noexcept {
  if (begin % kArenaBytes != 0 || end - begin > kArenaBytes || end - begin < kLastStart) return false;
  std::uintptr_t header[4];
  if (peek(header, begin, sizeof header) != sizeof header) return false;
  const std::uintptr_t used = header[2], writable = header[3];
  if (used < kLastStart || used > end - begin || writable < used || writable > kArenaBytes) return false;
  return add_walked(begin, begin + 2 * kGrain, begin + used) != 0;
}

HeapMap::Remainder HeapMap::add(const Mapping& mapping) noexcept {
  const std::uintptr_t begin = mapping.begin, end = mapping.end;
  const Remainder all{{}, {begin, end}};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
  return all;
#else
  if (!mapping.is_writable || !mapping.is_anonymous) return all;
  if (mapping.is_break) {
    const std::uintptr_t start = add_walked(begin, begin, end);
    return start != 0 ? Remainder{{begin, start}, {}} : all;
  }
  if (add_arena(begin, end)) return {};
  return {{}, {add_mapped_blocks(begin, end), end}};
#endif
}

const HeapMap::Range* HeapMap::range_of(std::uintptr_t address) const noexcept {
  if (count_ == 0 || address < ranges_[0].begin || address >= ranges_[count_ - 1].end) return nullptr;
  const Range* after = std::upper_bound(ranges_, ranges_ + count_, address,
                                        [](std::uintptr_t at, const Range& range) { return at < range.begin; });
  const Range* range = after - 1;
  return address < range->end ? range : nullptr;
}

WEFT_READS_ANYTHING HeapMap::Block HeapMap::find(std::uintptr_t address) const noexcept {
  const Range* range = range_of(address);
  if (range == nullptr) return {};
  if (range->starts == nullptr) return {range->begin + kHeader, range->end};
  const std::size_t index = (address - range->begin) / kGrain;
  std::size_t word = index / 64;
  std::uint64_t bits = range->starts[word] & (~std::uint64_t{0} >> (63 - index % 64));
  if (bits == 0) {  // the nearest word before that is not 0
    std::size_t level = word / 64;
    std::uint64_t above = word % 64 == 0 ? 0 : range->summary[level] & (~std::uint64_t{0} >> (64 - word % 64));
    while (above == 0) {
      if (level == 0) return {};
      above = range->summary[--level];
    }
    word = level * 64 + 63 - static_cast<std::size_t>(std::countl_zero(above));
    bits = range->starts[word];
  }
  const std::size_t start = word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(bits));
  const std::uintptr_t begin = range->begin + start * kGrain;
  const Block block{begin, begin + size_at(begin - kHeader) - 8};
  return address < block.end ? block : Block();
}

bool HeapMap::mark(const Block& block) noexcept {
  const Range* range = range_of(block.begin);
  const std::size_t index = range->starts == nullptr ? 0 : (block.begin - range->begin) / kGrain;
  if (test(range->marks, index)) return false;
  set(range->marks, index);
  return true;
}

void HeapMap::watch(const Block& block) noexcept {
  const Range* range = range_of(block.begin);
  set(range->watches, range->starts == nullptr ? 0 : (block.begin - range->begin) / kGrain);
}
bool HeapMap::is_watched(const Block& block) const noexcept {
  const Range* range = range_of(block.begin);
  return test(range->watches, range->starts == nullptr ? 0 : (block.begin - range->begin) / kGrain);
}

}  // namespace weft::os
