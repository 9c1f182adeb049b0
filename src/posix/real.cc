// SPDX-License-Identifier: MIT
#include "posix/real.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <cstdio>

namespace weft::posix {

constinit base::Atom<const Real*> known_real{nullptr};

namespace {

constinit Real found{};

// Not by write(), which is defined here.
[[noreturn]] void give_up(const char* name) noexcept {
  char text[160];
  const int length = std::snprintf(
      text, sizeof text,
      "weft::posix: the C library's %s is not found: a statically linked program cannot use weft::posix\n", name);
  syscall(SYS_write, 2, text, length);
  _exit(2);
}

template <class F>
void find(F& function, const char* name) noexcept {
  void* next = dlsym(RTLD_NEXT, name);
  if (next == nullptr) give_up(name);
  function = reinterpret_cast<F>(next);
}

__attribute__((constructor(101))) void find_before_main() { find_real(); }

}  // namespace

// Several threads may be here at once, and write the same.
const Real& find_real() noexcept {
#define WEFT_POSIX_FIND(name) find(found.name, #name);
  WEFT_POSIX_REAL(WEFT_POSIX_FIND)
#undef WEFT_POSIX_FIND
  known_real.store_release(&found);  // pairs: posix.real
  return found;
}

}  // namespace weft::posix
