// SPDX-License-Identifier: MIT
#include "os/memory.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/atomic.h"
#include "base/sanitizer.h"
#if WEFT_ASAN
#include <sanitizer/lsan_interface.h>
#endif
#include "os/keep_errno.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#ifndef PIDFD_SELF
#define PIDFD_SELF (-10000)  // Linux 6.14: "this process", no descriptor needed
#endif

namespace weft::os {
namespace {

constexpr int kUnknown = -1;
base::Atom<int> known_kind{kUnknown};

bool guard_one(const Range& range) { return madvise(range.address, range.bytes, MADV_GUARD_INSTALL) == 0; }

// Emulators accept advice that they do not know. So the kernel is asked to write the time into the page, which a guard
// refuses. (A system call about signals would not do: valgrind accesses its arguments itself, and would crash.)
bool is_guarded(void* page) { return syscall(SYS_clock_gettime, CLOCK_MONOTONIC, page) != 0 && errno == EFAULT; }

GuardKind probe_guard_kind() {
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return GuardKind::kMprotect;
  const bool works = guard_one({page, kPage}) && is_guarded(page);
  munmap(page, kPage);
  return works ? GuardKind::kMadvise : GuardKind::kMprotect;
}

// All ranges in one system call where the kernel lets a process name itself; returns how many were done.
std::size_t guard_many(std::span<const Range> ranges) {
  static constinit base::Atom<bool> refused{false};
  if (refused.load_relaxed() || ranges.size() < 4) return 0;  // a hint, written once
  iovec vectors[64];  // few: this runs on the stacks of goroutines
  const std::size_t count = std::min(ranges.size(), std::size(vectors));
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    vectors[i] = {ranges[i].address, ranges[i].bytes};
    bytes += ranges[i].bytes;
  }
  const long done = syscall(SYS_process_madvise, PIDFD_SELF, vectors, count, MADV_GUARD_INSTALL, 0);
  if (done != static_cast<long>(bytes)) {
    refused.store_relaxed(true);  // a partial success is repeated one by one: installing twice is harmless
    return 0;
  }
  return count;
}

void advise(void* address, std::size_t bytes, int advice) {
  const KeepErrno keep;
  madvise(address, bytes, advice);
}

}  // namespace

void* reserve_memory(std::size_t bytes, const char* name) noexcept {
  const KeepErrno keep;
  constexpr int kProtection = PROT_READ | PROT_WRITE, kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#if WEFT_TSAN  // its mmap counts as a write by the mapping thread; these pages go from thread to thread
  void* address = reinterpret_cast<void*>(syscall(SYS_mmap, nullptr, bytes, kProtection, kFlags, -1, 0));
#else
  void* address = mmap(nullptr, bytes, kProtection, kFlags, -1, 0);
#endif
  if (address == MAP_FAILED) return nullptr;
  prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, address, bytes, name);  // refused by older kernels: only a name is missing
  return address;
}

void* reserve_permanent_memory(std::size_t bytes, const char* name) noexcept {
  void* address = reserve_memory(bytes, name);
  if (address != nullptr) show_to_leak_checkers(address, bytes);
  return address;
}

void show_to_leak_checkers([[maybe_unused]] void* address, [[maybe_unused]] std::size_t bytes) noexcept {
#if WEFT_ASAN
  __lsan_register_root_region(address, bytes);
#endif
}

namespace {

constexpr std::size_t kAmpleAddressSpace = std::size_t{1} << 40;  // a million stacks of 1 MiB

bool commits_what_is_reserved() {
  int mode = 0;
  if (std::FILE* file = std::fopen("/proc/sys/vm/overcommit_memory", "re")) {
    if (std::fscanf(file, "%d", &mode) != 1) mode = 0;
    std::fclose(file);
  }
  return mode == 2;
}

// The kernel puts the 16 bytes of AT_RANDOM at the end of the address space, above the first stack. (Addresses of some
// aarch64 kernels have 39 bits.)
bool are_addresses_short() {
  const auto end = static_cast<std::size_t>(getauxval(AT_RANDOM));
  return end != 0 && end < kAmpleAddressSpace;
}

}  // namespace

bool is_address_space_scarce() noexcept {
  const KeepErrno keep;
  rlimit limit{};
  const bool limited =
      getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < kAmpleAddressSpace;
  return limited || are_addresses_short() || commits_what_is_reserved();
}

void release_memory(void* address, std::size_t bytes) noexcept { munmap(address, bytes); }
void forbid_huge_pages(void* address, std::size_t bytes) noexcept { advise(address, bytes, MADV_NOHUGEPAGE); }
void advise_huge_pages(void* address, std::size_t bytes) noexcept { advise(address, bytes, MADV_HUGEPAGE); }
void discard_pages(void* address, std::size_t bytes) noexcept { advise(address, bytes, MADV_DONTNEED); }

GuardKind guard_kind() noexcept {
  const KeepErrno keep;
  int kind = known_kind.load_relaxed();  // each thread would find the same answer
  if (kind == kUnknown) {
    kind = static_cast<int>(probe_guard_kind());
    known_kind.store_relaxed(kind);
  }
  return static_cast<GuardKind>(kind);
}

void force_guard_kind(GuardKind kind) noexcept { known_kind.store_relaxed(static_cast<int>(kind)); }

bool install_guards(std::span<const Range> ranges, GuardKind kind) noexcept {
  const KeepErrno keep;
  if (kind == GuardKind::kNone) return false;
  if (kind == GuardKind::kMprotect)
    return std::ranges::all_of(ranges, [](const Range& r) { return mprotect(r.address, r.bytes, PROT_NONE) == 0; });
  while (!ranges.empty()) {
    if (const std::size_t done = guard_many(ranges); done > 0) {
      ranges = ranges.subspan(done);
    } else {
      if (!guard_one(ranges.front())) return false;
      ranges = ranges.subspan(1);
    }
  }
  return true;
}

namespace {

std::size_t read_guard_limit() {
  std::size_t maps = 65530;
  if (std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "re")) {
    if (std::fscanf(file, "%zu", &maps) != 1) maps = 65530;
    std::fclose(file);
  }
  return maps > 8192 ? (maps - 4096) / 2 : 1024;
}

}  // namespace

std::size_t mprotect_guard_limit() noexcept {
  const KeepErrno keep;
  static constinit base::Atom<std::size_t> limit{0};
  std::size_t known = limit.load_relaxed();
  if (known == 0) limit.store_relaxed(known = read_guard_limit());  // a second reader reads the same
  return known;
}

}  // namespace weft::os
