// SPDX-License-Identifier: MIT
#include "os/code_range.h"

#include <link.h>
#include <sys/auxv.h>

namespace weft::os {
namespace {

struct Search {
  std::uintptr_t address;
  CodeRange found;
};

int look_at_module(dl_phdr_info* module, std::size_t, void* raw) {
  auto& search = *static_cast<Search*>(raw);
  for (unsigned i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = module->dlpi_addr + segment.p_vaddr;
    if (search.address - begin >= segment.p_memsz) continue;
    search.found = {begin, begin + segment.p_memsz};
    return 1;
  }
  return 0;
}

}  // namespace

CodeRange code_around(const void* address) noexcept {
  if (getauxval(AT_BASE) == 0) return {};  // statically linked
  Search search{reinterpret_cast<std::uintptr_t>(address), {}};
  dl_iterate_phdr(look_at_module, &search);
  return search.found;
}

}  // namespace weft::os
