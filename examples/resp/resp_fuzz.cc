// SPDX-License-Identifier: MIT
// libFuzzer's target: whatever the bytes and wherever they are cut, the parser says the same, keeps its limits, and ends.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "request_parser.h"
#include "support/pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace {

// Small, so that the fuzzer meets them.
constexpr resp::Limits kLimits{.arguments = 5, .bulk = 24, .request = 40, .line = 32};

std::string parse(std::string_view input, const weft::test::Cuts& cuts) {
  resp::RequestParser parser(kLimits);
  std::vector<std::string> arguments;
  std::string said;
  auto result = resp::RequestParser::Result::incomplete;
  weft::test::feed_in_pieces(input, cuts, [&](std::string_view piece) {
    parser.feed(piece);
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
  });
  return said + (result == resp::RequestParser::Result::broken ? parser.error() : "");
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
