// SPDX-License-Identifier: MIT
#include "trace/known_chains.h"

namespace weft::trace {

WEFT_READS_STACKS std::uint32_t KnownChains::find(const void* frame_address, const void* high_address,
                                                  std::uint64_t generation, ChainHint& hint) const noexcept {
  const auto frame = reinterpret_cast<std::uintptr_t>(frame_address);
  const auto high = reinterpret_cast<std::uintptr_t>(high_address);
  const std::size_t first = set_of(os::strip_signature(record_at(frame)->return_address), high - frame);
  const std::uint64_t wanted = key(high - frame, generation);
  for (std::size_t i = first; i < first + kWays; ++i)
    if (entries_[i].key == wanted && is_there(entries_[i], frame, high)) {
      hint = static_cast<ChainHint>(i);
      return entries_[i].number;
    }
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
  entry.key = key(height(chain), generation);
  entry.number = number;
  const std::size_t set = set_of(entry.return_addresses[0], height(chain));
  std::uint8_t& next = next_[set / kWays];
  entries_[set + next] = entry;
  next = (next + 1) % kWays;
}

}  // namespace weft::trace
