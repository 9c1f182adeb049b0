// SPDX-License-Identifier: MIT
#include "trace_reader/text.h"

#include <cstdio>

namespace weft::tools {
namespace {

void append_hex(std::string& to, unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  to += "\\x";
  to += kDigits[byte >> 4];
  to += kDigits[byte & 15];
}

// The length of the UTF-8 sequence that begins here, 0 if there is none; its code point in `point`.
std::size_t sequence_length(std::string_view text, std::uint32_t& point) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  std::size_t size = 0;
  std::uint32_t least = 0;
  if (lead < 0x80) {
    point = lead;
    return 1;
  }
  if (lead >= 0xc2 && lead < 0xe0) {
    size = 2, least = 0x80, point = lead & 0x1f;
  } else if (lead >= 0xe0 && lead < 0xf0) {
    size = 3, least = 0x800, point = lead & 0x0f;
  } else if (lead >= 0xf0 && lead < 0xf5) {
    size = 4, least = 0x10000, point = lead & 0x07;
  }
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte(i) & 0x3fu);
  }
  if (point < least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return 0;
  return size;
}

// Characters that reorder or hide their neighbours are as bad as control characters.
bool is_deceptive(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x200b && point <= 0x200f) ||
         (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
}

}  // namespace

std::string visible(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t point = 0;
    std::size_t size = sequence_length(text, point);
    if (size != 0 && !is_deceptive(point)) {
      shown += text.substr(0, size);
    } else if (point == '\n' && size == 1) {
      shown += "\\n";
    } else if (point == '\t' && size == 1) {
      shown += "\\t";
    } else {
      if (size == 0) size = 1;
      for (std::size_t i = 0; i < size; ++i) append_hex(shown, static_cast<unsigned char>(text[i]));
    }
    text.remove_prefix(size);
  }
  return shown;
}

std::string json(std::string_view text) {
  std::string out = "\"";
  for (const char c : visible(text)) {
    switch (c) {
      case '"':  out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '<':  out += "\\u003c"; break;
      case '>':  out += "\\u003e"; break;
      case '&':  out += "\\u0026"; break;
      default:   out += c;
    }
  }
  return out += '"';
}

std::string html(std::string_view text) {
  std::string out;
  for (const char c : visible(text)) {
    switch (c) {
      case '<':  out += "&lt;"; break;
      case '>':  out += "&gt;"; break;
      case '&':  out += "&amp;"; break;
      case '"':  out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:   out += c;
    }
  }
  return out;
}

std::string duration_text(std::int64_t ns) {
  char text[32];
  const auto value = static_cast<double>(ns);
  if (ns < 1000) {
    std::snprintf(text, sizeof text, "%d ns", static_cast<int>(ns));
  } else if (ns < 1'000'000) {
    std::snprintf(text, sizeof text, "%.3g us", value / 1e3);
  } else if (ns < 1'000'000'000) {
    std::snprintf(text, sizeof text, "%.3g ms", value / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%.4g s", value / 1e9);
  }
  return text;
}

}  // namespace weft::tools
