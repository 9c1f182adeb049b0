// SPDX-License-Identifier: MIT
#pragma once
#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

// What the system says about this process.
namespace weft::test {

inline std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

inline bool thread_exists(pid_t tid) { return access(("/proc/self/task/" + std::to_string(tid)).c_str(), F_OK) == 0; }

inline int count_entries(const char* directory) {
  DIR* const handle = opendir(directory);
  if (handle == nullptr) return -1;
  int count = 0;
  while (const dirent* entry = readdir(handle))
    if (entry->d_name[0] != '.') ++count;
  closedir(handle);
  return count;
}
inline int count_threads() { return count_entries("/proc/self/task"); }
inline int count_descriptors() { return count_entries("/proc/self/fd") - 1; }  // less the one that looks

}  // namespace weft::test
