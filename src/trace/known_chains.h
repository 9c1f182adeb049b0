// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "base/check.h"
#include "base/sanitizer.h"
#include "os/frame_record.h"
#include "trace/emit.h"

// Numbers of the stacks a thread has met last in this generation, found without walking them.
//   Right     an entry holds every link and every return address of the chain it was made of, as distances: if all of them are there now,
//             on this goroutine's stack or another's, walking would give the same addresses. Only whole chains are entered.
//   Root      the outermost record of every goroutine is the one of the function its context begins with, which never returns, and it is
//             at the same height in all of them: a link that leads there is enough, nobody looks at the record itself. A chain that ends
//             elsewhere, in code without frame pointers, is looked at to its end.
//   Cheap     the places to look at are known in advance, so the processor reads them all at once; a walk waits for each link.
namespace weft::trace {

class KnownChains {
 public:
  // 0: not known. The chain's first record is there: somebody's frame pointer.
  std::uint32_t find(const void* frame, const void* high) const noexcept {
    ChainHint unused = 0;
    return find(frame, high, unused);
  }
  std::uint32_t find(const void* frame, const void* high, ChainHint& hint) const noexcept;
  // In line, and only where it was found last. Most goroutines come from where they came before, and where to look is known without
  // reading the stack first. Where its number is, to be read when it is written; null: it is not there.
  inline const std::uint32_t* find_there(const void* frame, const void* high, ChainHint hint) const noexcept;
  // Not if it is deep: walking it is what its events cost anyway.
  void remember(const FrameChain& chain, std::uint32_t number) noexcept;
  // At the end of a generation: the next one has other numbers.
  void forget() noexcept {
    for (Entry& entry : entries_) entry.height = 0;
  }

 private:
  static constexpr std::size_t kDepth = 9, kSets = 32, kWays = 2;
  static_assert(kSets * kWays <= 256);

  struct alignas(base::kCacheLine) Entry {
    // The innermost record is so far below the end of the stack; 0: none. The same height: what lay within the other stack lies within this one.
    std::uintptr_t height = 0;
    std::uint32_t number = 0;
    std::uint32_t count = 0;
    // Of the records but the root, the innermost first.
    std::uint32_t callers[kDepth] = {};  // whose records are so far above the innermost one
    std::uintptr_t return_addresses[kDepth] = {};
  };
  // The last one has no caller. Not within a stack: heights are less.
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  // The first of a set's entries.
  static std::size_t set_of(std::uintptr_t return_address, std::uintptr_t height) noexcept {
    return (return_address + height / sizeof(void*)) % kSets * kWays;
  }
  static const os::FrameRecord* record_at(std::uintptr_t frame) noexcept {
    return reinterpret_cast<const os::FrameRecord*>(frame);
  }
  // From the i-th record on; the first kPeeled without a loop: most chains are no longer.
  template <std::size_t kPeeled = 4>
  static bool is_there(const Entry& entry, std::size_t i, std::uintptr_t place, std::uintptr_t frame) noexcept;
  static bool is_there(const Entry& entry, std::uintptr_t frame) noexcept { return is_there(entry, 0, frame, frame); }
  static bool ends_at(const volatile Entry& entry, std::size_t i, std::uintptr_t place, std::uintptr_t frame) noexcept;

  Entry entries_[kSets * kWays];
  std::uint8_t next_[kSets] = {};  // to be replaced
};

// The record leads nowhere, as it did. Volatile: what who asks has read is not kept in registers for this.
__attribute__((always_inline)) WEFT_READS_STACKS inline bool KnownChains::ends_at(const volatile Entry& entry,
                                                                                  std::size_t i, std::uintptr_t place,
                                                                                  std::uintptr_t frame) noexcept {
  const std::uintptr_t caller = const_cast<const volatile os::FrameRecord*>(record_at(place))->caller;
  return entry.callers[i] == kNowhere && !os::leads_on(caller, place + sizeof(os::FrameRecord), frame + entry.height);
}

template <std::size_t kPeeled>
__attribute__((always_inline)) WEFT_READS_STACKS inline bool KnownChains::is_there(const Entry& entry, std::size_t i,
                                                                                   std::uintptr_t place,
                                                                                   std::uintptr_t frame) noexcept {
  for (;;) {
    if (os::strip_signature(record_at(place)->return_address) != entry.return_addresses[i]) return false;
    const std::uintptr_t caller = frame + entry.callers[i];
    if (WEFT_UNLIKELY(record_at(place)->caller != caller)) return ends_at(entry, i, place, frame);
    if (++i == entry.count) return true;
    place = caller;
    if constexpr (kPeeled > 0) return is_there<kPeeled - 1>(entry, i, place, frame);
  }
}

#if WEFT_ASAN || WEFT_TSAN  // what reads stacks cannot be in line in what does not
inline const std::uint32_t* KnownChains::find_there(const void* frame, const void* high,
                                                    ChainHint hint) const noexcept {
  return find(frame, high, hint) != 0 ? &entries_[hint].number : nullptr;
}
#else
__attribute__((always_inline)) inline const std::uint32_t* KnownChains::find_there(const void* frame_address,
                                                                                   const void* high_address,
                                                                                   ChainHint hint) const noexcept {
  const auto frame = reinterpret_cast<std::uintptr_t>(frame_address);
  const auto high = reinterpret_cast<std::uintptr_t>(high_address);
  const Entry* entry = &entries_[hint];
  asm("" : "+r"(entry));  // no address of a field is worked out anew from the hint
  return WEFT_LIKELY(entry->height == high - frame && is_there(*entry, frame)) ? &entry->number : nullptr;
}
#endif

}  // namespace weft::trace
