// SPDX-License-Identifier: MIT
#include "sched/state/label_set.h"

namespace weft::sched {
LabelSet::LabelSet(std::vector<Pair> pairs) : pairs_(std::move(pairs)) {
  for (const auto& [key, value] : pairs_) {
    if (!text_.empty()) text_ += ", ";
    append_escaped(text_, key);
    text_ += '=';
    append_escaped(text_, value);
  }
}

const LabelSet* LabelSet::create(std::vector<Pair> pairs) { return new LabelSet(std::move(pairs)); }

void append_escaped(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      (out += "\\x") += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
}

}  // namespace weft::sched
