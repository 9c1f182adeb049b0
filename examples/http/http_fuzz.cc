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
constexpr http::Limits kLimits{.request_line = 64, .head = 160, .fields = 6, .body = 48};

// `piece` gives the size of each next piece.
template <class Piece>
std::string parse(std::string_view input, Piece piece) {
  http::RequestParser parser(kLimits);
  http::Request request;
  std::string said;
  auto result = http::RequestParser::Result::incomplete;
  for (std::size_t at = 0; at < input.size();) {
    const std::size_t size = std::min<std::size_t>(piece(at), input.size() - at);
    parser.feed(input.substr(at, size));
    at += size;
    while ((result = parser.next(request)) == http::RequestParser::Result::request) {
      if (request.body.size() > kLimits.body || request.fields.size() > kLimits.fields) std::abort();
      if (request.method.empty() || request.target.empty() || request.target.size() > kLimits.request_line)
        std::abort();
      std::size_t lengths = 0, codings = 0;
      for (const auto& [name, value] : request.fields) {
        if (name.empty() || name.find_first_of(" \t\r\n:") != std::string::npos) std::abort();
        if (value.find_first_of("\r\n") != std::string::npos) std::abort();
        lengths += http::same_word(name, "content-length");
        codings += http::same_word(name, "transfer-encoding");
        said += name + ":" + value + ";";
      }
      if (lengths + codings > 1) std::abort();  // two opinions about where the body ends
      said += request.method + request.target + std::to_string(request.minor) + (request.keep_alive ? "+" : "-") +
              request.body + "\n";
    }
    if (result == http::RequestParser::Result::broken && (parser.status() < 400 || parser.status() > 505)) std::abort();
  }
  return said + (result == http::RequestParser::Result::broken ? parser.reason() : parser.started() ? "..." : "");
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
