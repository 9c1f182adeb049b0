// SPDX-License-Identifier: MIT
#include "os/elf_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::os {
namespace {

// The NUL-terminated text at an offset, or an empty view.
std::string_view text_at(Bytes strings, std::uint64_t offset) noexcept {
  if (offset >= strings.size()) return {};
  ByteCursor cursor(strings.subspan(static_cast<std::size_t>(offset)));
  return cursor.text();
}

}  // namespace

ElfImage::~ElfImage() {
  if (owned_) munmap(const_cast<unsigned char*>(bytes_.data()), bytes_.size());
}

ElfImage ElfImage::open(const char* path) noexcept {
  int fd = -1;
  do {
    fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return {};
  struct stat status;
  void* memory = MAP_FAILED;
  std::size_t size = 0;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    size = static_cast<std::size_t>(status.st_size);
    memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  }
  close(fd);
  if (memory == MAP_FAILED) return {};
  ElfImage image = view({static_cast<const unsigned char*>(memory), size});
  if (image.valid()) {
    image.owned_ = true;
  } else {
    munmap(memory, size);
  }
  return image;
}

ElfImage ElfImage::view(Bytes bytes) noexcept {
  ElfImage image;
  image.bytes_ = bytes;
  ElfW(Ehdr) header;
  const bool good = image.read_at(0, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                    header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
                    header.e_phentsize == sizeof(ElfW(Phdr));
  if (!good) image.bytes_ = {};
  return image;
}

template <class T>
bool ElfImage::read_at(std::uint64_t offset, T& out) const noexcept {
  if (offset > bytes_.size() || bytes_.size() - offset < sizeof out) return false;
  std::memcpy(&out, bytes_.data() + offset, sizeof out);
  return true;
}

ElfW(Ehdr) ElfImage::header() const noexcept {
  ElfW(Ehdr) header{};
  read_at(0, header);
  return header;
}

bool ElfImage::segment_at(std::size_t index, ElfW(Phdr) & out) const noexcept {
  const ElfW(Ehdr) head = header();
  return index < head.e_phnum && head.e_phoff <= bytes_.size() &&
         read_at(head.e_phoff + index * sizeof out, out);
}

bool ElfImage::section_at(std::size_t index, ElfW(Shdr) & out) const noexcept {
  const ElfW(Ehdr) head = header();
  if (head.e_shentsize != sizeof out || head.e_shoff == 0 || head.e_shoff > bytes_.size()) return false;
  return index < bytes_.size() / sizeof out && read_at(head.e_shoff + index * sizeof out, out);
}

std::size_t ElfImage::section_count() const noexcept {
  const ElfW(Ehdr) head = header();
  if (head.e_shnum != 0) return head.e_shnum;
  ElfW(Shdr) first;  // from 65280 sections on, the number is here
  return section_at(0, first) ? static_cast<std::size_t>(first.sh_size) : 0;
}

Bytes ElfImage::contents(const ElfW(Shdr) & section) const noexcept {
  if (section.sh_type == SHT_NOBITS || (section.sh_flags & SHF_COMPRESSED) != 0) return {};
  if (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset) return {};
  return bytes_.subspan(static_cast<std::size_t>(section.sh_offset),
                        static_cast<std::size_t>(section.sh_size));
}

Bytes ElfImage::section(std::string_view name) const noexcept {
  const ElfW(Ehdr) head = header();
  std::size_t names_index = head.e_shstrndx;
  ElfW(Shdr) section;
  if (names_index == SHN_XINDEX && section_at(0, section)) names_index = section.sh_link;
  if (!section_at(names_index, section)) return {};
  const Bytes names = contents(section);
  const std::size_t count = section_count();
  for (std::size_t i = 1; i < count && section_at(i, section); ++i) {
    if (text_at(names, section.sh_name) == name) return contents(section);
  }
  return {};
}

bool ElfImage::has_program_headers(const ElfW(Phdr) * headers, std::size_t count) const noexcept {
  ElfW(Phdr) own;
  if (header().e_phnum != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!segment_at(i, own) || std::memcmp(&own, &headers[i], sizeof own) != 0) return false;
  }
  return true;
}

