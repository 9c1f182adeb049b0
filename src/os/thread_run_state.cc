// SPDX-License-Identifier: MIT
#include "os/thread_run_state.h"

#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <string_view>

namespace weft::os {

bool thread_sleeps(pid_t thread) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", static_cast<int>(thread));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[256];
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  const std::string_view line(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t name_ends = line.rfind(") ");  // a name may contain anything
  return name_ends != std::string_view::npos && name_ends + 2 < line.size() && line[name_ends + 2] != 'R';
}

}  // namespace weft::os
