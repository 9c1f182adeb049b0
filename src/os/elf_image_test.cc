// SPDX-License-Identifier: MIT
// test-labels: qemu
#include "os/elf_image.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/compiler.h"

namespace weft::os {
namespace {

// A file with what the reader looks at: one code segment from offset 0 at 0x10000, .text, .symtab, .strtab,
// .shstrtab.
class Builder {
 public:
  void symbol(const std::string& name, std::uint64_t address, std::uint64_t size, unsigned type,
              unsigned binding, unsigned section = 1) {
    ElfW(Sym) entry{};
    entry.st_name = static_cast<ElfW(Word)>(strings_.size());
    entry.st_value = address;
    entry.st_size = size;
    entry.st_info = static_cast<unsigned char>(ELF64_ST_INFO(binding, type));
    entry.st_shndx = static_cast<ElfW(Half)>(section);
    strings_ += name + '\0';
    symbols_.push_back(entry);
  }

  ElfW(Word) table_type = SHT_SYMTAB;
  ElfW(Xword) text_flags = SHF_ALLOC | SHF_EXECINSTR;

  std::vector<unsigned char> build() const {
    std::vector<unsigned char> out(sizeof(ElfW(Ehdr)) + sizeof(ElfW(Phdr)));
    const auto append = [&](const void* data, std::size_t size) {
      const std::size_t at = out.size();
      out.resize(at + size);
      std::memcpy(out.data() + at, data, size);
      return at;
    };
    const std::string names = std::string("\0.text\0.symtab\0.strtab\0.shstrtab\0.packed\0", 41);
    const std::size_t text = append("codecodecodecode", 16);
    const std::size_t symbols = append(symbols_.data(), symbols_.size() * sizeof(ElfW(Sym)));
    const std::size_t strings = append(strings_.data(), strings_.size());
    const std::size_t section_names = append(names.data(), names.size());
    const auto section = [](unsigned name, ElfW(Word) type, ElfW(Xword) flags, std::size_t offset,
                            std::size_t size) {
      ElfW(Shdr) header{};
      header.sh_name = name;
      header.sh_type = type;
      header.sh_flags = flags;
      header.sh_offset = offset;
      header.sh_size = size;
      return header;
    };
    std::vector<ElfW(Shdr)> sections{section(0, SHT_NULL, 0, 0, 0),
                                     section(1, SHT_PROGBITS, text_flags, text, 16),
                                     section(7, table_type, 0, symbols, symbols_.size() * sizeof(ElfW(Sym))),
                                     section(15, SHT_STRTAB, 0, strings, strings_.size()),
                                     section(23, SHT_STRTAB, 0, section_names, names.size()),
                                     section(33, SHT_PROGBITS, SHF_COMPRESSED, text, 16)};
    sections[2].sh_link = 3;
    sections[2].sh_entsize = sizeof(ElfW(Sym));
    ElfW(Ehdr) header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_phoff = sizeof header;
    header.e_phnum = 1;
    header.e_phentsize = sizeof(ElfW(Phdr));
    header.e_shoff = append(sections.data(), sections.size() * sizeof(ElfW(Shdr)));
    header.e_shnum = static_cast<ElfW(Half)>(sections.size());
    header.e_shentsize = sizeof(ElfW(Shdr));
    header.e_shstrndx = 4;
    ElfW(Phdr) segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R | PF_X;
    segment.p_vaddr = 0x10000;
    segment.p_filesz = out.size();
    segment.p_memsz = 0x1000;
    std::memcpy(out.data(), &header, sizeof header);
    std::memcpy(out.data() + sizeof header, &segment, sizeof segment);
    return out;
  }

