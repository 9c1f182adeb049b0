// SPDX-License-Identifier: MIT
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format.h"

// Writes traces for the tests, valid and invalid ones, batch by batch.
namespace weft::tools {

class TraceBuilder {
 public:
  using Event = trace::format::Event;

  explicit TraceBuilder(unsigned version = 23) : bytes_("go 1." + std::to_string(version) + " trace") {
    bytes_.append(3, '\0');
  }

  struct Written {
    Event event;
    std::vector<std::uint64_t> args;  // the difference in time first
  };

  TraceBuilder& events(std::uint64_t generation, std::uint64_t m, std::uint64_t time,
                       std::initializer_list<Written> list) {
    std::string payload;
    for (const Written& it : list) {
      payload += static_cast<char>(it.event);
      for (const std::uint64_t arg : it.args) payload += number(arg);
    }
    return batch(generation, m, time, payload);
  }

  TraceBuilder& strings(std::uint64_t generation, std::initializer_list<std::string_view> list) {
    std::string payload(1, static_cast<char>(Event::kStrings));
    std::uint64_t id = 0;
    for (const std::string_view text : list) {
      payload += static_cast<char>(Event::kString);
      payload += number(++id) + number(text.size());
      payload += text;
    }
    return batch(generation, trace::format::kNone, 1, payload);
  }

  // A stack is a flat list of {pc, function, file, line}.
  TraceBuilder& stacks(std::uint64_t generation, std::initializer_list<std::vector<std::uint64_t>> list) {
    std::string payload(1, static_cast<char>(Event::kStacks));
    std::uint64_t id = 0;
    for (const auto& frames : list) {
      payload += static_cast<char>(Event::kStack);
      payload += number(++id) + number(frames.size() / 4);
      for (const std::uint64_t part : frames) payload += number(part);
    }
    return batch(generation, trace::format::kNone, 1, payload);
  }

  TraceBuilder& frequency(std::uint64_t generation, std::uint64_t value = 1'000'000'000) {
    return batch(generation, trace::format::kNone, 1, static_cast<char>(Event::kFrequency) + number(value));
  }

  TraceBuilder& sync(std::uint64_t generation) {
    std::string payload(1, static_cast<char>(Event::kSync));
    payload += static_cast<char>(Event::kFrequency);
    payload += number(1'000'000'000);
    payload += static_cast<char>(Event::kClockSnapshot);
    payload += number(0) + number(7) + number(1'700'000'000) + number(0);
    return batch(generation, trace::format::kNone, 1, payload);
  }

  TraceBuilder& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  TraceBuilder& batch(std::uint64_t generation, std::uint64_t m, std::uint64_t time, std::string_view payload) {
    bytes_ += static_cast<char>(Event::kEventBatch);
    bytes_ += number(generation) + number(m) + number(time) + number(payload.size());
    bytes_ += payload;
    return *this;
  }

  static std::string number(std::uint64_t value) {
    unsigned char buffer[trace::format::kMaxVarint];
    return std::string(&buffer[0], trace::format::put_varint(buffer, value));
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace weft::tools
