// SPDX-License-Identifier: MIT
// write_frames() of os/symbolizer.h: the same answers as symbolize(), found without heap, locks and the
// dynamic loader, any of which may be what has just crashed. Modules come from /proc/self/maps, symbols from
// a walk over the mapped file.
#include <cxxabi.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/atomic.h"
#include "os/dwarf_inline.h"
#include "os/dwarf_line.h"
#include "os/elf_image.h"
#include "os/symbolizer.h"

namespace weft::os {
namespace {

constexpr std::size_t kFramesAtOnce = 32;
constexpr std::size_t kMaxModules = 16;
constexpr std::size_t kMaxPath = 1024;
constexpr std::size_t kMaxMangled = 2048;
constexpr std::size_t kMaxWrittenName = 512;

// Buffered write(2).
class Output {
 public:
  explicit Output(int fd) noexcept : fd_(fd) {}
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  Output& text(std::string_view s) noexcept {
    for (const char c : s) {
      if (used_ == sizeof buffer_) flush();
      buffer_[used_++] = c;
    }
    return *this;
  }
  Output& number(std::uint64_t value, unsigned base) noexcept {
    char digits[24];
    std::size_t at = sizeof digits;
    do {
      digits[--at] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value != 0);
    return text({digits + at, sizeof digits - at});
  }
  Output& hex(std::uint64_t value) noexcept { return text("0x").number(value, 16); }

  void flush() noexcept {
    std::size_t done = 0;
    while (done < used_) {
      const ssize_t written = write(fd_, buffer_ + done, used_ - done);
      if (written > 0) {
        done += static_cast<std::size_t>(written);
      } else if (errno == EAGAIN) {
        pollfd ready{fd_, POLLOUT, 0};
        if (poll(&ready, 1, 1000) <= 0) break;  // a reader that is stuck must not stop a process from dying
      } else if (errno != EINTR) {
        break;
      }
    }
    used_ = 0;
  }

