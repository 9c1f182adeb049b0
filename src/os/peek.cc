// SPDX-License-Identifier: MIT
#include "os/peek.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/memory.h"

namespace weft::os {
namespace {

constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kSwapped = std::uint64_t{1} << 62;

__attribute__((no_sanitize("address", "thread"))) void copy_plainly(void* to, std::uintptr_t address,
                                                                    std::size_t bytes) noexcept {
  auto* out = static_cast<volatile char*>(to);
  const auto* in = reinterpret_cast<const volatile char*>(address);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = in[i];
}

}  // namespace

std::size_t peek(void* to, std::uintptr_t address, std::size_t bytes) noexcept {
  const iovec local{to, bytes}, remote{reinterpret_cast<void*>(address), bytes};
  const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  if (got >= 0) return static_cast<std::size_t>(got);
  if (errno == EFAULT) return 0;
  copy_plainly(to, address, bytes);
  return bytes;
}

void visit_populated(std::uintptr_t begin, std::uintptr_t end,
                     void (*visit)(void* context, std::uintptr_t begin, std::uintptr_t end), void* context) noexcept {
  constexpr std::size_t kEntries = 512;
  std::uint64_t entries[kEntries];
  const int fd = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return visit(context, begin, end);
  std::uintptr_t from = 0;  // of a part that has pages; 0: none
  std::uintptr_t at = begin;
  while (at < end) {
    const std::size_t pages = std::min(kEntries, (end - at + kPage - 1) / kPage);
    const ssize_t got = pread(fd, entries, pages * sizeof entries[0], static_cast<off_t>(at / kPage * sizeof entries[0]));
    if (got <= 0) break;
    const auto count = static_cast<std::size_t>(got) / sizeof entries[0];
    for (std::size_t i = 0; i < count; ++i, at = (at / kPage + 1) * kPage) {
      const bool populated = (entries[i] & (kPresent | kSwapped)) != 0;
      if (populated && from == 0) from = at;
      if (populated || from == 0) continue;
      visit(context, from, at);
      from = 0;
    }
  }
  ::close(fd);
  if (at < end && from == 0) from = at;  // the kernel says no more
  if (from != 0) visit(context, from, end);
}

}  // namespace weft::os
