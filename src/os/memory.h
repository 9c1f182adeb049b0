// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>

namespace weft::os {

inline constexpr std::size_t kPage = 4096;

// Address space without commitment: pages appear at first touch. Null when the system refuses.
// `name` shows in /proc/self/maps where the kernel supports it.
void* reserve_memory(std::size_t bytes, const char* name) noexcept;
// The same for objects that live as long as the process and hold pointers into the heap: leak checkers look in there.
void* reserve_permanent_memory(std::size_t bytes, const char* name) noexcept;
void show_to_leak_checkers(void* address, std::size_t bytes) noexcept;
void release_memory(void* address, std::size_t bytes) noexcept;

// Is there so little address space that megabytes of it for each of many stacks would soon use it up? The limit may be
// RLIMIT_AS, a kernel that commits what is only reserved (vm.overcommit_memory=2), or the width of addresses.
bool is_address_space_scarce() noexcept;

void forbid_huge_pages(void* address, std::size_t bytes) noexcept;
void advise_huge_pages(void* address, std::size_t bytes) noexcept;

// Gives the pages back to the system; they read as zero afterwards. Guards in the range survive.
void discard_pages(void* address, std::size_t bytes) noexcept;

enum class GuardKind {
  kMadvise,   // MADV_GUARD_INSTALL (Linux 6.13): no mapping is split, a million guards are fine
  kMprotect,  // older kernels: two mappings per stack, so only up to half of vm.max_map_count
  kNone,      // beyond that: a canary word is checked instead
};

struct Range {
  void* address;
  std::size_t bytes;
};

// What this kernel offers (probed once), or what force_guard_kind() said.
GuardKind guard_kind() noexcept;
void force_guard_kind(GuardKind kind) noexcept;  // tests of the fallbacks

// Makes the ranges inaccessible; with kMadvise in as few system calls as possible. False: not all could be guarded.
bool install_guards(std::span<const Range> ranges, GuardKind kind) noexcept;

// How many mprotect guards this process may place (half of vm.max_map_count, less a reserve).
std::size_t mprotect_guard_limit() noexcept;

}  // namespace weft::os
