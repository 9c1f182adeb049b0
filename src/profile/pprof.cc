// SPDX-License-Identifier: MIT
#include "profile/pprof.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <unordered_map>

#include "os/symbolizer.h"
#include "profile/gzip.h"
#include "sched/frames/runtime_text.h"

namespace weft::profile {
namespace {

// Fields of profile.proto.
namespace top {
enum : unsigned { kSampleType = 1, kSample, kMapping, kLocation, kFunction, kStrings, kTime = 9, kDuration, kPeriodType,
                  kPeriod };
}

class StringTable {
 public:
  StringTable() { index(""); }
  std::uint64_t index(const std::string& text) {
    const auto [found, is_new] = by_text_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(&found->first);
    return found->second;
  }
  void write(ProtoWriter& out) const {
    for (const std::string* text : texts_) out.text(top::kStrings, *text);
  }

 private:
  std::unordered_map<std::string, std::uint64_t> by_text_;
  std::vector<const std::string*> texts_;
};

struct Mapping {
  std::uint64_t begin, end, offset;
  std::string path;
};

// The executable mappings of the process.
std::vector<Mapping> read_mappings() {
  std::vector<Mapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, offset = 0;
    char rights[5] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &begin, &end, rights, &offset, &path_at) < 4) continue;
    if (rights[2] != 'x') continue;
    found.push_back({begin, end, offset, static_cast<std::size_t>(path_at) < line.size() ? line.substr(path_at) : ""});
  }
  return found;
}

// Numbers and writes what stacks are made of: mappings, functions, locations.
class Code {
 public:
  Code(StringTable& strings, ProtoWriter& out) : strings_(strings), out_(out) {
    std::uint64_t id = 0;
    for (const Mapping& mapping : mappings_) {
      ProtoWriter one;
      one.number(1, ++id);
      one.number(2, mapping.begin);
      one.number(3, mapping.end);
      one.number(4, mapping.offset);
      one.number(5, strings_.index(mapping.path));
      for (const unsigned has : {7u, 8u, 9u}) one.number(has, 1);  // functions, file names, lines
      out_.message(top::kMapping, one);
    }
  }

  // 0: the frame is glue that nobody looks for.
  std::uint64_t location(void* pc) {
    const auto [found, is_new] = locations_.try_emplace(pc, 0);
    if (is_new) found->second = write_location(pc);
    return found->second;
  }

  // Of a frame that is only a name.
  std::uint64_t location(const std::string& name) {
    const auto [found, is_new] = named_.try_emplace(name, 0);
    if (!is_new) return found->second;
    ProtoWriter line;
    line.number(1, function({name, {}, 0, 0, {}}));
    ProtoWriter one;
    one.number(1, found->second = ++last_location_);
    one.message(4, line);
    out_.message(top::kLocation, one);
    return found->second;
  }

 private:
  std::uint64_t write_location(void* pc) {
    const os::Symbol symbol = os::symbolize(pc);
    if (is_glue(symbol.function)) return 0;
    const auto address = reinterpret_cast<std::uint64_t>(pc);
    const std::uint64_t id = ++last_location_;
    ProtoWriter line;
    line.number(1, function(symbol));
    line.number(2, symbol.line);
    ProtoWriter one;
    one.number(1, id);
    for (std::size_t i = 0; i < mappings_.size(); ++i)
      if (address - mappings_[i].begin < mappings_[i].end - mappings_[i].begin) one.number(2, i + 1);
    one.number(3, address);
    one.message(4, line);
    out_.message(top::kLocation, one);
    return id;
  }

  // What calls closures: templates of weft's and the standard library's headers, compiled with the user's code.
  static bool is_glue(const std::string& function) {
    static constexpr std::string_view kGlue[] = {
        "weft::detail::inline_entry", "weft::detail::boxed_entry", "weft::detail::run_and_destroy",
        "weft::detail::run_and_delete", "weft::detail::call_last", "weft::detail::call_for", "weft::detail::owned_call",
        "weft::detail::task_state", "weft::detail::main_closure", "weft::detail::bind", "std::__invoke", "std::invoke"};
    const std::string name = short_name(function);
    return std::ranges::any_of(kGlue, [&](std::string_view glue) { return name.starts_with(glue); });
  }

  std::uint64_t function(const os::Symbol& symbol) {
    std::string name = symbol.function;
    if (name.empty()) name = "[" + symbol.module.substr(symbol.module.find_last_of('/') + 1) + "]";
    const auto [found, is_new] = functions_.try_emplace(name + '\0' + symbol.file, functions_.size() + 1);
    if (is_new) {
      ProtoWriter one;
      one.number(1, found->second);
      one.number(2, strings_.index(short_name(name)));
      one.number(3, strings_.index(name));
      one.number(4, strings_.index(symbol.file));
      out_.message(top::kFunction, one);
    }
    return found->second;
  }

