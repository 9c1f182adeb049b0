// SPDX-License-Identifier: MIT
#include "os/instance.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/atomic.h"

// The note and the word it leads to. In assembly, because C++ has no constant expression for the distance
// between two objects, and with it the note needs no relocation at load time. The note is reached from
// other_started_instance(), which keeps it through --gc-sections and pulls it out of an archive. Descriptor,
// never to be changed so that copies of different versions understand each other:
//   int32 version (1)   int32 distance from this field to the `started` word
asm(R"(
    .pushsection .note.weft, "a", %note
    .balign 4
    .hidden weft_instance_note
    .globl weft_instance_note
    .type weft_instance_note, %object
weft_instance_note:
    .long 5
    .long 8
    .long 1
    .asciz "weft"
    .balign 4
    .long 1
    .long weft_instance_started - .
    .size weft_instance_note, . - weft_instance_note
    .popsection

    .pushsection .bss.weft_instance_started, "aw", %nobits
    .balign 4
    .hidden weft_instance_started
    .globl weft_instance_started
    .type weft_instance_started, %object
    .size weft_instance_started, 4
weft_instance_started:
    .zero 4
    .popsection
)");

extern "C" {
extern weft::base::Atom<std::uint32_t> weft_instance_started __attribute__((visibility("hidden")));
extern const ElfW(Nhdr) weft_instance_note __attribute__((visibility("hidden")));
}

namespace weft::os {
namespace {

using StartedWord = base::Atom<std::uint32_t>;
static_assert(sizeof(StartedWord) == 4 && alignof(StartedWord) == 4, "as laid out above");

constexpr std::uint32_t kNoteType = 1;
constexpr char kOwner[] = "weft";

struct Descriptor {
  std::int32_t version;
  std::int32_t to_started;
};

struct InstanceSearch {
  const char* found = nullptr;
};

// Only what a PT_LOAD maps may be read: a note segment need not be loaded.
bool is_loaded(const dl_phdr_info& module, ElfW(Addr) address, std::size_t size) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module.dlpi_phdr[i];
    if (header.p_type == PT_LOAD && address >= header.p_vaddr && size <= header.p_memsz &&
        address - header.p_vaddr <= header.p_memsz - size) {
      return true;
    }
  }
  return false;
}

// The `started` word that the descriptor leads to, or null if it points out of its module.
const StartedWord* started_word(const dl_phdr_info& module, const char* descriptor) {
  Descriptor value;
  std::memcpy(&value, descriptor, sizeof value);
  const std::uintptr_t field =
      reinterpret_cast<std::uintptr_t>(descriptor) + offsetof(Descriptor, to_started);
  const std::uintptr_t word =
      field + static_cast<std::uintptr_t>(static_cast<std::intptr_t>(value.to_started));
  if (value.version < 1 || word % alignof(StartedWord) != 0 ||
      !is_loaded(module, word - module.dlpi_addr, sizeof(StartedWord))) {
    return nullptr;
  }
  return reinterpret_cast<const StartedWord*>(word);
}

bool is_other_and_started(const StartedWord* word) {
  if (word == nullptr || word == &weft_instance_started) return false;
  return word->load_seq_cst() != 0;  // pairs: instance.started
}

bool segment_has_other(const dl_phdr_info& module, const ElfW(Phdr) & segment) {
  const char* const base = reinterpret_cast<const char*>(module.dlpi_addr + segment.p_vaddr);
  const std::size_t align = segment.p_align == 8 ? 8 : 4;
  const auto round_up = [align](std::size_t n) { return (n + align - 1) & ~(align - 1); };
  std::size_t at = 0;
  while (segment.p_memsz - at >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, base + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t descriptor = at + round_up(sizeof note + note.n_namesz);
    const std::size_t end = descriptor + note.n_descsz;  // 32-bit sizes: the sums cannot overflow
    if (end > segment.p_memsz) return false;
    if (note.n_type == kNoteType && note.n_namesz == sizeof kOwner && note.n_descsz >= sizeof(Descriptor) &&
        std::memcmp(base + name, kOwner, sizeof kOwner) == 0 &&
        is_other_and_started(started_word(module, base + descriptor))) {
      return true;
    }
    at = at + round_up(end - at);
    if (at >= segment.p_memsz) return false;
  }
  return false;
}

// The program itself has an empty name in the list of modules.
const char* program_path() {
  static constinit char path[4096] = {};
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  return size > 0 ? path : "the main program";
}

int visit_module(dl_phdr_info* module, std::size_t, void* data) {
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type == PT_NOTE && is_loaded(*module, header.p_vaddr, header.p_memsz) &&
        segment_has_other(*module, header)) {
      const bool named = module->dlpi_name != nullptr && *module->dlpi_name != '\0';
      static_cast<InstanceSearch*>(data)->found = named ? module->dlpi_name : program_path();
      return 1;
    }
  }
  return 0;
}

}  // namespace

void mark_instance_started() noexcept {
  weft_instance_started.store_seq_cst(1);  // pairs: instance.started
}

const char* other_started_instance() noexcept {
  InstanceSearch search;
  const ElfW(Nhdr)* note = &weft_instance_note;
  asm volatile("" : "+r"(note));  // a reference that stays, to keep the note linked
  dl_iterate_phdr(visit_module, &search);
  return search.found;
}

}  // namespace weft::os