 private:
  std::vector<ElfW(Sym)> symbols_ = std::vector<ElfW(Sym)>(1);
  std::string strings_ = std::string(1, '\0');
};

std::string name_at(const ElfImage& image, std::uint64_t address) {
  const auto function = image.find_function(address);
  return function ? std::string(image.name_of(*function)) : "";
}

TEST(ElfImage, function_that_contains_the_address_is_found) {
  Builder builder;
  builder.symbol("second", 0x10100, 0x20, STT_FUNC, STB_LOCAL);
  builder.symbol("first", 0x10000, 0x10, STT_FUNC, STB_GLOBAL);
  builder.symbol("data", 0x10010, 0x100, STT_OBJECT, STB_GLOBAL);
  builder.symbol("undefined", 0x10010, 0x100, STT_FUNC, STB_GLOBAL, SHN_UNDEF);
  const auto bytes = builder.build();
  const ElfImage image = ElfImage::view(bytes);
  ASSERT_TRUE(image.valid());
  EXPECT_EQ(name_at(image, 0x10000), "first");
  EXPECT_EQ(name_at(image, 0x1000f), "first");
  EXPECT_EQ(name_at(image, 0x10010), "") << "between two functions";
  EXPECT_EQ(name_at(image, 0x10100), "second");
  EXPECT_EQ(name_at(image, 0x10120), "");
  EXPECT_EQ(name_at(image, 0xffff), "");
}

TEST(ElfImage, best_of_several_names_wins) {
  Builder builder;
  builder.symbol("local", 0x10000, 0x10, STT_FUNC, STB_LOCAL);
  builder.symbol("global", 0x10000, 0x10, STT_FUNC, STB_GLOBAL);
  builder.symbol("weak", 0x10000, 0x10, STT_FUNC, STB_WEAK);
  builder.symbol("label", 0x10000, 0, STT_NOTYPE, STB_GLOBAL);
  builder.symbol("versioned@@V_1", 0x10040, 0x10, STT_GNU_IFUNC, STB_GLOBAL);
  const auto bytes = builder.build();
  const ElfImage image = ElfImage::view(bytes);
  EXPECT_EQ(name_at(image, 0x10004), "global");
  EXPECT_EQ(name_at(image, 0x10044), "versioned");
}

TEST(ElfImage, labels_without_size_reach_to_the_next_symbol_but_hide_no_function) {
  Builder builder;
  builder.symbol("function", 0x10000, 0x20, STT_FUNC, STB_GLOBAL);
  builder.symbol("inner_label", 0x10010, 0, STT_NOTYPE, STB_LOCAL);
  builder.symbol("$x", 0x10014, 0, STT_NOTYPE, STB_LOCAL);
  builder.symbol(".Llocal", 0x10018, 0, STT_NOTYPE, STB_LOCAL);
  builder.symbol("assembly", 0x10040, 0, STT_NOTYPE, STB_GLOBAL);
  builder.symbol("next", 0x10060, 0x10, STT_FUNC, STB_GLOBAL);
  const auto bytes = builder.build();
  const ElfImage image = ElfImage::view(bytes);
  EXPECT_EQ(name_at(image, 0x1001c), "function");
  EXPECT_EQ(name_at(image, 0x10030), "") << "behind a sized function";
  EXPECT_EQ(name_at(image, 0x1005f), "assembly");
  EXPECT_EQ(name_at(image, 0x10060), "next");
  EXPECT_EQ(name_at(image, 0x20000), "") << "not in the code";
}

TEST(ElfImage, labels_in_data_sections_are_not_code) {
  Builder builder;
  builder.text_flags = SHF_ALLOC;
  builder.symbol("label", 0x10000, 0, STT_NOTYPE, STB_GLOBAL);
  const auto bytes = builder.build();
  EXPECT_EQ(name_at(ElfImage::view(bytes), 0x10000), "");
}

TEST(ElfImage, dynamic_symbols_serve_when_there_are_no_others) {
  Builder builder;
  builder.table_type = SHT_DYNSYM;
  builder.symbol("exported", 0x10000, 0x10, STT_FUNC, STB_GLOBAL);
  const auto bytes = builder.build();
  EXPECT_EQ(name_at(ElfImage::view(bytes), 0x10000), "exported");
}

TEST(ElfImage, sections_are_found_by_name_and_compressed_ones_are_empty) {
  Builder builder;
  builder.symbol("f", 0x10000, 0x10, STT_FUNC, STB_GLOBAL);
  const auto bytes = builder.build();
  const ElfImage image = ElfImage::view(bytes);
  const Bytes text = image.section(".text");
  EXPECT_EQ(std::string(text.begin(), text.end()), "codecodecodecode");
  EXPECT_TRUE(image.section(".packed").empty());
  EXPECT_TRUE(image.section(".tex").empty());
  EXPECT_TRUE(image.section("").empty());
}

TEST(ElfImage, file_offsets_and_program_headers_are_mapped) {
  const auto bytes = Builder().build();
  const ElfImage image = ElfImage::view(bytes);
  EXPECT_EQ(image.code_address(0x20), 0x10020u);
  EXPECT_EQ(image.code_address(1 << 20), std::nullopt);
  EXPECT_TRUE(image.is_code(0x10000));
  EXPECT_FALSE(image.is_code(0x11000));
  ElfW(Phdr) header;
  std::memcpy(&header, bytes.data() + sizeof(ElfW(Ehdr)), sizeof header);
  EXPECT_TRUE(image.has_program_headers(&header, 1));
  EXPECT_FALSE(image.has_program_headers(&header, 0));
  header.p_memsz += 1;
  EXPECT_FALSE(image.has_program_headers(&header, 1));
}

void ask_everything(const ElfImage& image) {
  for (const char* name : {".text", ".symtab", ".packed", ".nothing"}) image.section(name);
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{0x10000}, std::uint64_t{0x10105}, ~std::uint64_t{0}}) {
    image.find_function(address);
    image.is_code(address);
    image.code_address(address);
  }
  std::size_t characters = 0;
  image.for_each_function([&](const FunctionSymbol& symbol) {
    for (const char c : image.name_of(symbol))
      characters += static_cast<unsigned char>(c);  // touches every byte
  });
  EXPECT_LE(characters, std::size_t{1} << 32);
}

