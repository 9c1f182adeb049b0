// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "os/frame_record.h"
#include "trace/emit.h"

// Numbers of the stacks a thread has met last, found without walking them.
//   Right     an entry holds every link and every return address of the chain it was made of, as distances: if all of them are there now,
//             on this goroutine's stack or another's, walking would give the same addresses. Only whole chains are entered.
//   Cheap     the places to look at are known in advance, so the processor reads them all at once; a walk waits for each link.
namespace weft::trace {

class KnownChains {
 public:
  // 0: not known. The chain's first record is there: somebody's frame pointer. (Out of line: it needs no registers but those that a call
  // may use, and callers that have it in line would save others.)
  std::uint32_t find(const void* frame, const void* high, std::uint64_t generation) const noexcept;
  // Not if it is deep: walking it is what its events cost anyway.
  void remember(const FrameChain& chain, std::uint32_t generation, std::uint32_t number) noexcept;

 private:
  static constexpr std::size_t kDepth = 9, kSets = 32, kWays = 2;

  struct alignas(base::kCacheLine) Entry {
    std::uint64_t key = 0;  // generation and height; 0: none
    std::uint32_t number = 0;
    std::uint32_t count = 0;
    // The outermost first.
    std::uint32_t places[kDepth] = {};  // of the records, above the innermost one
    std::uintptr_t return_addresses[kDepth] = {};
  };
  struct Set {
    Entry entries[kWays];
    std::uint32_t next = 0;  // to be replaced
  };

  static std::uintptr_t height(const FrameChain& chain) noexcept {
    return reinterpret_cast<std::uintptr_t>(chain.high) - reinterpret_cast<std::uintptr_t>(chain.frame);
  }
  // The same height: what lay within the other stack lies within this one.
  static std::uint64_t key(std::uintptr_t height, std::uint64_t generation) noexcept {
    return generation << 32 | height;
  }
  static std::size_t set_of(std::uintptr_t return_address, std::uintptr_t height) noexcept {
    return (return_address + height / sizeof(void*)) % kSets;
  }
  static const volatile os::FrameRecord* record_at(std::uintptr_t frame) noexcept {
    return reinterpret_cast<const volatile os::FrameRecord*>(frame);
  }
  template <std::size_t Above>
  static bool is_next(const Entry& entry, std::uintptr_t frame, std::uintptr_t& place) noexcept;
  static bool is_there(const Entry& entry, std::uintptr_t frame, std::uintptr_t high) noexcept;

  Set sets_[kSets];
};

}  // namespace weft::trace
