// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::profile {

// A protocol buffers message, written field by field. Zero is the default of every field and is left out.
class ProtoWriter {
 public:
  void number(unsigned field, std::uint64_t value) {
    if (value == 0) return;
    tag(field, 0);
    varint(value);
  }
  void text(unsigned field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    out_ += value;
  }
  void message(unsigned field, const ProtoWriter& value) { text(field, value.out_); }
  void packed(unsigned field, const std::vector<std::uint64_t>& values) {
    if (values.empty()) return;
    ProtoWriter inner;
    for (const std::uint64_t value : values) inner.varint(value);
    message(field, inner);
  }
  const std::string& bytes() const noexcept { return out_; }

 private:
  void tag(unsigned field, unsigned type) { varint(field << 3 | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  std::string out_;
};

}  // namespace weft::profile
