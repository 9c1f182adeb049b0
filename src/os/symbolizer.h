// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

// From code address to text: which function, which source line.
//   Job         stacks in dumps and crash reports that a person can read, also for static functions and
//               stripped dynamic symbols, in programs (PIE or not, static or not), shared libraries and the
//               vdso.
//   How         modules from dl_iterate_phdr, names from the symbol table of the file, lines from its
//               .debug_line. Code inlined from weft's own headers has the line of the user's call
//               (dwarf_inline.h).
//   Addresses   those that os/backtrace.h captures: for a return address the caller passes the address
//               minus one, so that a call at the end of a function is not taken for the function after it.
//   Cost        the first address in a module sorts its symbols and finds its line sequences (60 and 90 ms
//               for a program of 280 MB with 370,000 functions); later ones take 10 to 50 us, an address
//               seen before takes 0.1 us.
//   Owned by    one mutex around everything but write_frames().
namespace weft::os {

struct Symbol {
  std::string function;  // demangled; empty: not known
  std::string file;      // empty: not known
  unsigned line = 0;
  std::uintptr_t offset = 0;  // from the start of the function, or of the module if that is not known
  std::string module;         // path of the program or library; empty: the address is in none
};

// Any thread. Needs some 10 KiB of stack, more for long C++ names (about 100 bytes per character): on the
// system stack. Without `with_line`, no line information is read.
Symbol symbolize(const void* pc, bool with_line = true);

// Two lines per address, each after `indent`:
//   function(arguments)
//       file:line +0xoffset pc=0xaddress
std::string format_frames(void* const* pcs, std::size_t n, const char* indent);

// For crashes: writes to `fd` first one raw line per address ("  #0 0xaddress module+0xoffset"), by system
// calls alone, and then the same text as format_frames(). Async-signal-safe but for the demangler, which
// calls malloc: names stay mangled when one of the frames is in the allocator, or when the signal stack has
// no room for it. While another thread is in this function (or this one was when it crashed), only the raw
// lines are written. errno is kept.
void write_frames(int fd, void* const* pcs, std::size_t n) noexcept;

}  // namespace weft::os