 private:
  int fd_;
  std::size_t used_ = 0;
  char buffer_[512];
};

struct Frame {
  std::uintptr_t pc;
  int module;                 // -1: in no mapping
  std::uintptr_t base;        // where the first byte of the file is mapped
  std::uint64_t file_offset;  // of the code
  std::uint64_t address;      // as in the file, if the file could be read
  std::string_view name;      // mangled; empty: not known
  std::uint64_t offset;       // from the start of the function
  LineEntry line;
  bool has_line;
};

struct ModulePath {
  char text[kMaxPath];
  std::size_t length;
  std::string_view view() const noexcept { return {text, length}; }
};

// Static, because a signal stack is small; one user at a time.
struct Scratch {
  Frame frames[kFramesAtOnce];
  std::size_t frame_count;
  ModulePath modules[kMaxModules];
  std::size_t module_count;
  ModulePath last;  // path of the mapping before
  char program[kMaxPath];
  char maps[8192];  // longer than any line: 73 characters and a path of at most 4096
  char mangled[kMaxMangled];
};
static_assert(std::is_trivially_destructible_v<Scratch>,
              "nothing here may be gone when a process crashes while it exits");

Scratch scratch;
base::Atom<bool> scratch_busy;

struct Mapping {
  std::uintptr_t start = 0, end = 0;
  std::uint64_t offset = 0;
  std::string_view path;
};

std::uint64_t parse_hex(std::string_view& text) noexcept {
  std::uint64_t value = 0;
  while (!text.empty()) {
    const char c = text.front();
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                                                  : 16;
    if (digit == 16) break;
    value = value << 4 | digit;
    text.remove_prefix(1);
  }
  return value;
}

void skip_field(std::string_view& text) noexcept {
  text.remove_prefix(std::min(text.find(' '), text.size()));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

// start-end permissions offset device inode path
bool parse_mapping(std::string_view line, Mapping& out) noexcept {
  out.start = parse_hex(line);
  if (!line.starts_with('-')) return false;
  line.remove_prefix(1);
  out.end = parse_hex(line);
  skip_field(line);
  skip_field(line);
  out.offset = parse_hex(line);
  skip_field(line);
  skip_field(line);
  skip_field(line);
  constexpr std::string_view kDeleted = " (deleted)";
  if (line.ends_with(kDeleted)) line.remove_suffix(kDeleted.size());
  out.path = line;
  return true;
}

void set_path(ModulePath& out, std::string_view path) noexcept {
  out.length = path.size() < kMaxPath ? path.size() : 0;  // half a path would name another file
  std::memcpy(out.text, path.data(), out.length);
  out.text[out.length] = '\0';
}

int find_or_add_module(std::string_view path) noexcept {
  for (std::size_t i = 0; i < scratch.module_count; ++i) {
    if (scratch.modules[i].view() == path) return static_cast<int>(i);
  }
  if (scratch.module_count == kMaxModules || path.empty()) return -1;
  set_path(scratch.modules[scratch.module_count], path);
  return static_cast<int>(scratch.module_count++);
}

void assign_mapping(const Mapping& mapping, std::uintptr_t base) noexcept {
  for (std::size_t i = 0; i < scratch.frame_count; ++i) {
    Frame& frame = scratch.frames[i];
    if (frame.pc < mapping.start || frame.pc >= mapping.end) continue;
    frame.module = find_or_add_module(mapping.path);
    frame.base = base;
    frame.file_offset = frame.pc - mapping.start + mapping.offset;
  }
}

// Finds the module of each frame.
void read_maps() noexcept {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::size_t held = 0;
  std::uintptr_t base = 0;
  scratch.last.length = 0;
  for (;;) {
    const ssize_t got = read(fd, scratch.maps + held, sizeof scratch.maps - held);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    held += static_cast<std::size_t>(got);
    std::string_view rest(scratch.maps, held);
    for (std::size_t newline; (newline = rest.find('\n')) != std::string_view::npos;
         rest.remove_prefix(newline + 1)) {
      Mapping mapping;
      if (!parse_mapping(rest.substr(0, newline), mapping)) continue;
      if (mapping.offset == 0 || mapping.path != scratch.last.view()) base = mapping.start - mapping.offset;
      set_path(scratch.last, mapping.path);
      assign_mapping(mapping, base);
    }
    held = rest.size();
    if (held == sizeof scratch.maps) held = 0;
    std::memmove(scratch.maps, rest.data(), held);
  }
  close(fd);
}

// A program that is not position-independent has its addresses from the file, not from where it is mapped.
// Read by a system call: the page might be unreadable.
bool is_fixed_program(std::uintptr_t base) noexcept {
  ElfW(Half) type = 0;
  iovec local{&type, sizeof type};
  iovec remote{reinterpret_cast<void*>(base + offsetof(ElfW(Ehdr), e_type)), sizeof type};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof type) &&
         type == ET_EXEC;
}

std::uintptr_t module_offset(const Frame& frame) noexcept {
  return is_fixed_program(frame.base) ? frame.pc : frame.pc - frame.base;
}

void load_frames(void* const* pcs, std::size_t n) noexcept {
  scratch.frame_count = n;
  scratch.module_count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    scratch.frames[i] = Frame{reinterpret_cast<std::uintptr_t>(pcs[i]), -1, 0, 0, 0, {}, 0, {}, false};
  }
  read_maps();
}

void write_raw(Output& out, std::size_t first, void* const* pcs, std::size_t n, bool with_modules) noexcept {
  if (with_modules) load_frames(pcs, n);
  for (std::size_t i = 0; i < n; ++i) {
    out.text("  #").number(first + i, 10).text(" ").hex(reinterpret_cast<std::uintptr_t>(pcs[i]));
    if (with_modules && scratch.frames[i].module >= 0) {
      const Frame& frame = scratch.frames[i];
      out.text(" ").text(scratch.modules[frame.module].view()).text("+").hex(module_offset(frame));
    }
    out.text("\n");
  }
  out.flush();
}

ElfImage open_module(const ModulePath& path) noexcept {
  // The link still leads to the program's file when that has been deleted or replaced.
  const ssize_t size = readlink("/proc/self/exe", scratch.program, sizeof scratch.program);
  if (size > 0) {
    std::string_view program(scratch.program, static_cast<std::size_t>(size));
    constexpr std::string_view kDeleted = " (deleted)";
    if (program.ends_with(kDeleted)) program.remove_suffix(kDeleted.size());
    if (program == path.view()) return ElfImage::open("/proc/self/exe");
  }
  return path.length != 0 && path.text[0] == '/' ? ElfImage::open(path.text) : ElfImage();
}

LineSections line_sections(const ElfImage& image) noexcept {
  return {image.section(".debug_line"), image.section(".debug_line_str"), image.section(".debug_str")};
}

// Names and lines of the frames in one module; one pass over its line programs for all of them.
void resolve(int module, const ElfImage& image) noexcept {
  for (std::size_t i = 0; i < scratch.frame_count; ++i) {
    Frame& frame = scratch.frames[i];
    if (frame.module != module) continue;
    const auto address = image.code_address(frame.file_offset);
    frame.address = address.value_or(0);
    if (!address) continue;
    const auto function = image.find_function(*address);
    if (!function) continue;
    frame.name = image.name_of(*function);
    frame.offset = *address - function->address;
  }
  const LineSections sections = line_sections(image);
  const InlineSections inlined = inline_sections(image);
  LineScanner scanner(sections);
  for (LineSequence sequence; scanner.next(sequence);) {
    if (sequence.low == 0) continue;  // what is left of a function that the linker dropped
    for (std::size_t i = 0; i < scratch.frame_count; ++i) {
      Frame& frame = scratch.frames[i];
      if (frame.module != module || frame.has_line || frame.address < sequence.low ||
          frame.address >= sequence.high)
        continue;
      const auto line = find_line(sections, sequence, frame.address);
      if (line) frame.line = leave_own_headers(inlined, sections, frame.address, *line);
      frame.has_line = line.has_value();
    }
  }
}

bool is_in_allocator() noexcept {
  for (std::size_t i = 0; i < scratch.frame_count; ++i) {
    const std::string_view name = scratch.frames[i].name;
    for (const std::string_view allocator :
         {"malloc", "free", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "malloc_trim",
          "malloc_usable_size"}) {
      if (name == allocator) return true;
    }
    for (const std::string_view new_or_delete : {"_Znw", "_Zna", "_Zdl", "_Zda"}) {
      if (name.starts_with(new_or_delete)) return true;
    }
  }
  return false;
}

// Whether the demangler fits on this stack; it takes about 100 bytes per character of the name.
bool has_stack_for(std::size_t name_length) noexcept {
  constexpr std::size_t kLengthForUnknownStack = 320;
  stack_t stack;
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_ONSTACK) == 0)
    return name_length <= kLengthForUnknownStack;
  const auto room = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) -
                    reinterpret_cast<std::uintptr_t>(stack.ss_sp);
  return room > 8192 + name_length * 128;
}