  StringTable& strings_;
  ProtoWriter& out_;
  const std::vector<Mapping> mappings_ = read_mappings();
  std::unordered_map<void*, std::uint64_t> locations_;
  std::unordered_map<std::string, std::uint64_t> named_, functions_;
  std::uint64_t last_location_ = 0;
};

// Without the scheduler's own frames: inside, all but the function that the user has called; outside, those that start a
// goroutine.
std::pair<std::size_t, std::size_t> shown_part(const std::vector<void*>& stack) {
  const auto is_runtime = [&](std::size_t i) { return sched::in_runtime(reinterpret_cast<std::uintptr_t>(stack[i])); };
  std::size_t begin = 0, end = stack.size();
  while (end > 0 && is_runtime(end - 1)) --end;
  if (end == 0) return {0, stack.size()};  // the scheduler itself computes
  while (begin + 1 < end && is_runtime(begin) && is_runtime(begin + 1)) ++begin;
  return {begin, end};
}

ProtoWriter value_type(StringTable& strings, const ValueType& type) {
  ProtoWriter one;
  one.number(1, strings.index(type.type));
  one.number(2, strings.index(type.unit));
  return one;
}

}  // namespace

// Parameters and template arguments go; "{lambda(int)#1}" becomes "{lambda#1}"; what precedes the name goes with them.
std::string short_name(const std::string& function) {
  std::string name;
  int depth = 0;
  const bool is_anonymous_operator = function.find("operator()") != std::string::npos;
  for (std::size_t i = 0; i < function.size(); ++i) {
    const std::string_view rest = std::string_view(function).substr(i);
    if (depth == 0) {
      if (rest.starts_with("operator()")) {
        name += "operator()", i += 9;
        continue;
      }
      if (rest.starts_with("(anonymous namespace)")) {
        name += "(anonymous namespace)", i += 20;
        continue;
      }
      if (rest.starts_with("operator") && rest.size() > 8 && (rest[8] == '<' || rest[8] == '>' || rest[8] == '-')) {
        const std::size_t end = rest.find('(');
        name += rest.substr(0, end), i += (end == std::string_view::npos ? rest.size() : end) - 1;
        continue;
      }
    }
    if (function[i] == '<' || function[i] == '(') {
      ++depth;
    } else if ((function[i] == '>' || function[i] == ')') && depth > 0) {
      --depth;
    } else if (depth == 0) {
      name += function[i];
    }
  }
  if (name.ends_with(" const")) name.resize(name.size() - 6);
  if (is_anonymous_operator && name.ends_with("::operator()")) name.resize(name.size() - 12);
  // The return type of a template's instance; "operator new" and "(anonymous namespace)" keep their spaces.
  for (std::size_t space; (space = name.find(' ')) != std::string::npos && !name.starts_with("operator ");) {
    const std::size_t inside = name.find("(anonymous namespace)");
    const std::size_t conversion = name.find("operator ");
    if (inside != std::string::npos && space == inside + 10) break;
    if (conversion != std::string::npos && space >= conversion) break;
    name.erase(0, space + 1);
  }
  return name.empty() ? function : name;
}

void Profile::add(const SampleKey& key, const std::vector<std::int64_t>& values) {
  const bool is_full = samples_.size() >= kMaxSamples && !samples_.contains(key);
  std::vector<std::int64_t>& sums = samples_[is_full ? SampleKey{} : key];
  sums.resize(types_.size());
  for (std::size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
}

std::string Profile::encode() const {
  StringTable strings;
  ProtoWriter out;
  for (const ValueType& type : types_) out.message(top::kSampleType, value_type(strings, type));
  Code code(strings, out);
  for (const auto& [key, values] : samples_) {
    const auto [begin, end] = shown_part(key.stack);
    std::vector<std::uint64_t> locations;
    for (std::size_t i = begin; i < end; ++i)
      if (const std::uint64_t id = code.location(key.stack[i])) locations.push_back(id);
    if (!key.root.empty()) locations.push_back(code.location(key.root));
    ProtoWriter sample;
    sample.packed(1, locations);
    sample.packed(2, {values.begin(), values.end()});
    for (const auto& [name, value] : key.labels) {
      ProtoWriter label;
      label.number(1, strings.index(name));
      label.number(2, strings.index(value));
      sample.message(3, label);
    }
    out.message(top::kSample, sample);
  }
  if (period_ != 0) {
    out.message(top::kPeriodType, value_type(strings, period_type_));
    out.number(top::kPeriod, static_cast<std::uint64_t>(period_));
  }
  out.number(top::kTime, static_cast<std::uint64_t>(time_ns_));
  out.number(top::kDuration, static_cast<std::uint64_t>(duration_ns_));
  strings.write(out);
  return gzip(out.bytes());
}

}  // namespace weft::profile
