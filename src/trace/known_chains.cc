// SPDX-License-Identifier: MIT
#include "trace/known_chains.h"

#include <algorithm>

namespace weft::trace {

// One record and its link, without a loop's counting: `Above` records are further out.
template <std::size_t Above>
__attribute__((always_inline)) WEFT_READS_STACKS inline bool KnownChains::is_next(const Entry& entry,
                                                                                  std::uintptr_t frame,
                                                                                  std::uintptr_t& place) noexcept {
  const std::uintptr_t caller = frame + entry.places[Above - 1];
  if (os::strip_signature(record_at(place)->return_address) != entry.return_addresses[Above]) return false;
  if (record_at(place)->caller != caller) return false;
  place = caller;
  return true;
}

__attribute__((always_inline)) WEFT_READS_STACKS inline bool KnownChains::is_there(const Entry& entry,
                                                                                   std::uintptr_t frame,
                                                                                   std::uintptr_t high) noexcept {
  std::uintptr_t place = frame;
  static_assert(kDepth == 9);
  switch (entry.count) {
    case 9:
      if (!is_next<8>(entry, frame, place)) return false;
      [[fallthrough]];
    case 8:
      if (!is_next<7>(entry, frame, place)) return false;
      [[fallthrough]];
    case 7:
      if (!is_next<6>(entry, frame, place)) return false;
      [[fallthrough]];
    case 6:
      if (!is_next<5>(entry, frame, place)) return false;
      [[fallthrough]];
    case 5:
      if (!is_next<4>(entry, frame, place)) return false;
      [[fallthrough]];
    case 4:
      if (!is_next<3>(entry, frame, place)) return false;
      [[fallthrough]];
    case 3:
      if (!is_next<2>(entry, frame, place)) return false;
      [[fallthrough]];
    case 2:
      if (!is_next<1>(entry, frame, place)) return false;
      [[fallthrough]];
    default:
      return os::strip_signature(record_at(place)->return_address) == entry.return_addresses[0] &&
             (WEFT_LIKELY(record_at(place)->caller == 0) ||
              !os::leads_on(record_at(place)->caller, place + sizeof(os::FrameRecord), high));
  }
}

WEFT_READS_STACKS std::uint32_t KnownChains::find(const void* frame_address, const void* high_address,
                                                  std::uint64_t generation) const noexcept {
  const auto frame = reinterpret_cast<std::uintptr_t>(frame_address);
  const auto high = reinterpret_cast<std::uintptr_t>(high_address);
  const Set& set = sets_[set_of(os::strip_signature(record_at(frame)->return_address), high - frame)];
  const std::uint64_t wanted = key(high - frame, generation);
  for (const Entry& entry : set.entries)
    if (entry.key == wanted && is_there(entry, frame, high)) return entry.number;
  return 0;
}

WEFT_READS_STACKS void KnownChains::remember(const FrameChain& chain, std::uint32_t generation,
                                             std::uint32_t number) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(chain.frame);
  const auto high = reinterpret_cast<std::uintptr_t>(chain.high);
  if (height(chain) > UINT32_MAX) return;
  Entry entry;
  std::uintptr_t frame = first;
  std::uintptr_t lowest = reinterpret_cast<std::uintptr_t>(chain.low);
  for (; os::leads_on(frame, lowest, high); frame = record_at(frame)->caller) {
    const std::uintptr_t return_address = os::strip_signature(record_at(frame)->return_address);
    if (entry.count == kDepth || return_address == 0) return;  // a walk ends there, too, but for another reason
    entry.places[entry.count] = static_cast<std::uint32_t>(frame - first);
    entry.return_addresses[entry.count++] = return_address;
    lowest = frame + sizeof(os::FrameRecord);
  }
  if (entry.count == 0) return;
  std::reverse(entry.places, entry.places + entry.count);
  std::reverse(entry.return_addresses, entry.return_addresses + entry.count);
  entry.key = key(height(chain), generation);
  entry.number = number;
  Set& set = sets_[set_of(entry.return_addresses[entry.count - 1], height(chain))];
  set.entries[set.next] = entry;
  set.next = (set.next + 1) % kWays;
}

}  // namespace weft::trace
