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
  // 0: not known. The chain's first record is there: somebody's frame pointer.
  std::uint32_t find(const FrameChain& chain, std::uint64_t generation) const noexcept;
  // Not if it is deep: walking it is what its events cost anyway.
  void remember(const FrameChain& chain, std::uint32_t generation, std::uint32_t number) noexcept;

 private:
  static constexpr std::size_t kDepth = 9, kSets = 32, kWays = 2;

  struct alignas(base::kCacheLine) Entry {
    std::uint64_t key = 0;  // generation and height; 0: none
    std::uint32_t number = 0;
    std::uint32_t count = 0;
    std::uint32_t places[kDepth] = {};  // of the records, above the first one
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
  static bool is_there(const Entry& entry, std::uintptr_t frame, std::uintptr_t high) noexcept;

  Set sets_[kSets];
};

WEFT_READS_STACKS inline bool KnownChains::is_there(const Entry& entry, std::uintptr_t frame,
                                                    std::uintptr_t high) noexcept {
  std::uintptr_t place = frame;
  const std::uint32_t* places = entry.places;
  for (const std::uintptr_t *at = entry.return_addresses, *last = at + entry.count - 1;; ++at) {
    if (os::strip_signature(record_at(place)->return_address) != *at) return false;
    const std::uintptr_t caller = record_at(place)->caller;
    if (at == last) return !os::leads_on(caller, place + sizeof(os::FrameRecord), high);
    place = frame + *++places;  // not the caller just read: it would be waited for
    if (caller != place) return false;
  }
}

WEFT_READS_STACKS inline std::uint32_t KnownChains::find(const FrameChain& chain,
                                                         std::uint64_t generation) const noexcept {
  const auto frame = reinterpret_cast<std::uintptr_t>(chain.frame);
  const auto high = reinterpret_cast<std::uintptr_t>(chain.high);
  const Set& set = sets_[set_of(os::strip_signature(record_at(frame)->return_address), height(chain))];
  const std::uint64_t wanted = key(height(chain), generation);
  for (const Entry& entry : set.entries)
    if (entry.key == wanted && is_there(entry, frame, high)) return entry.number;
  return 0;
}

}  // namespace weft::trace
