// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/proto_writer.h"

// A profile in pprof's format (profile.proto): samples with a stack, values and labels. Equal samples are added up.
namespace weft::profile {

struct ValueType {
  const char* type;  // such as cpu
  const char* unit;  // such as nanoseconds
};

using Labels = std::vector<std::pair<std::string, std::string>>;

// What identifies a sample.
struct SampleKey {
  std::vector<void*> stack;  // code addresses for lookup (os/backtrace.h), innermost first
  Labels labels;             // sorted
  std::string root{};        // an outermost frame without code; empty: none
  friend auto operator<=>(const SampleKey&, const SampleKey&) = default;
};

class Profile {
 public:
  explicit Profile(std::vector<ValueType> values) : types_(std::move(values)) {}

  // As many values as types. Past kMaxSamples different samples, new ones go to one without stack and labels.
  void add(const SampleKey& key, const std::vector<std::int64_t>& values);
  void set_period(ValueType type, std::int64_t period) { period_type_ = type, period_ = period; }
  // On the system clock, and how long the profile took.
  void set_time(std::int64_t begin_ns, std::int64_t duration_ns) { time_ns_ = begin_ns, duration_ns_ = duration_ns; }

  using Samples = std::map<SampleKey, std::vector<std::int64_t>>;
  const Samples& samples() const noexcept { return samples_; }
  const std::vector<ValueType>& types() const noexcept { return types_; }

  // The whole file, gzipped. Looks names up: takes milliseconds.
  std::string encode() const;

  static constexpr std::size_t kMaxSamples = 100'000;

 private:
  std::vector<ValueType> types_;
  ValueType period_type_{"", ""};
  std::int64_t period_ = 0, time_ns_ = 0, duration_ns_ = 0;
  Samples samples_;
};

}  // namespace weft::profile
