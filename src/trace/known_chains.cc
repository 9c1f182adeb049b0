// SPDX-License-Identifier: MIT
#include "trace/known_chains.h"

#include "arch/context.h"

namespace weft::trace {

WEFT_READS_STACKS std::uint32_t KnownChains::find(const void* frame_address, const void* high_address,
                                                  ChainHint& hint) const noexcept {
  const auto frame = reinterpret_cast<std::uintptr_t>(frame_address);
  const auto high = reinterpret_cast<std::uintptr_t>(high_address);
  const std::size_t first = set_of(os::strip_signature(record_at(frame)->return_address), high - frame);
  for (std::size_t i = first; i < first + kWays; ++i)
    if (entries_[i].height == high - frame && is_there(entries_[i], frame)) {
      hint = static_cast<ChainHint>(i);
      return entries_[i].number;
    }
  return 0;
}

WEFT_READS_STACKS void KnownChains::remember(const FrameChain& chain, std::uint32_t number) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(chain.frame);
  const auto high = reinterpret_cast<std::uintptr_t>(chain.high);
  if (high - first >= kNowhere) return;
  Entry entry;
  std::uintptr_t frame = first;
  std::uintptr_t lowest = reinterpret_cast<std::uintptr_t>(chain.low);
  while (os::leads_on(frame, lowest, high)) {
    const std::uintptr_t return_address = os::strip_signature(record_at(frame)->return_address);
    const std::uintptr_t caller = record_at(frame)->caller;
    if (entry.count > 0 && caller == 0 && return_address == arch::outermost_return_address()) break;  // the root
    if (entry.count == kDepth || return_address == 0) return;  // too deep, or a walk ends here for another reason
    lowest = frame + sizeof(os::FrameRecord);
    entry.callers[entry.count] =
        os::leads_on(caller, lowest, high) ? static_cast<std::uint32_t>(caller - first) : kNowhere;
    entry.return_addresses[entry.count++] = return_address;
    frame = caller;
  }
  if (entry.count == 0) return;
  entry.height = high - first;
  entry.number = number;
  const std::size_t set = set_of(entry.return_addresses[0], entry.height);
  std::uint8_t& next = next_[set / kWays];
  entries_[set + next] = entry;
  next = (next + 1) % kWays;
}

}  // namespace weft::trace
