// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "base/check.h"
#include "base/sanitizer.h"
#include "os/frame_record.h"
#include "trace/emit.h"

// Numbers of the stacks a thread has met last, found without walking them.
//   Right     an entry holds every link and every return address of the chain it was made of, as distances: if all of them are there now,
//             on this goroutine's stack or another's, walking would give the same addresses. Only whole chains are entered.
//   Cheap     the places to look at are known in advance, so the processor reads them all at once; a walk waits for each link.
namespace weft::trace {

class KnownChains {
 public:
  // 0: not known. The chain's first record is there: somebody's frame pointer.
  std::uint32_t find(const void* frame, const void* high, std::uint64_t generation) const noexcept {
    ChainHint unused = 0;
    return find(frame, high, generation, unused);
  }
  std::uint32_t find(const void* frame, const void* high, std::uint64_t generation, ChainHint& hint) const noexcept;
  // In line, and only where it was found last. Most goroutines come from where they came before, and where to look is known without
  // reading the stack first. False: it is not there.
  inline bool find_there(const void* frame, const void* high, std::uint64_t generation, ChainHint hint,
                         std::uint32_t& number) const noexcept;
  // Not if it is deep: walking it is what its events cost anyway.
  void remember(const FrameChain& chain, std::uint32_t generation, std::uint32_t number) noexcept;

 private:
  static constexpr std::size_t kDepth = 9, kSets = 32, kWays = 2;
  static_assert(kSets * kWays <= 256);

  struct alignas(base::kCacheLine) Entry {
    std::uint64_t key = 0;  // generation and height; 0: none
    std::uint32_t number = 0;
    std::uint32_t count = 0;
    // The innermost first.
    std::uint32_t places[kDepth] = {};  // of the records, above the innermost one
    std::uintptr_t return_addresses[kDepth] = {};
  };

  static std::uintptr_t height(const FrameChain& chain) noexcept {
    return reinterpret_cast<std::uintptr_t>(chain.high) - reinterpret_cast<std::uintptr_t>(chain.frame);
  }
  // The same height: what lay within the other stack lies within this one.
  static std::uint64_t key(std::uintptr_t height, std::uint64_t generation) noexcept {
    return generation << 32 | height;
  }
  // The first of a set's entries.
  static std::size_t set_of(std::uintptr_t return_address, std::uintptr_t height) noexcept {
    return (return_address + height / sizeof(void*)) % kSets * kWays;
  }
  static const os::FrameRecord* record_at(std::uintptr_t frame) noexcept {
    return reinterpret_cast<const os::FrameRecord*>(frame);
  }
  static bool is_there(const Entry& entry, std::uintptr_t frame, std::uintptr_t high) noexcept;

  Entry entries_[kSets * kWays];
  std::uint8_t next_[kSets] = {};  // to be replaced
};

__attribute__((always_inline)) WEFT_READS_STACKS inline bool KnownChains::is_there(const Entry& entry,
                                                                                   std::uintptr_t frame,
                                                                                   std::uintptr_t high) noexcept {
  const std::size_t count = entry.count;
  std::uintptr_t place = frame;
  for (std::size_t i = 0;;) {
    if (os::strip_signature(record_at(place)->return_address) != entry.return_addresses[i]) return false;
    if (++i == count) break;
    const std::uintptr_t caller = frame + entry.places[i];
    if (record_at(place)->caller != caller) return false;
    place = caller;
  }
  const std::uintptr_t outermost = const_cast<const volatile os::FrameRecord*>(record_at(place))->caller;
  return WEFT_LIKELY(outermost == 0) || !os::leads_on(outermost, place + sizeof(os::FrameRecord), high);
}

#if WEFT_ASAN || WEFT_TSAN  // what reads stacks cannot be in line in what does not
inline bool KnownChains::find_there(const void* frame, const void* high, std::uint64_t generation, ChainHint,
                                    std::uint32_t& number) const noexcept {
  number = find(frame, high, generation);
  return number != 0;
}
#else
__attribute__((always_inline)) inline bool KnownChains::find_there(const void* frame_address, const void* high_address,
                                                                   std::uint64_t generation, ChainHint hint,
                                                                   std::uint32_t& number) const noexcept {
  const auto frame = reinterpret_cast<std::uintptr_t>(frame_address);
  const auto high = reinterpret_cast<std::uintptr_t>(high_address);
  const Entry& entry = entries_[hint];
  if (WEFT_UNLIKELY(entry.key != key(high - frame, generation) || !is_there(entry, frame, high))) return false;
  number = entry.number;
  return true;
}
#endif

}  // namespace weft::trace
