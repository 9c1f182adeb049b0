// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#if __has_include(<zlib.h>)
#include <zlib.h>
#endif

#include "kernel.h"

namespace {

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0;
  for (char c : text) hash = mix(hash, static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  return hash;
}

std::string prose(std::size_t length) {
  static constexpr const char* kWords[] = {"goroutine", "stack",  "the",   "of",   "channel", "a",   "waits", "until",
                                           "scheduler", "thread", "value", "runs", "over",    "and", "loop",  "x1"};
  std::string text;
  Random random;
  while (text.size() < length) text += kWords[random.next() % 16], text += random.next() % 11 == 0 ? ".\n" : " ";
  return text;
}

// JSON: enough of it to read numbers, strings, arrays and objects.
struct Json {
  double number = 0;
  std::string text;
  std::vector<Json> items;
  std::map<std::string, Json> members;
};

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}
  Json value() {
    Json json;
    skip();
    if (*at_ == '{') {
      do {
        ++at_, skip();
        if (*at_ == '}') break;
        std::string key = string();
        skip(), ++at_;
        json.members.emplace(std::move(key), value());
        skip();
      } while (*at_ == ',');
      ++at_;
    } else if (*at_ == '[') {
      do {
        ++at_, skip();
        if (*at_ == ']') break;
        json.items.push_back(value());
        skip();
      } while (*at_ == ',');
      ++at_;
    } else if (*at_ == '"') {
      json.text = string();
    } else {
      at_ = std::from_chars(at_, end_, json.number).ptr;
    }
    return json;
  }

 private:
  void skip() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n')) ++at_;
  }
  std::string string() {
    std::string text;
    for (++at_; *at_ != '"'; ++at_) text += *at_ == '\\' ? *++at_ : *at_;
    ++at_;
    return text;
  }
  const char *at_, *end_;
};

double total(const Json& json) {
  double sum = json.number + static_cast<double>(json.text.size());
  for (const Json& item : json.items) sum += total(item);
  for (const auto& [key, member] : json.members) sum += static_cast<double>(key.size()) + total(member);
  return sum;
}

// LZ77 with a hash of four bytes: literals, and (distance, length) pairs.
std::string compress(std::string_view text) {
  std::string out;
  std::array<std::uint32_t, 1 << 12> last{};
  std::size_t at = 0;
  while (at + 4 < text.size()) {
    std::uint32_t word = 0;
    std::memcpy(&word, text.data() + at, 4);
    std::uint32_t& slot = last[word * 2654435761u >> 20];
    const std::size_t before = slot;
    slot = static_cast<std::uint32_t>(at + 1);
    std::size_t length = 0;
    if (before != 0 && at + 1 - before < 65535) {
      while (length < 255 && at + length < text.size() && text[before - 1 + length] == text[at + length]) ++length;
    }
    if (length >= 4) {
      const std::size_t distance = at + 1 - before;
      out += '\1', out += static_cast<char>(length), out += static_cast<char>(distance),
          out += static_cast<char>(distance >> 8);
      at += length;
    } else {
      out += '\0', out += text[at++];
    }
  }
  while (at < text.size()) out += '\0', out += text[at++];
  return out;
}

std::string decompress(std::string_view packed) {
  std::string out;
  for (std::size_t at = 0; at < packed.size();) {
    if (packed[at] == '\0') {
      out += packed[at + 1];
      at += 2;
      continue;
    }
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(packed[at + i]));
    };
    const std::size_t from = out.size() - (byte(2) | byte(3) << 8), length = byte(1);
    for (std::size_t i = 0; i < length; ++i) out += out[from + i];
    at += 4;
  }
  return out;
}

}  // namespace

WEFT_KERNEL(json_parse) {
  std::string text = "[";
  for (int i = 0; i < 1500; ++i) {
    text += (i != 0 ? ",\n{\"id\": " : "{\"id\": ") + std::to_string(i) + ", \"name\": \"goroutine \\\"" +
            std::to_string(i * 7) + "\\\"\", \"values\": [1.5, 2, " + std::to_string(i % 10) +
            ", -4e2], \"inner\": {\"a\": \"b\", \"c\": [[], {}]}}";
  }
  text += "]";
  return mix(0, total(JsonReader(text).value()));
}

WEFT_KERNEL(lz_compress) { return hash_of(compress(prose(300000))); }
WEFT_KERNEL(lz_decompress) {
  static const std::string packed = compress(prose(400000));
  std::uint64_t hash = 0;
  for (int i = 0; i < 5; ++i) hash = mix(hash, std::uint64_t{decompress(packed).size()});
  return hash;
}

#ifdef ZLIB_H
// As programs use zlib: the library itself has no checks, what feeds it and what it calls for memory has.
WEFT_KERNEL(gzip) {
  constexpr int kGzip = 16 + MAX_WBITS;
  constexpr std::size_t kPiece = 512;
  const std::string text = prose(100000);
  z_stream packer{};
  packer.zalloc = [](void*, unsigned count, unsigned size) { return std::calloc(count, size); };
  packer.zfree = [](void*, void* memory) { std::free(memory); };
  z_stream unpacker = packer;
  if (deflateInit2(&packer, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  if (inflateInit2(&unpacker, kGzip) != Z_OK) std::abort();
  std::array<unsigned char, 2 * kPiece> packed, unpacked;
  std::uint64_t hash = 0;
  const auto unpack = [&](std::size_t bytes) {
    unpacker.next_in = packed.data();
    unpacker.avail_in = static_cast<unsigned>(bytes);
    do {
      unpacker.next_out = unpacked.data();
      unpacker.avail_out = static_cast<unsigned>(unpacked.size());
      inflate(&unpacker, Z_NO_FLUSH);
      const std::size_t made = unpacked.size() - unpacker.avail_out;
      hash = mix(hash, hash_of({reinterpret_cast<const char*>(unpacked.data()), made}));
    } while (unpacker.avail_out == 0);
  };
  for (std::size_t at = 0; at < text.size(); at += kPiece) {
    const std::size_t bytes = std::min(kPiece, text.size() - at);
    packer.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data() + at));
    packer.avail_in = static_cast<unsigned>(bytes);
    do {
      packer.next_out = packed.data();
      packer.avail_out = static_cast<unsigned>(packed.size());
      deflate(&packer, at + bytes == text.size() ? Z_FINISH : Z_NO_FLUSH);
      unpack(packed.size() - packer.avail_out);
    } while (packer.avail_out == 0);
  }
  if (unpacker.total_out != text.size()) std::abort();
  deflateEnd(&packer);
  inflateEnd(&unpacker);
  return hash;
}
#endif

