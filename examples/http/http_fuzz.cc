// SPDX-License-Identifier: MIT
// libFuzzer's target: whatever the bytes and wherever they are cut, the parser says the same, keeps its limits, and ends.
#include <cstdlib>
#include <string>
#include <string_view>

#include "request_parser.h"
#include "support/pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace {

// Small, so that the fuzzer meets them.
constexpr http::Limits kLimits{.request_line = 64, .head = 160, .fields = 6, .body = 48};

std::string parse(std::string_view input, const weft::test::Cuts& cuts) {
  http::RequestParser parser(kLimits);
  http::Request request;
  std::string said;
  auto result = http::RequestParser::Result::incomplete;
  weft::test::feed_in_pieces(input, cuts, [&](std::string_view piece) {
    parser.feed(piece);
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
  });
  return said + (result == http::RequestParser::Result::broken ? parser.reason() : parser.started() ? "..." : "");
}

}  // namespace

int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string whole = parse(input, {});
  weft::test::some_cuttings(input, [&](const weft::test::Cuts& cuts) {
    if (parse(input, cuts) != whole) std::abort();
  });
  return 0;
}
