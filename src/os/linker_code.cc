// SPDX-License-Identifier: MIT
#include "os/linker_code.h"

#include <link.h>
#include <sys/auxv.h>

#include "os/code_range.h"

namespace weft::os {
namespace {

CodeRange resolver;  // written before the first signal

}  // namespace

void find_linker_code() noexcept {
#if defined(__aarch64__)
  const std::uintptr_t base = getauxval(AT_BASE);
  if (base == 0) return;  // statically linked
  resolver = code_around(reinterpret_cast<const void*>(base + reinterpret_cast<const ElfW(Ehdr)*>(base)->e_entry));
#endif
}

bool is_linker_code(std::uintptr_t pc) noexcept { return pc - resolver.begin < resolver.end - resolver.begin; }

}  // namespace weft::os
