// SPDX-License-Identifier: MIT
#include "request_parser.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/pieces.h"

namespace {

using namespace weft::test;
using resp::Limits;
using resp::RequestParser;

// "[a|b]" for each request, then the error, if there was one.
std::string parse(std::string_view input, const Cuts& cuts, const Limits& limits) {
  RequestParser parser(limits);
  std::string said;
  std::vector<std::string> arguments;
  RequestParser::Result result = RequestParser::Result::incomplete;
  feed_in_pieces(input, cuts, [&](std::string_view piece) {
    parser.feed(piece);
    while ((result = parser.next(arguments)) == RequestParser::Result::request) {
      said += '[';
      for (const auto& argument : arguments) said += argument + "|";
      said += ']';
    }
  });
  return result == RequestParser::Result::broken ? said + parser.error() : said;
}

// The same, wherever it is cut.
std::string parse_everyhow(std::string_view input, const Limits& limits = {}) {
  const std::string whole = parse(input, {}, limits);
  all_cuttings(input, [&](const Cuts& cuts) { EXPECT_EQ(parse(input, cuts, limits), whole) << input; });
  return whole;
}

TEST(RespParser, takes_arrays_and_lines) {
  EXPECT_EQ(parse_everyhow("PING\r\n*2\r\n$3\r\nGET\r\n$5\r\na\r\nb!\r\n  SET  a b \r\n\r\n*0\r\n*1\r\n$0\r\n\r\nQ"),
            "[PING|][GET|a\r\nb!|][SET|a|b|][][][|]");
}

TEST(RespParser, refuses_what_is_not_the_protocol) {
  const std::pair<const char*, const char*> cases[] = {
      {"*-1\r\n", "invalid length"},
      {"*\r\n", "invalid length"},
      {"*1x\r\n", "invalid length"},
      {"* 1\r\n", "invalid length"},
      {"*99999999999999999999999\r\n", "invalid length"},
      {"*1\r\n$-1\r\n", "invalid length"},
      {"*1\r\n:5\r\n", "expected '$'"},
      {"*1\r\n\r\n", "expected '$'"},
      {"*1\r\n$1\r\nab\r\n", "a string is longer than it says"},
      {"*1\r\n$1\r\na\rb", "a string is longer than it says"},
      {"PING\nPING\r\n", "a line does not end with CR LF"},
      {"\n", "a line does not end with CR LF"},
  };
  for (const auto& [input, error] : cases) EXPECT_EQ(parse_everyhow(input), error) << input;
  EXPECT_EQ(parse_everyhow("PING\r\n*1\r\n!\r\nPING\r\n"), "[PING|]expected '$'");
}

TEST(RespParser, keeps_its_limits_to_the_byte) {
  const Limits limits{.arguments = 2, .bulk = 4, .request = 6, .line = 8};
  EXPECT_EQ(parse_everyhow("12345678\r\n", limits), "[12345678|]");
  EXPECT_EQ(parse_everyhow("123456789\r\n", limits), "too big inline request");
  EXPECT_EQ(parse_everyhow("a b\r\na b c\r\n", limits), "[a|b|]too many words");
  EXPECT_EQ(parse_everyhow("*3\r\n", limits), "invalid length");
  EXPECT_EQ(parse_everyhow("*2\r\n$4\r\nabcd\r\n$2\r\nef\r\n*1\r\n$5\r\n", limits), "[abcd|ef|]invalid length");
  EXPECT_EQ(parse_everyhow("*2\r\n$4\r\nabcd\r\n$3\r\nefg\r\n", limits), "too big request");
}

}  // namespace
