// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

// The different stacks of a generation, numbered from 1. Memory is reserved once and touched as it is used. Nothing
// here may allocate, because a goroutine is also recorded when a signal interrupts it, perhaps in the middle of malloc.
// The owner locks.
namespace weft::trace {

class StackTable {
 public:
  static constexpr std::size_t kMaxStacks = std::size_t{1} << 16, kMaxPcs = std::size_t{1} << 20;

  bool reserve() noexcept;  // once; false: no address space, and every stack is number 0
  std::uint32_t number_of(std::uint64_t hash, std::span<void* const> pcs) noexcept;  // 0: full
  std::size_t size() const noexcept { return size_; }
  std::span<void* const> stack(std::size_t number) const noexcept {
    const Stack& stack = stacks_[number - 1];
    return {pcs_ + stack.first, stack.count};
  }
  bool is_half_full() const noexcept { return size_ >= kMaxStacks / 2 || used_pcs_ >= kMaxPcs / 2; }
  void clear() noexcept;

 private:
  static constexpr std::size_t kSlots = 2 * kMaxStacks;
  struct Stack {
    std::uint64_t hash;
    std::uint32_t first, count;  // in pcs_
  };
  Stack* stacks_ = nullptr;  // number n is stacks_[n - 1]
  void** pcs_ = nullptr;
  std::uint32_t* slots_ = nullptr;  // numbers, by hash, with linear probing; 0: free
  std::size_t size_ = 0, used_pcs_ = 0;
};

}  // namespace weft::trace
