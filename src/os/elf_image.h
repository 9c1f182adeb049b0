// SPDX-License-Identifier: MIT
#pragma once
#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "os/byte_cursor.h"

namespace weft::os {

// Small, because a large program has a million of them.
struct FunctionSymbol {
  std::uint64_t address = 0;      // as in the file, before the load bias
  std::uint32_t size = 0;         // 0: not known, as of hand-written assembly
  std::uint32_t name_offset = 0;  // for ElfImage::name_of()
  std::uint8_t rank = 0;          // of two symbols at one address, the higher is the better name
};

// A 64-bit ELF file mapped for reading. Every access is checked against the size of the file, so that a
// damaged file gives missing answers, never wrong memory. Allocates nothing and takes no lock: also for use
// in a signal handler.
class ElfImage {
 public:
  ElfImage() noexcept = default;
  ElfImage(ElfImage&& other) noexcept { *this = std::move(other); }
  ElfImage& operator=(ElfImage&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  ~ElfImage();

  // An image that is not valid() if the file cannot be opened or is no 64-bit ELF file.
  static ElfImage open(const char* path) noexcept;
  // The same over memory that outlives the image.
  static ElfImage view(Bytes bytes) noexcept;

  bool valid() const noexcept { return !bytes_.empty(); }

  // Contents of a section; empty if it is missing, compressed, without contents or outside the file.
  Bytes section(std::string_view name) const noexcept;

  // Whether these program headers, as found in memory, are the file's: false after the file was replaced on
  // disk.
  bool has_program_headers(const ElfW(Phdr) * headers, std::size_t count) const noexcept;
  bool is_code(std::uint64_t address) const noexcept;
  // The address of a byte of the file as the program headers map it to executable memory.
  std::optional<std::uint64_t> code_address(std::uint64_t file_offset) const noexcept;

  // Calls visit(const FunctionSymbol&) for each function of .symtab, or of .dynsym if there is no .symtab.
  template <class Visit>
  void for_each_function(Visit visit) const {
    const SymbolTable table = symbol_table();
    for (std::size_t i = 0; i < table.entries.size() / sizeof(ElfW(Sym)); ++i) {
      FunctionSymbol symbol;
      if (read_function(table, i, symbol)) visit(symbol);
    }
  }

  // The symbol's name, still mangled; points into the image.
  std::string_view name_of(const FunctionSymbol& symbol) const noexcept;

  // The function that contains the address, by a walk over all symbols.
  std::optional<FunctionSymbol> find_function(std::uint64_t address) const noexcept;

 private:
  struct SymbolTable {
    Bytes entries, strings;
  };

  template <class T>
  bool read_at(std::uint64_t offset, T& out) const noexcept;
  ElfW(Ehdr) header() const noexcept;
  bool segment_at(std::size_t index, ElfW(Phdr) & out) const noexcept;
  bool section_at(std::size_t index, ElfW(Shdr) & out) const noexcept;
  std::size_t section_count() const noexcept;
  Bytes contents(const ElfW(Shdr) & section) const noexcept;
  SymbolTable symbol_table() const noexcept;
  bool read_function(const SymbolTable& table, std::size_t index, FunctionSymbol& out) const noexcept;

  Bytes bytes_;
  bool owned_ = false;
};

}  // namespace weft::os
