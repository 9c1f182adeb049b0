// SPDX-License-Identifier: MIT
#include "os/memory_map.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "os/memory.h"

namespace weft::os {
namespace {

constexpr std::size_t kRoom = 64 * 1024;  // many lines; the longest has a path of 4 KiB

std::uintptr_t take_hex(std::string_view& text) noexcept {
  std::uintptr_t value = 0;
  while (!text.empty()) {
    const char c = text.front();
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) break;
    value = value * 16 + static_cast<std::uintptr_t>(digit);
    text.remove_prefix(1);
  }
  return value;
}

std::string_view take_word(std::string_view& text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

// "55d0-55f0 rw-p 00000000 08:01 1234   /path". `no_access` tells whether the line is of a guard.
Mapping parse(std::string_view line, bool& no_access) noexcept {
  Mapping mapping;
  mapping.begin = take_hex(line);
  if (!line.empty()) line.remove_prefix(1);
  mapping.end = take_hex(line);
  const std::string_view access = take_word(line);
  take_word(line);
  take_word(line);
  const std::string_view inode = take_word(line), path = take_word(line);
  const bool is_private = access.size() == 4 && access[3] == 'p';
  mapping.is_writable = access.starts_with("rw");
  no_access = access.starts_with("---");
  mapping.is_private = is_private;
  mapping.is_anonymous = is_private && inode == "0" && (path.empty() || path.front() == '[');
  mapping.is_break = path == "[heap]";
  mapping.is_stack = path == "[stack]";
  mapping.is_device = path.starts_with("/dev/") && !path.starts_with("/dev/zero") && !path.starts_with("/dev/shm/");
  mapping.is_file_share = !is_private && inode != "0" && !path.starts_with("/dev/zero");
  return mapping;
}

}  // namespace

bool visit_memory_map(void (*visit)(void* context, const Mapping& mapping), void* context) noexcept {
  const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  auto* text = static_cast<char*>(reserve_memory(kRoom, "weft memory map"));
  if (text == nullptr) {
    ::close(fd);
    return false;
  }
  std::size_t length = 0;
  std::uintptr_t guard_end = 0;
  for (;;) {
    const ssize_t got = ::read(fd, text + length, kRoom - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += static_cast<std::size_t>(got);
    std::size_t used = 0;
    while (const void* end = std::memchr(text + used, '\n', length - used)) {
      const std::size_t size = static_cast<std::size_t>(static_cast<const char*>(end) - text) - used;
      bool no_access = false;
      Mapping mapping = parse({text + used, size}, no_access);
      mapping.is_guarded = mapping.begin == guard_end;
      if (no_access) guard_end = mapping.end;
      visit(context, mapping);
      used += size + 1;
    }
    if (used == 0 && length == kRoom) break;  // a line that is longer than any path
    std::memmove(text, text + used, length - used);
    length -= used;
  }
  ::close(fd);
  release_memory(text, kRoom);
  return true;
}

}  // namespace weft::os
