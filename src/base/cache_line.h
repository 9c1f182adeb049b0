// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <new>

namespace weft::base {

// Not std::hardware_destructive_interference_size, because that changes with -mtune and our layouts must not.
inline constexpr std::size_t kCacheLine = 64;

// For containers whose first element begins a cache line.
template <class T>
struct CacheAlignedAllocator {
  using value_type = T;
  CacheAlignedAllocator() = default;
  template <class U>
  CacheAlignedAllocator(const CacheAlignedAllocator<U>&) noexcept {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{kCacheLine})); }
  void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, std::align_val_t{kCacheLine}); }
  bool operator==(const CacheAlignedAllocator&) const = default;
};

}  // namespace weft::base
