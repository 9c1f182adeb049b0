// SPDX-License-Identifier: MIT
#include "os/symbolizer.h"

#include <cxxabi.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "os/dwarf_inline.h"
#include "os/dwarf_line.h"
#include "os/elf_image.h"

namespace weft::os {
namespace {

constexpr std::size_t kMaxCachedSymbols = 4096;
constexpr std::size_t kMaxShownName = 512;  // template names can have many kilobytes

std::string demangle(std::string_view mangled) {
  std::string name(mangled);
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (status == 0 && text) name = text.get();
  return name;
}

// Names of the functions of one module, in the order of their addresses.
class FunctionIndex {
 public:
  FunctionIndex() = default;
  explicit FunctionIndex(const ElfImage& image) {
    std::size_t count = 0;
    image.for_each_function([&](const FunctionSymbol&) { ++count; });
    functions_.reserve(count);
    image.for_each_function([&](const FunctionSymbol& symbol) { functions_.push_back(symbol); });
    std::sort(functions_.begin(), functions_.end(), [](const FunctionSymbol& a, const FunctionSymbol& b) {
      return a.address != b.address ? a.address < b.address : a.rank < b.rank;
    });
    // One name per address: the best, which comes last.
    const auto same_address = [](const FunctionSymbol& a, const FunctionSymbol& b) {
      return a.address == b.address;
    };
    const auto kept = std::unique(functions_.rbegin(), functions_.rend(), same_address);
    functions_.erase(functions_.begin(), kept.base());
  }

  const FunctionSymbol* find(std::uint64_t address) const noexcept {
    const auto after = std::upper_bound(
        functions_.begin(), functions_.end(), address,
        [](std::uint64_t value, const FunctionSymbol& symbol) { return value < symbol.address; });
    if (after == functions_.begin()) return nullptr;
    const auto nearest = std::prev(after);
    if (const FunctionSymbol* const inside = find_sized(nearest, address)) return inside;
    // A label without size reaches to the next symbol; one inside a function not beyond the function.
    return nearest->size == 0 && find_sized(nearest, nearest->address) == nullptr ? &*nearest : nullptr;
  }

 private:
  using Iterator = std::vector<FunctionSymbol>::const_iterator;

  // The function with a size that contains the address, at or a little before `from`: labels inside a
  // function must not hide it.
  const FunctionSymbol* find_sized(Iterator from, std::uint64_t address) const noexcept {
    constexpr int kLookBack = 32;
    for (int i = 0; i < kLookBack; ++i, --from) {
      if (from->size != 0 && address - from->address < from->size) return &*from;
      if (from == functions_.begin()) break;
    }
    return nullptr;
  }

  std::vector<FunctionSymbol> functions_;
};

// A module as the dynamic loader knows it.
struct LoadedModule {
  const void* id = nullptr;  // where its program headers lie
  std::uintptr_t bias = 0;
  std::string name;  // empty: the program
  std::vector<ElfW(Phdr)> headers;
};

std::string path_of_program() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string(program_invocation_name);
}

class Module {
 public:
  explicit Module(const LoadedModule& loaded) : id_(loaded.id), bias_(loaded.bias), path_(loaded.name) {
    const auto* const vdso = reinterpret_cast<const unsigned char*>(getauxval(AT_SYSINFO_EHDR));
    if (vdso != nullptr && is_at(loaded, vdso)) {
      image_ = view_vdso(vdso);
    } else if (loaded.name.empty()) {
      open_program(loaded);
    } else {
      open(loaded.name.c_str(), loaded);
    }
    if (image_.valid()) functions_ = FunctionIndex(image_);
  }

  const void* id() const noexcept { return id_; }

  Symbol symbolize(std::uintptr_t pc, bool with_line) {
    Symbol symbol;
    const std::uint64_t address = pc - bias_;
    symbol.module = path_;
    symbol.offset = address;
    if (!image_.is_code(address)) return symbol;
    if (const FunctionSymbol* const function = functions_.find(address)) {
      symbol.function = demangle(image_.name_of(*function));
      symbol.offset = address - function->address;
    }
    if (!with_line) return symbol;
    if (!lines_) {
      const LineSections sections{image_.section(".debug_line"), image_.section(".debug_line_str"),
                                  image_.section(".debug_str")};
      lines_.emplace(sections, [this](std::uint64_t low) { return image_.is_code(low); });
    }
    if (const auto found = lines_->find(address)) {
      const LineEntry entry =
          leave_own_headers(inline_sections(image_), lines_->sections(), address, *found);
      symbol.file = lines_->path(entry).to_string();
      symbol.line = entry.line;
    }
    return symbol;
  }

 private:
  static bool is_at(const LoadedModule& loaded, const unsigned char* address) {
    for (const ElfW(Phdr) & header : loaded.headers) {
      if (header.p_type == PT_LOAD &&
          loaded.bias + header.p_vaddr == reinterpret_cast<std::uintptr_t>(address))
        return true;
    }
    return false;
  }

  // The kernel maps the whole file, whose section headers come last.
  static ElfImage view_vdso(const unsigned char* start) {
    ElfW(Ehdr) header;
    std::memcpy(&header, start, sizeof header);
    return ElfImage::view({start, header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize});
  }

