// SPDX-License-Identifier: MIT
#include "trace/tables.h"

#include <algorithm>
#include <map>

#include "os/symbolizer.h"
#include "trace/batch.h"
#include "trace/format.h"

namespace weft::trace {
namespace {

// A cut in the middle of a UTF-8 character would make the whole text unreadable to strict readers.
std::string_view cut(std::string_view text) noexcept {
  if (text.size() <= format::kMaxString) return text;
  std::size_t end = format::kMaxString;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

class Unranked {
 public:
  explicit Unranked(os::SpinLock& lock) noexcept : lock_(lock) { lock_.lock_unranked(); }
  ~Unranked() { lock_.unlock_unranked(); }
  Unranked(const Unranked&) = delete;

 private:
  os::SpinLock& lock_;
};

std::string module_of(const os::Symbol& symbol, const void* pc) {
  if (symbol.module.empty()) {
    char text[32];
    std::snprintf(text, sizeof text, "%p", pc);
    return text;
  }
  return symbol.module.substr(symbol.module.rfind('/') + 1);
}

}  // namespace

void Tables::fix_strings(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    strings_.push_back(text);
    string_numbers_.emplace(text, static_cast<std::uint32_t>(strings_.size()));
  }
  fixed_ = strings_.size();
}

std::uint32_t Tables::string_locked(std::string_view text) {
  text = cut(text);
  if (text.empty()) return 0;
  const auto [place, fresh] = string_numbers_.try_emplace(std::string(text), 0);
  if (fresh) {
    strings_.emplace_back(text);
    place->second = static_cast<std::uint32_t>(strings_.size());
    string_bytes_ += 2 * text.size() + 100;
    if (string_bytes_ > kMaxStringBytes / 2) is_half_full_.store_relaxed(true);
  }
  return place->second;
}

std::uint32_t Tables::string(std::string_view text) noexcept {
  const Unranked guard(lock_);
  if (string_bytes_ > kMaxStringBytes) return 0;
  try {
    return string_locked(text);
  } catch (...) {  // no memory: the event goes without
    return 0;
  }
}

std::uint32_t Tables::stack(std::uint64_t hash, std::span<void* const> pcs) noexcept {
  const Unranked guard(lock_);
  const std::uint32_t number = stacks_.number_of(hash, pcs);
  if (WEFT_UNLIKELY(stacks_.is_half_full())) is_half_full_.store_relaxed(true);
  return number;
}

void Tables::clear() {
  for (std::size_t i = fixed_; i < strings_.size(); ++i) string_numbers_.erase(strings_[i]);
  strings_.resize(fixed_);
  string_bytes_ = 0;
  stacks_.clear();
  is_half_full_.store_relaxed(false);
}

void Tables::write_and_clear(std::uint64_t generation, std::uint64_t time, std::string& out) {
  struct Frame {
    std::uint32_t function, file;
    unsigned line;
  };
  std::unordered_map<void*, Frame> frames;
  BatchWriter stacks(generation, time, format::Event::kStacks, out);
  for (std::size_t number = 1; number <= stacks_.size(); ++number) {
    const std::span<void* const> pcs = stacks_.stack(number);
    std::string entry;
    append_number(entry, static_cast<std::uint64_t>(format::Event::kStack));
    append_number(entry, number);
    append_number(entry, pcs.size());
    for (void* pc : pcs) {
      auto [frame, fresh] = frames.try_emplace(pc);
      if (fresh) {
        const os::Symbol symbol = os::symbolize(pc);
        frame->second.function =
            string_locked(symbol.function.empty() ? module_of(symbol, pc) : std::string_view(symbol.function));
        frame->second.file =
            string_locked(symbol.file.empty() ? std::string_view(symbol.module) : std::string_view(symbol.file));
        frame->second.line = symbol.line;
      }
      append_number(entry, reinterpret_cast<std::uintptr_t>(pc));
      append_number(entry, frame->second.function);
      append_number(entry, frame->second.file);
      append_number(entry, frame->second.line);
    }
    stacks.add(entry);
  }
  stacks.finish();

  BatchWriter strings(generation, time, format::Event::kStrings, out);
  for (std::size_t i = 0; i < strings_.size(); ++i) {
    std::string entry;
    append_number(entry, static_cast<std::uint64_t>(format::Event::kString));
    append_number(entry, i + 1);
    append_number(entry, strings_[i].size());
    entry += strings_[i];
    strings.add(entry);
  }
  strings.finish();
  clear();
}

}  // namespace weft::trace