bool ElfImage::is_code(std::uint64_t address) const noexcept {
  ElfW(Phdr) segment;
  for (std::size_t i = 0; segment_at(i, segment); ++i) {
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_memsz) {
      return true;
    }
  }
  return false;
}

std::optional<std::uint64_t> ElfImage::code_address(std::uint64_t file_offset) const noexcept {
  ElfW(Phdr) segment;
  for (std::size_t i = 0; segment_at(i, segment); ++i) {
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && file_offset >= segment.p_offset &&
        file_offset - segment.p_offset < segment.p_filesz) {
      return file_offset - segment.p_offset + segment.p_vaddr;
    }
  }
  return std::nullopt;
}

ElfImage::SymbolTable ElfImage::symbol_table() const noexcept {
  SymbolTable found;
  const std::size_t count = section_count();
  ElfW(Shdr) section;
  for (const ElfW(Word) type : {ElfW(Word){SHT_SYMTAB}, ElfW(Word){SHT_DYNSYM}}) {
    for (std::size_t i = 1; i < count && section_at(i, section); ++i) {
      ElfW(Shdr) strings;
      if (section.sh_type != type || section.sh_entsize != sizeof(ElfW(Sym)) ||
          !section_at(section.sh_link, strings))
        continue;
      found = {contents(section), contents(strings)};
      if (!found.entries.empty()) return found;
    }
  }
  return found;
}

bool ElfImage::read_function(const SymbolTable& table, std::size_t index,
                             FunctionSymbol& out) const noexcept {
  ElfW(Sym) symbol;
  std::memcpy(&symbol, table.entries.data() + index * sizeof symbol, sizeof symbol);
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_name == 0) return false;
  const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
  // Labels of hand-written assembly have no type; what they name is code if their section is. Names are read
  // only here, because those of all functions are the larger part of some files.
  if (!is_function) {
    ElfW(Shdr) section;
    if (type != STT_NOTYPE || symbol.st_shndx >= SHN_LORESERVE || !section_at(symbol.st_shndx, section) ||
        (section.sh_flags & SHF_EXECINSTR) == 0) {
      return false;
    }
    const unsigned char first = symbol.st_name < table.strings.size() ? table.strings[symbol.st_name] : 0;
    if (first == 0 || first == '$' || first == '.') return false;  // mapping symbols of aarch64, local labels
  }
  const unsigned binding = ELF64_ST_BIND(symbol.st_info);
  out.address = symbol.st_value;
  out.size = static_cast<std::uint32_t>(std::min<std::uint64_t>(symbol.st_size, UINT32_MAX));
  out.name_offset = symbol.st_name;
  out.rank = static_cast<std::uint8_t>((symbol.st_size != 0 ? 8 : 0) + (is_function ? 4 : 0) +
                                       (binding == STB_GLOBAL ? 2
                                        : binding == STB_WEAK ? 1
                                                              : 0));
  return true;
}

std::string_view ElfImage::name_of(const FunctionSymbol& symbol) const noexcept {
  const std::string_view name = text_at(symbol_table().strings, symbol.name_offset);
  return name.substr(0, name.find('@'));  // without its version
}

std::optional<FunctionSymbol> ElfImage::find_function(std::uint64_t address) const noexcept {
  // The innermost sized function around the address; else the nearest label before it with no sized function
  // between.
  std::optional<FunctionSymbol> inside, nearest;
  const auto closer = [](const FunctionSymbol& symbol, const std::optional<FunctionSymbol>& than) {
    return !than || symbol.address > than->address ||
           (symbol.address == than->address && symbol.rank > than->rank);
  };
  for_each_function([&](const FunctionSymbol& symbol) {
    if (symbol.address > address) return;
    if (symbol.size != 0 && address - symbol.address < symbol.size && closer(symbol, inside)) inside = symbol;
    if (closer(symbol, nearest)) nearest = symbol;
  });
  if (inside || !nearest || nearest->size != 0 || !is_code(address)) return inside;
  bool is_in_function = false;  // a label inside a function reaches no further than the function
  for_each_function([&](const FunctionSymbol& symbol) {
    is_in_function |= symbol.address <= nearest->address && nearest->address - symbol.address < symbol.size;
  });
  return is_in_function ? std::nullopt : nearest;
}

}  // namespace weft::os
