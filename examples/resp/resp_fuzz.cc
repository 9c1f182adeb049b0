// SPDX-License-Identifier: MIT
// libFuzzer's target: whatever the bytes and wherever they are cut, the parser says the same, keeps its limits, and ends.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "request_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace {

// Small, so that the fuzzer meets them.
constexpr resp::Limits kLimits{.arguments = 5, .bulk = 24, .request = 40, .line = 32};

// `piece` gives the size of each next piece.
template <class Piece>
std::string parse(std::string_view input, Piece piece) {
  resp::RequestParser parser(kLimits);
  std::vector<std::string> arguments;
  std::string said;
  auto result = resp::RequestParser::Result::incomplete;
  for (std::size_t at = 0; at < input.size();) {
    const std::size_t size = std::min<std::size_t>(piece(at), input.size() - at);
    parser.feed(input.substr(at, size));
    at += size;
    while ((result = parser.next(arguments)) == resp::RequestParser::Result::request) {
      if (arguments.size() > kLimits.arguments) std::abort();
      std::size_t sum = 0;
      for (const auto& argument : arguments) {
        sum += argument.size();
        said += argument + "|";
      }
      if (sum > kLimits.request) std::abort();
      said += "\n";
    }
  }
  return said + (result == resp::RequestParser::Result::broken ? parser.error() : "");
}

}  // namespace

int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string whole = parse(input, [&](std::size_t) { return size; });
  if (parse(input, [](std::size_t) { return std::size_t{1}; }) != whole) std::abort();
  for (std::size_t cut = 1; cut < std::min<std::size_t>(size, 200); ++cut)
    if (parse(input, [&](std::size_t at) { return at == 0 ? cut : size; }) != whole) std::abort();
  std::uint32_t seed = static_cast<std::uint32_t>(size) * 2654435761u;
  const auto some = [&](std::size_t) { return 1 + ((seed = seed * 1664525 + 1013904223) >> 16) % 23; };
  for (int round = 0; round < 4; ++round)
    if (parse(input, some) != whole) std::abort();
  return 0;
}
