// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/format.h"

// Batches as they stand in the file, made in memory (not on the threads' hot path).
namespace weft::trace {

inline void append_number(std::string& out, std::uint64_t value) {
  unsigned char bytes[format::kMaxVarint];
  const unsigned char* end = format::put_varint(bytes, value);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(end - bytes));
}

inline void append_batch(std::string& out, std::uint64_t generation, std::uint64_t thread, std::uint64_t time,
                         std::string_view payload) {
  append_number(out, static_cast<std::uint64_t>(format::Event::kEventBatch));
  append_number(out, generation);
  append_number(out, thread);
  append_number(out, time);
  append_number(out, payload.size());
  out += payload;
}

// A table split into as many batches as its size needs, each beginning with the table's kind.
class BatchWriter {
 public:
  BatchWriter(std::uint64_t generation, std::uint64_t time, format::Event kind, std::string& out)
      : generation_(generation), time_(time), kind_(kind), out_(out) {}

  void add(std::string_view entry) {
    if (payload_.size() + entry.size() > format::kMaxBatch) finish();
    if (payload_.empty()) payload_.push_back(static_cast<char>(kind_));
    payload_ += entry;
  }
  void finish() {
    if (!payload_.empty()) append_batch(out_, generation_, format::kNone, time_, payload_);
    payload_.clear();
  }

 private:
  std::uint64_t generation_, time_;
  format::Event kind_;
  std::string& out_;
  std::string payload_;
};

}  // namespace weft::trace
