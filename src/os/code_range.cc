// SPDX-License-Identifier: MIT
#include "os/code_range.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

// By a name of its own, for only newer C libraries declare it.
extern "C" int weft_find_object(void*, void*) __asm__("_dl_find_object") __attribute__((weak));

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

CodeRange code_found_without_lock([[maybe_unused]] std::uintptr_t address) noexcept {
#ifdef DLFO_STRUCT_HAS_EH_DBASE  // glibc 2.35: <dlfcn.h> declares the type of the answer
  dl_find_object found;
  if (&weft_find_object != nullptr && weft_find_object(reinterpret_cast<void*>(address), &found) == 0)
    return {reinterpret_cast<std::uintptr_t>(found.dlfo_map_start),
            reinterpret_cast<std::uintptr_t>(found.dlfo_map_end)};
#endif
  return {};
}

}  // namespace weft::os