void write_name(Output& out, std::string_view name, bool may_demangle) noexcept {
  char* demangled = nullptr;
  if (may_demangle && name.starts_with("_Z") && name.size() < kMaxMangled && has_stack_for(name.size())) {
    std::memcpy(scratch.mangled, name.data(), name.size());
    scratch.mangled[name.size()] = '\0';
    int status = 0;
    demangled = abi::__cxa_demangle(scratch.mangled, nullptr, nullptr, &status);
    if (demangled != nullptr) name = demangled;
  }
  out.text(name.substr(0, kMaxWrittenName)).text(name.size() > kMaxWrittenName ? "..." : "");
  std::free(demangled);
}

void write_path(Output& out, const SourcePath& path) noexcept {
  std::size_t first = 0;  // an absolute part needs nothing before it
  for (std::size_t i = 0; i < std::size(path.parts); ++i) {
    if (path.parts[i].starts_with('/')) first = i;
  }
  char last = '/';
  for (std::size_t i = first; i < std::size(path.parts); ++i) {
    if (path.parts[i].empty()) continue;
    out.text(last == '/' ? "" : "/").text(path.parts[i]);
    last = path.parts[i].back();
  }
}

void write_symbols(Output& out, void* const* pcs, std::size_t n) noexcept {
  load_frames(pcs, n);
  ElfImage images[kMaxModules];
  for (std::size_t i = 0; i < scratch.module_count; ++i) {
    images[i] = open_module(scratch.modules[i]);
    if (images[i].valid()) resolve(static_cast<int>(i), images[i]);
  }
  const bool may_demangle = !is_in_allocator();
  for (std::size_t i = 0; i < n; ++i) {
    const Frame& frame = scratch.frames[i];
    const bool is_named = !frame.name.empty();
    out.text("  ");
    write_name(out, is_named ? frame.name : std::string_view("??"), may_demangle);
    out.text("\n      ");
    SourcePath path;
    if (frame.has_line)
      path = source_path(line_sections(images[frame.module]), frame.line.unit, frame.line.file);
    if (!path.empty()) {
      write_path(out, path);
      out.text(":").number(frame.line.line, 10).text(" ");
    } else if (frame.module >= 0) {
      out.text(scratch.modules[frame.module].view()).text(" ");
    }
    if (frame.module >= 0) out.text("+").hex(is_named ? frame.offset : module_offset(frame)).text(" ");
    out.text("pc=").hex(frame.pc).text("\n");
    out.flush();
  }
}

}  // namespace

void write_frames(int fd, void* const* pcs, std::size_t n) noexcept {
  const int saved_errno = errno;
  const bool alone = !scratch_busy.exchange_acquire(true);  // pairs: frame_writer.scratch
  Output out(fd);
  for (std::size_t i = 0; i < n; i += kFramesAtOnce)
    write_raw(out, i, pcs + i, std::min(kFramesAtOnce, n - i), alone);
  if (alone) {
    for (std::size_t i = 0; i < n; i += kFramesAtOnce)
      write_symbols(out, pcs + i, std::min(kFramesAtOnce, n - i));
    scratch_busy.store_release(false);  // pairs: frame_writer.scratch
  }
  out.flush();
  errno = saved_errno;
}

}  // namespace weft::os
