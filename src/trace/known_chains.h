// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "base/check.h"
#include "base/sanitizer.h"
#include "os/frame_record.h"
#include "trace/emit.h"

// Finds the numbers of the stacks that a thread has met last in this generation, without walking them.
//   Right     An entry holds every link of its chain, as a distance, and every return address. If all of them are there
//             now, on this goroutine's stack or another's, walking would give the same addresses. Only whole chains are
//             entered.
//   Root      The outermost record of every goroutine belongs to the function its context begins with, which never
//             returns. It is at the same height in all goroutines. So a link that leads there is enough, and the record
//             itself is not read. A chain that ends elsewhere, in code without frame pointers, is compared to its end.
//   Cheap     The addresses to read are known in advance, so the CPU reads them all at once. A walk waits for each
//             link.
namespace weft::trace {

class KnownChains {
 public:
  // 0: not known. `frame` is a valid frame pointer: the chain's first record is read.
  std::uint32_t find(const void* frame, const void* high) const noexcept {
    ChainHint unused = 0;
    return find(frame, high, unused);
  }
  std::uint32_t find(const void* frame, const void* high, ChainHint& hint) const noexcept;
  // Inline, and looks only at the hint's entry. Most goroutines come from where they came before, and the hint gives
  // the entry without reading the stack first. Returns where the number is, to be read when it is written; null:
  // not there.
  inline const std::uint32_t* find_there(const void* frame, const void* high, ChainHint hint) const noexcept;
  // Deep chains are not entered: their events cost a walk anyway.
  void remember(const FrameChain& chain, std::uint32_t number) noexcept;
  // At the end of a generation, because the next one has other numbers.
  void forget() noexcept {
    for (Entry& entry : entries_) entry.height = 0;
  }

 private:
  static constexpr std::size_t kDepth = 9, kSets = 32, kWays = 2;
  static_assert(kSets * kWays <= 256);

  struct alignas(base::kCacheLine) Entry {
    // How far the innermost record is below the end of the stack; 0: no entry. At the same height, what lay within the
    // other stack lies within this one.
    std::uintptr_t height = 0;
    std::uint32_t number = 0;
    std::uint32_t count = 0;
    // For each record but the root's, the innermost first:
    std::uint32_t callers[kDepth] = {};  // how far its caller's record is above the innermost one
    std::uintptr_t return_addresses[kDepth] = {};
  };
  // The last record has no caller. No distance within a stack is this, because heights are less.
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  // The index of a set's first entry.
  static std::size_t set_of(std::uintptr_t return_address, std::uintptr_t height) noexcept {
    return (return_address + height / sizeof(void*)) % kSets * kWays;
  }
  static const os::FrameRecord* record_at(std::uintptr_t frame) noexcept {
    return reinterpret_cast<const os::FrameRecord*>(frame);
  }
  // Compares from the i-th record on; the first kPeeled without a loop, because most chains are no longer.
  template <std::size_t kPeeled = 4>
  static bool is_there(const Entry& entry, std::size_t i, std::uintptr_t place, std::uintptr_t frame) noexcept;
  static bool is_there(const Entry& entry, std::uintptr_t frame) noexcept { return is_there(entry, 0, frame, frame); }
  static bool ends_at(const volatile Entry& entry, std::size_t i, std::uintptr_t place, std::uintptr_t frame) noexcept;

  Entry entries_[kSets * kWays];
  std::uint8_t next_[kSets] = {};  // the entry to be replaced next
};

// The record leads nowhere, as it did when it was entered. Volatile, so that the caller does not keep what it has read
// in registers for this function.
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

#if WEFT_ASAN || WEFT_TSAN  // code that reads stacks cannot be inlined into instrumented code
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
  asm("" : "+r"(entry));  // no field's address is computed anew from the hint
  return WEFT_LIKELY(entry->height == high - frame && is_there(*entry, frame)) ? &entry->number : nullptr;
}
#endif

}  // namespace weft::trace