  void open_program(const LoadedModule& loaded) {
    path_ = path_of_program();
    if (open("/proc/self/exe", loaded)) return;
    // Run as "ld.so program", the link in /proc names the loader; without /proc there is no link.
    for (const char* const candidate : {reinterpret_cast<const char*>(getauxval(AT_EXECFN)),
                                        const_cast<const char*>(program_invocation_name)}) {
      if (candidate == nullptr || !open(candidate, loaded)) continue;
      path_ = candidate;
      return;
    }
  }

  // Only a file that is what was loaded: one that has been replaced since would give wrong names.
  bool open(const char* path, const LoadedModule& loaded) {
    ElfImage image = ElfImage::open(path);
    if (!image.valid() || !image.has_program_headers(loaded.headers.data(), loaded.headers.size()))
      return false;
    image_ = std::move(image);
    return true;
  }

  const void* id_;
  std::uintptr_t bias_;
  std::string path_;
  ElfImage image_;
  FunctionIndex functions_;
  std::optional<LineIndex> lines_;
};

// What one walk over the loaded modules is to find out.
struct Walk {
  std::uintptr_t pc = 0;
  const std::vector<std::unique_ptr<Module>>* known = nullptr;
  unsigned long long unloads = 0;  // how many modules have been unloaded in the life of the process
  Module* cached = nullptr;
  std::optional<LoadedModule> loaded;  // only if it is not among the known ones
};

bool contains(const dl_phdr_info& module, std::uintptr_t pc) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module.dlpi_phdr[i];
    if (header.p_type == PT_LOAD && pc - (module.dlpi_addr + header.p_vaddr) < header.p_memsz) return true;
  }
  return false;
}

int find_module(dl_phdr_info* module, std::size_t, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  walk.unloads = module->dlpi_subs;
  if (!contains(*module, walk.pc)) return 0;
  for (const auto& known : *walk.known) {
    if (known->id() == module->dlpi_phdr) walk.cached = known.get();
  }
  if (walk.cached == nullptr) {
    walk.loaded = LoadedModule{module->dlpi_phdr,
                               module->dlpi_addr,
                               module->dlpi_name != nullptr ? module->dlpi_name : "",
                               {module->dlpi_phdr, module->dlpi_phdr + module->dlpi_phnum}};
  }
  return 1;
}

int count_unloads(dl_phdr_info* module, std::size_t, void* data) {
  *static_cast<unsigned long long*>(data) = module->dlpi_subs;
  return 1;
}

class Symbolizer {
 public:
  Symbol symbolize(std::uintptr_t pc, bool with_line) {
    const std::lock_guard lock(mutex_);
    forget_what_was_unloaded();
    auto& symbols = with_line ? with_line_ : without_line_;
    if (const auto found = symbols.find(pc); found != symbols.end()) return found->second;
    Symbol symbol = look_up(pc, with_line);
    if (symbols.size() >= kMaxCachedSymbols) symbols.clear();
    symbols.emplace(pc, symbol);
    return symbol;
  }

 private:
  // Another library may since lie where an unloaded one was.
  void forget_what_was_unloaded() {
    unsigned long long unloads = 0;
    dl_iterate_phdr(count_unloads, &unloads);
    if (unloads == unloads_) return;
    unloads_ = unloads;
    with_line_.clear();
    without_line_.clear();
    modules_.clear();
  }

  Symbol look_up(std::uintptr_t pc, bool with_line) {
    Walk walk;
    walk.pc = pc;
    walk.known = &modules_;
    dl_iterate_phdr(find_module, &walk);
    if (walk.loaded) walk.cached = modules_.emplace_back(std::make_unique<Module>(*walk.loaded)).get();
    if (walk.cached == nullptr) {
      Symbol symbol;
      symbol.offset = pc;
      return symbol;
    }
    return walk.cached->symbolize(pc, with_line);
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::unordered_map<std::uintptr_t, Symbol> with_line_, without_line_;  // what was asked before
  unsigned long long unloads_ = 0;
};

// Never destroyed: threads may still print stacks while the process exits.
Symbolizer& symbolizer() {
  // lazy: it allocates, locks and reads files, so no handler or check comes here; crash reports use os/frame_writer.cc
  static Symbolizer* const instance = new Symbolizer;
  return *instance;
}

std::string hex(std::uintptr_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(value));
  return text;
}

}  // namespace

Symbol symbolize(const void* pc, bool with_line) {
  return symbolizer().symbolize(reinterpret_cast<std::uintptr_t>(pc), with_line);
}

std::string format_frames(void* const* pcs, std::size_t n, const char* indent) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) {
    const Symbol symbol = symbolize(pcs[i]);
    const std::string_view name =
        symbol.function.empty() ? std::string_view("??") : std::string_view(symbol.function);
    out.append(indent)
        .append(name.substr(0, kMaxShownName))
        .append(name.size() > kMaxShownName ? "...\n" : "\n");
    out.append(indent).append("    ");
    if (!symbol.file.empty()) {
      out.append(symbol.file).append(":").append(std::to_string(symbol.line)).append(" ");
    } else if (!symbol.module.empty()) {
      out.append(symbol.module).append(" ");
    }
    if (!symbol.module.empty()) out.append("+").append(hex(symbol.offset)).append(" ");
    out.append("pc=").append(hex(reinterpret_cast<std::uintptr_t>(pcs[i]))).append("\n");
  }
  return out;
}

}  // namespace weft::os
