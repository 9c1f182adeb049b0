// SPDX-License-Identifier: MIT
#include "profile/pprof.h"

#include <cstdio>
#include <fstream>
#include <unordered_map>

#include "os/symbolizer.h"
#include "profile/gzip.h"
#include "profile/shown_frames.h"

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
    if (is_glue(symbol)) return 0;
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

  std::uint64_t function(const os::Symbol& symbol) {
    const std::string name = name_of(symbol);
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

ProtoWriter value_type(StringTable& strings, const ValueType& type) {
  ProtoWriter one;
  one.number(1, strings.index(type.type));
  one.number(2, strings.index(type.unit));
  return one;
}

}  // namespace

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
