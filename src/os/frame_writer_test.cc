// SPDX-License-Identifier: MIT
// test-labels: qemu
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <sstream>
#include <string>

#include "os/backtrace.h"
#include "os/symbolizer.h"

namespace weft::os {
namespace {

__attribute__((noinline, used)) int static_function(int value) { return value + static_cast<int>(getpid()); }

const void* address_of(int (*function)(int)) { return reinterpret_cast<const void*>(function); }

// What write_frames() writes, in its two parts.
struct Written {
  std::string raw, symbols;
};

Written write_to_file(void* const* pcs, std::size_t n) {
  const int fd = memfd_create("frames", MFD_CLOEXEC);
  EXPECT_GE(fd, 0);
  errno = 77;
  write_frames(fd, pcs, n);
  EXPECT_EQ(errno, 77) << "kept";
  std::string text(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  close(fd);
  std::size_t split = 0;
  for (std::size_t i = 0; i < n; ++i) split = text.find('\n', split) + 1;
  return {text.substr(0, split), text.substr(split)};
}

TEST(WriteFrames, raw_lines_come_first_and_symbols_equal_those_of_format_frames) {
  std::array<void*, 40> pcs{};  // more than are handled at once
  const std::size_t captured = capture_backtrace(pcs.data(), 20, 0);
  std::size_t count = captured;
  while (count < pcs.size() - 1) {
    pcs[count] = static_cast<char*>(const_cast<void*>(address_of(static_function))) + count;
    ++count;
  }
  pcs[count++] = reinterpret_cast<void*>(0x10);
  const Written written = write_to_file(pcs.data(), count);
  std::istringstream lines(written.raw);
  std::string line;
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    std::ostringstream start;
    start << "  #" << i << " 0x" << std::hex << reinterpret_cast<std::uintptr_t>(pcs[i]);
    EXPECT_EQ(line.find(start.str()), 0u) << line;
    if (i + 1 < count) {
      EXPECT_NE(line.find("+0x"), std::string::npos) << line;
    }
  }
  // The kernel and the loader may name a library by different ways to the same directory.
  const auto without_directories = [](const std::string& text) {
    std::istringstream in(text);
    std::string out;
    for (std::string each; std::getline(in, each); out += each + "\n") {
      if (each.find(".so") != std::string::npos) each.erase(0, each.rfind('/') + 1);
    }
    return out;
  };
  EXPECT_EQ(without_directories(written.symbols), without_directories(format_frames(pcs.data(), count, "  ")));
}

TEST(WriteFrames, names_stay_mangled_while_the_allocator_is_on_the_stack) {
  void* const pcs[] = {reinterpret_cast<void*>(static_cast<void* (*)(std::size_t)>(operator new)),
                       const_cast<void*>(address_of(static_function))};
  const Written written = write_to_file(pcs, 2);
  EXPECT_NE(written.symbols.find("  _ZN4weft2os12_GLOBAL__N_1"), std::string::npos) << written.symbols;
}

TEST(WriteFrames, unusable_descriptor_and_no_frames_are_harmless) {
  void* const pcs[] = {const_cast<void*>(address_of(static_function))};
  write_frames(-1, pcs, 1);
  write_frames(-1, pcs, 0);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  write_frames(full, pcs, 1);
  close(full);
}

}  // namespace
}  // namespace weft::os
