// SPDX-License-Identifier: MIT
#include "os/common_lock_code.h"

#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <new>

#include "os/code_range.h"

extern "C" {
int __cxa_atexit(void (*)(void*), void*, void*) noexcept;
int __printf_chk(int, const char*, ...) __attribute__((weak));
int __fprintf_chk(FILE*, int, const char*, ...) __attribute__((weak));
int __vfprintf_chk(FILE*, int, const char*, va_list) __attribute__((weak));
}

namespace weft::os {
namespace {

constexpr std::size_t kMostModules = 8;
CodeRange modules[kMostModules];  // written before the first signal
std::size_t module_count = 0;
CodeRange linker;

template <class F>
std::uintptr_t address_of(F* function) noexcept {
  return reinterpret_cast<std::uintptr_t>(function);
}

std::uintptr_t locking[] = {
    // malloc's
    address_of(&std::malloc), address_of(&std::calloc), address_of(&std::realloc), address_of(&std::free),
    address_of(&::aligned_alloc), address_of(&::posix_memalign),
    address_of(static_cast<void* (*)(std::size_t)>(&::operator new)),
    address_of(static_cast<void* (*)(std::size_t)>(&::operator new[])),
    address_of(static_cast<void* (*)(std::size_t, const std::nothrow_t&) noexcept>(&::operator new)),
    address_of(static_cast<void* (*)(std::size_t, std::align_val_t)>(&::operator new)),
    address_of(static_cast<void (*)(void*) noexcept>(&::operator delete)),
    address_of(static_cast<void (*)(void*) noexcept>(&::operator delete[])),
    address_of(static_cast<void (*)(void*, std::size_t) noexcept>(&::operator delete)),
    address_of(static_cast<void (*)(void*, std::align_val_t) noexcept>(&::operator delete)),
    // stdio's
    address_of(&std::fopen), address_of(&std::fclose), address_of(&std::fflush), address_of(&std::fread),
    address_of(&std::fwrite), address_of(&std::fgets), address_of(&std::fputs), address_of(&std::puts),
    address_of(&std::fputc), address_of(&std::fgetc), address_of(&::putc), address_of(&::getc), address_of(&::putchar),
    address_of(&::getchar), address_of(&std::ungetc), address_of(&std::fseek), address_of(&std::ftell),
    address_of(&std::setvbuf), address_of(&std::printf), address_of(&std::fprintf), address_of(&std::vprintf),
    address_of(&std::vfprintf), address_of(&std::fscanf), address_of(&std::scanf), address_of(&std::perror),
    address_of(&::getline), address_of(&::getdelim), address_of(&__printf_chk), address_of(&__fprintf_chk),
    address_of(&__vfprintf_chk),
    // the process's: exit handlers, threads, modules, children, environment, time zone, locale
    address_of(&__cxa_atexit), address_of(&std::atexit), address_of(&pthread_create), address_of(&dl_iterate_phdr),
    address_of(&fork), address_of(&setenv), address_of(&std::localtime), address_of(&localtime_r),
    address_of(&std::mktime), address_of(&std::strftime), address_of(&std::setlocale)};

bool contains(const CodeRange& range, std::uintptr_t pc) noexcept { return pc - range.begin < range.end - range.begin; }

bool is_named(const char* path, const char* beginning) noexcept {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  return std::strncmp(name, beginning, std::strlen(beginning)) == 0;
}

void remember(const CodeRange& range) noexcept {
  if (range.begin != range.end && module_count < kMostModules) modules[module_count++] = range;
}

int remember_c_library(dl_phdr_info* module, std::size_t, void*) {
  const bool is_library = is_named(module->dlpi_name, "libc.") || is_named(module->dlpi_name, "libc-") ||
                          is_named(module->dlpi_name, "libpthread");
  if (!is_library) return 0;
  for (unsigned i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[i];
    const std::uintptr_t begin = module->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) remember({begin, begin + segment.p_memsz});
  }
  return 0;
}

}  // namespace

void find_common_lock_code() noexcept {
  std::sort(std::begin(locking), std::end(locking));
  const std::uintptr_t base = getauxval(AT_BASE);
  if (base == 0) return;  // statically linked
  linker = code_around(reinterpret_cast<const void*>(base + reinterpret_cast<const ElfW(Ehdr)*>(base)->e_entry));
  remember(linker);
  dl_iterate_phdr(remember_c_library, nullptr);
  const CodeRange allocator = code_around(reinterpret_cast<const void*>(&std::malloc));
  const CodeRange own = code_around(reinterpret_cast<const void*>(&find_common_lock_code));
  const CodeRange program = code_around(reinterpret_cast<const void*>(getauxval(AT_ENTRY)));  // not own: libweft.so
  if (allocator.begin != own.begin && allocator.begin != program.begin) remember(allocator);
}

bool is_common_lock_code(std::uintptr_t pc) noexcept {
  return std::any_of(modules, modules + module_count, [pc](const CodeRange& range) { return contains(range, pc); });
}

bool takes_common_lock(std::uintptr_t pc, std::uintptr_t function) noexcept {
  return contains(linker, pc) ||
         (function != 0 && std::binary_search(std::begin(locking), std::end(locking), function));
}

bool knows_common_lock_code() noexcept { return module_count > 0; }

}  // namespace weft::os