TEST(ElfImage, truncated_and_damaged_files_are_survived) {
  Builder builder;
  builder.symbol("first", 0x10000, 0x10, STT_FUNC, STB_GLOBAL);
  builder.symbol("label", 0x10100, 0, STT_NOTYPE, STB_GLOBAL);
  const auto bytes = builder.build();
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::vector<unsigned char> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    ask_everything(ElfImage::view(cut));
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      auto changed = bytes;
      changed[at] = static_cast<unsigned char>(value);
      ask_everything(ElfImage::view(changed));
    }
  }
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    auto changed = bytes;
    for (unsigned i = 0; i < 1 + random() % 8; ++i)
      changed[random() % changed.size()] = static_cast<unsigned char>(random());
    ask_everything(ElfImage::view(changed));
  }
}

TEST(ElfImage, things_that_are_no_elf_files_are_not_valid) {
  const test::ScratchDirectory scratch;
  EXPECT_FALSE(ElfImage().valid());
  EXPECT_FALSE(ElfImage::open(scratch.file("missing").c_str()).valid());
  EXPECT_FALSE(ElfImage::open(scratch.path().c_str()).valid()) << "a directory";
  EXPECT_FALSE(ElfImage::open(scratch.write("empty", "").c_str()).valid());
  EXPECT_FALSE(ElfImage::open(scratch.write("text", std::string(5000, 'x')).c_str()).valid());
  EXPECT_FALSE(ElfImage::open(scratch.write("magic", "\177ELF").c_str()).valid());
  ASSERT_EQ(mkfifo(scratch.file("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(ElfImage::open(scratch.file("fifo").c_str()).valid()) << "must not wait for a writer either";
  ask_everything(ElfImage());
}

TEST(ElfImage, own_program_is_read_and_can_be_moved) {
  ElfImage first = ElfImage::open("/proc/self/exe");
  ASSERT_TRUE(first.valid());
  ElfImage second = std::move(first);
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): that is the question
  ASSERT_TRUE(second.valid());
  EXPECT_FALSE(second.section(".text").empty());
  second = ElfImage();
  EXPECT_FALSE(second.valid());
}

}  // namespace
}  // namespace weft::os