WEFT_KERNEL(regex_match) {
  const std::regex pattern("(g[a-z]+e|ch(an|in)+el) (of|over|[a-z]{1,3})");
  const std::string text = prose(12000);
  std::uint64_t hash = 0;
  for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i) {
    hash = mix(hash, static_cast<std::uint64_t>(i->position() + i->length()));
  }
  return hash;
}

WEFT_KERNEL(formatting) {
  std::uint64_t hash = 0;
  char line[128];
  for (int i = 0; i < 20000; ++i) {
    const int length =
        std::snprintf(line, sizeof line, "%d %08x %s %.3f", i, static_cast<unsigned>(i) * 77u, "goroutine", i * 0.37);
    hash = mix(hash, hash_of({line, static_cast<std::size_t>(length)}));
  }
  return hash;
}

WEFT_KERNEL(streams) {
  std::ostringstream out;
  for (int i = 0; i < 20000; ++i) out << i << ' ' << (i * 31) << '\n';
  return hash_of(out.str());
}

WEFT_KERNEL(string_building) {
  std::uint64_t hash = 0;
  for (int round = 0; round < 60; ++round) {
    std::string text;
    for (int i = 0; i < 1000; ++i) {
      text += std::to_string(i * round);
      text.push_back(',');
      if (i % 50 == 0) text.insert(text.size() / 2, "middle");
    }
    hash = mix(hash, hash_of(text));
  }
  return hash;
}

WEFT_KERNEL(tokenizer) {
  const std::string text = prose(600000);
  std::uint64_t hash = 0, words = 0, lines = 0;
  enum { kBetween, kWord, kNumber } state = kBetween;
  for (char c : text) {
    switch (state) {
      case kBetween:
        if (c >= 'a' && c <= 'z') state = kWord, ++words;
        break;
      case kWord:
        if (c >= '0' && c <= '9') state = kNumber;
        [[fallthrough]];
      case kNumber:
        if (c == ' ' || c == '\n' || c == '.') state = kBetween, hash = mix(hash, words);
    }
    if (c == '\n') ++lines;
  }
  return mix(hash, lines);
}

WEFT_KERNEL(word_count) {
  const std::string text = prose(200000);
  std::map<std::string_view, int> counts;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ' ' && text[i] != '\n') continue;
    ++counts[std::string_view(text).substr(start, i - start)];
    start = i + 1;
  }
  std::uint64_t hash = 0;
  for (const auto& [word, count] : counts) hash = mix(mix(hash, hash_of(word)), static_cast<std::uint64_t>(count));
  return hash;
}

WEFT_KERNEL(base64) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string text = prose(900000);
  std::string out(text.size() / 3 * 4, '\0');
  for (std::size_t i = 0, o = 0; i + 2 < text.size(); i += 3, o += 4) {
    const unsigned word = static_cast<unsigned char>(text[i]) << 16 | static_cast<unsigned char>(text[i + 1]) << 8 |
                          static_cast<unsigned char>(text[i + 2]);
    for (unsigned k = 0; k < 4; ++k) out[o + k] = kDigits[word >> (18 - 6 * k) & 63];
  }
  return hash_of(out);
}

WEFT_KERNEL(utf8_decode) {
  std::string text;
  Random random;
  for (int i = 0; i < 300000; ++i) {
    const unsigned code = random.next() % 4 == 0 ? 0x20ac : random.next() % 5 == 0 ? 0xe9 : 'a';
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else if (code < 0x800) {
      text += static_cast<char>(0xc0 | code >> 6), text += static_cast<char>(0x80 | (code & 63));
    } else {
      text += static_cast<char>(0xe0 | code >> 12), text += static_cast<char>(0x80 | (code >> 6 & 63)),
          text += static_cast<char>(0x80 | (code & 63));
    }
  }
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned>(static_cast<unsigned char>(text[i + k])); };
    std::uint64_t code = byte(0);
    if (code < 0x80) {
      i += 1;
    } else if (code < 0xe0) {
      code = (code & 31) << 6 | (byte(1) & 63), i += 2;
    } else {
      code = (code & 15) << 12 | (byte(1) & 63) << 6 | (byte(2) & 63), i += 3;
    }
    hash = mix(hash, code);
  }
  return hash;
}

WEFT_KERNEL(edit_distance) {
  const std::string a = prose(1500), b = prose(2600).substr(1000);
  std::vector<unsigned> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = static_cast<unsigned>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    unsigned corner = row[0]++;
    for (std::size_t j = 1; j < row.size(); ++j) {
      const unsigned best = std::min({corner + (a[i - 1] != b[j - 1]), row[j] + 1, row[j - 1] + 1});
      corner = row[j];
      row[j] = best;
    }
  }
  return mix(0, std::uint64_t{row.back()});
}
