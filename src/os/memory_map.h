// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// The mappings of this process, as /proc/self/maps lists them.
namespace weft::os {

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  bool is_writable = false;   // and readable
  bool is_private = false;
  bool is_anonymous = false;  // private memory without a file, the break and the main stack included
  bool is_break = false;      // [heap]
  bool is_stack = false;      // [stack]: that of the main thread
  bool is_device = false;     // mapped from /dev: reading may have effects
  bool is_file_share = false;  // a file's own pages: MAP_SHARED
  bool is_guarded = false;     // memory without access lies right below
};

// Calls visit for each mapping, lowest first. Neither allocates from the heap nor locks, so it may be called in the
// child of a fork of many threads. False: /proc is missing, or there is no memory for the text.
bool visit_memory_map(void (*visit)(void* context, const Mapping& mapping), void* context) noexcept;

}  // namespace weft::os
