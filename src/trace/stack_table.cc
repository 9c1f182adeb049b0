// SPDX-License-Identifier: MIT
#include "trace/stack_table.h"

#include <algorithm>

#include "os/memory.h"

namespace weft::trace {

bool StackTable::reserve() noexcept {
  constexpr std::size_t kBytes = kMaxStacks * sizeof(Stack) + kMaxPcs * sizeof(void*) + kSlots * sizeof(std::uint32_t);
  auto* memory = static_cast<std::byte*>(os::reserve_permanent_memory(kBytes, "weft trace stacks"));
  if (memory == nullptr) return false;
  stacks_ = reinterpret_cast<Stack*>(memory);
  pcs_ = reinterpret_cast<void**>(memory + kMaxStacks * sizeof(Stack));
  slots_ = reinterpret_cast<std::uint32_t*>(memory + kMaxStacks * sizeof(Stack) + kMaxPcs * sizeof(void*));
  return true;
}

std::uint32_t StackTable::number_of(std::uint64_t hash, std::span<void* const> pcs) noexcept {
  if (slots_ == nullptr) return 0;
  std::size_t slot = hash % kSlots;
  for (; slots_[slot] != 0; slot = (slot + 1) % kSlots)
    if (stacks_[slots_[slot] - 1].hash == hash) return slots_[slot];
  if (size_ == kMaxStacks || used_pcs_ + pcs.size() > kMaxPcs) return 0;
  std::copy(pcs.begin(), pcs.end(), pcs_ + used_pcs_);
  stacks_[size_] = {hash, static_cast<std::uint32_t>(used_pcs_), static_cast<std::uint32_t>(pcs.size())};
  used_pcs_ += pcs.size();
  return slots_[slot] = static_cast<std::uint32_t>(++size_);
}

void StackTable::clear() noexcept {
  if (size_ > kSlots / 64) {
    std::fill_n(slots_, kSlots, 0);
  } else {
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t slot = stacks_[i].hash % kSlots; slots_[slot] != 0; slot = (slot + 1) % kSlots) slots_[slot] = 0;
  }
  size_ = used_pcs_ = 0;
}

}  // namespace weft::trace
