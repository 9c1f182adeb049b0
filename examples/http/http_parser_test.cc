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
using http::Limits;
using http::Request;
using http::RequestParser;

// Everything a parser says, as text: "GET /x 1 keep [body]" for each request, then "400" or "...".
void drain(RequestParser& parser, std::string& said) {
  Request request;
  RequestParser::Result result;
  while ((result = parser.next(request)) == RequestParser::Result::request) {
    said += request.method + " " + request.target + (request.minor == 0 ? " 1.0" : "") +
            (request.keep_alive ? "" : " close") + " [" + request.body + "]\n";
  }
  if (result == RequestParser::Result::broken && (said.empty() || said.back() == '\n'))
    said += std::to_string(parser.status());
}

std::string parse(std::string_view input, const Cuts& cuts, const Limits& limits = {}) {
  RequestParser parser(limits);
  std::string said;
  feed_in_pieces(input, cuts, [&](std::string_view piece) {
    parser.feed(piece);
    drain(parser, said);
  });
  if (said.empty() || said.back() == '\n') said += parser.started() ? "..." : "";
  return said;
}

// The same, wherever it is cut.
std::string parse_everyhow(std::string_view input, const Limits& limits = {}) {
  const std::string whole = parse(input, {}, limits);
  all_cuttings(input, [&](const Cuts& cuts) { EXPECT_EQ(parse(input, cuts, limits), whole) << input; });
  return whole;
}

std::string with_fields(std::string_view fields, std::string_view rest = "") {
  return "POST /p HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n" + std::string(rest);
}

TEST(RequestParser, takes_requests_one_after_the_other) {
  EXPECT_EQ(
      parse_everyhow("GET / HTTP/1.1\r\nHost: a\r\n\r\nHEAD /x?y=%20 HTTP/1.1\r\nhOST:b \r\nA: \t b\tc \r\n\r\nGE"),
      "GET / []\nHEAD /x?y=%20 []\n...");
  EXPECT_EQ(parse_everyhow("\r\nGET / HTTP/1.0\r\n\r\n\r\nGET / HTTP/1.1\r\nHost:\r\n\r\n"),
            "GET / 1.0 close []\nGET / []\n");
}

TEST(RequestParser, takes_bodies_by_length_and_by_chunks) {
  EXPECT_EQ(parse_everyhow(with_fields("Content-Length: 4\r\n", "a\r\nbGET / HTTP/1.1\r\nHost: a\r\n\r\n")),
            "POST /p [a\r\nb]\nGET / []\n");
  EXPECT_EQ(parse_everyhow(with_fields("Content-Length: 0\r\n")), "POST /p []\n");
  EXPECT_EQ(
      parse_everyhow(with_fields("Transfer-Encoding: Chunked\r\n",
                                 "3;a=\"b c\"\r\nabc\r\n00A\r\n0123456789\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.0\r\n\r\n")),
      "POST /p [abc0123456789]\nGET / 1.0 close []\n");
}

TEST(RequestParser, knows_when_the_connection_stays) {
  EXPECT_EQ(parse_everyhow("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), "GET / 1.0 []\n");
  EXPECT_EQ(parse_everyhow(with_fields("Connection: x, CLOSE\r\nConnection: keep-alive\r\n")), "POST /p close []\n");
  EXPECT_EQ(parse_everyhow("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
            "GET / close []\nGET / []\n");
}

TEST(RequestParser, refuses_bad_request_lines) {
  for (const char* line :
       {"GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET\t/ HTTP/1.1", "G(T / HTTP/1.1",
        "GET /a b HTTP/1.1", "GET /\x01 HTTP/1.1", "GET /\xc3\xa9 HTTP/1.1", "GET / HTTP/1", "GET / http/1.1",
        "GET / HTTP/11", "GET / HTTP/1.1\r", "GET / HTTP/1.x", "\r\n\r\n"})
    EXPECT_EQ(parse_everyhow(std::string(line) + "\r\nHost: a\r\n\r\n"), "400") << line;
  EXPECT_EQ(parse_everyhow("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), "505");
  EXPECT_EQ(parse_everyhow("GET / HTTP/0.9\r\n\r\n"), "505");
  EXPECT_EQ(parse_everyhow(std::string(33, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n"), "501");
}

// Two readers that disagree about where a request ends: the second of them serves what the first never saw.
TEST(RequestParser, refuses_what_smuggles_requests) {
  const std::pair<const char*, const char*> cases[] = {
      {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "400"},
      {"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "400"},
      {"Content-Length: 4\r\nContent-Length: 5\r\n", "400"},
      {"Content-Length: 4\r\nContent-Length: 4\r\n", "400"},
      {"Content-Length: 4, 4\r\n", "400"},
      {"Content-Length: +4\r\n", "400"},
      {"Content-Length: -1\r\n", "400"},
      {"Content-Length: 0x4\r\n", "400"},
      {"Content-Length: 4 4\r\n", "400"},
      {"Content-Length:\r\n", "400"},
      {"Content-Length : 4\r\n", "400"},
      {"Content-Length: 4\r\n folded\r\n", "400"},
      {" Content-Length: 4\r\n", "400"},
      {"Transfer-Encoding: chunked, chunked\r\n", "400"},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "400"},
      {"Transfer-Encoding: chunked, identity\r\n", "400"},
      {"Transfer-Encoding: chunked,\r\n", "400"},
      {"Transfer-Encoding:\r\n", "400"},
      {"Transfer-Encoding: gzip, chunked\r\n", "501"},
      {"Transfer-Encoding: xchunked\r\n", "501"},
      {"Transfer-Encoding: \x0b"
       "chunked\r\n",
       "400"},
      {"Transfer-Encoding\x0b: chunked\r\n", "400"},
      {"Transfer_Encoding: chunked\nX: y\r\n", "400"},
      {"X: a\rContent-Length: 4\r\n", "400"},
      {"X: a\nContent-Length: 4\r\n", "400"},
      {"Host: again\r\n", "400"},
      {": empty\r\n", "400"},
      {"no colon\r\n", "400"},
      {"Host\r\n", "400"},
  };
  for (const auto& [fields, status] : cases)
    EXPECT_EQ(parse_everyhow(with_fields(fields, "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")), status)
        << fields;
  EXPECT_EQ(parse_everyhow("GET / HTTP/1.1\nHost: a\n\n"), "400");
  EXPECT_EQ(parse_everyhow("GET / HTTP/1.1\r\nHost: a\r\n\nGET"), "400");
  EXPECT_EQ(parse_everyhow("GET / HTTP/1.1\r\nA: b\r\n\r\n"), "400");
  EXPECT_EQ(parse_everyhow("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), "400");
  EXPECT_EQ(parse_everyhow("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "400");
  EXPECT_EQ(parse_everyhow(std::string("GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", 33)), "400");
}

TEST(RequestParser, refuses_bad_chunks) {
  for (const char* chunks :
       {"x\r\n", "-1\r\n", "+1\r\na\r\n", "0x1\r\na\r\n", " 1\r\na\r\n", "1 \r\na\r\n", "\r\n", "1\na\r\n",
        "1\r\nab\r\n", "1\r\na\n", "1\r\na\rb", "2\r\na\r\n0\r\n\r\n", "1;\x01\r\na\r\n", "1;a\rb\r\na\r\n", "0\r\n\n",
        "0\r\nbad trailer\r\n\r\n", "0\r\n folded: x\r\n\r\n", "1;\n\r\na"})
    EXPECT_EQ(parse_everyhow(with_fields("Transfer-Encoding: chunked\r\n", chunks)), "400") << chunks;
  EXPECT_EQ(parse_everyhow(with_fields("Transfer-Encoding: chunked\r\n", "1;" + std::string(300, 'a') + "\r\n")),
            "400");
  EXPECT_EQ(parse_everyhow(with_fields("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFFFFFFFFFF1\r\n")), "413");
}

TEST(RequestParser, keeps_its_limits_to_the_byte) {
  const Limits limits{.request_line = 20, .head = 40, .fields = 3, .body = 8};
  const auto line = [](std::size_t size) {
    return "GET /" + std::string(size - 14, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  };
  EXPECT_EQ(parse_everyhow(line(20), limits), "GET /aaaaaa []\n");
  EXPECT_EQ(parse_everyhow(line(21), limits), "414");
  EXPECT_EQ(parse_everyhow(std::string(100, 'x'), limits), "414");
  const auto head = [](std::size_t size) {
    return "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(size - 12, 'a') + "\r\n\r\n";
  };
  EXPECT_EQ(parse_everyhow(head(40), limits), "GET / []\n");
  EXPECT_EQ(parse_everyhow(head(44), limits), "431");
  EXPECT_EQ(parse_everyhow("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\n\r\n", limits), "GET / []\n");
  EXPECT_EQ(parse_everyhow("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\nC:\r\n\r\n", limits), "431");
  const auto body = [](const char* size, const char* text) {
    return "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::string(size) + "\r\n\r\n" + text;
  };
  EXPECT_EQ(parse_everyhow(body("8", "12345678"), limits), "PUT / [12345678]\n");
  EXPECT_EQ(parse_everyhow(body("9", "123456789"), limits), "413");
  EXPECT_EQ(parse_everyhow(body("18446744073709551617", "")), "413");
  const Limits chunks{.request_line = 20, .head = 60, .fields = 3, .body = 8};
  const auto chunked = [](const char* text) {
    return "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(text);
  };
  EXPECT_EQ(parse_everyhow(chunked("4\r\n1234\r\n4\r\n5678\r\n0\r\n\r\n"), chunks), "PUT / [12345678]\n");
  EXPECT_EQ(parse_everyhow(chunked("4\r\n1234\r\n5\r\n56789\r\n0\r\n\r\n"), chunks), "413");
  EXPECT_EQ(parse_everyhow(chunked("0\r\nA: b\r\nC: d\r\n\r\n"), chunks), "431");
}

TEST(RequestParser, tells_once_that_the_client_waits_to_go_on) {
  RequestParser parser;
  Request request;
  parser.feed(with_fields("Expect: 100-Continue\r\nContent-Length: 2\r\n"));
  EXPECT_EQ(parser.next(request), RequestParser::Result::incomplete);
  EXPECT_TRUE(parser.take_expectation());
  EXPECT_FALSE(parser.take_expectation());
  parser.feed("ab");
  EXPECT_EQ(parser.next(request), RequestParser::Result::request);
  EXPECT_EQ(request.body, "ab");
  EXPECT_FALSE(parser.started());

  parser.feed(with_fields("Expect: 100-continue\r\nContent-Length: 2\r\n", "a"));  // did not wait
  EXPECT_EQ(parser.next(request), RequestParser::Result::incomplete);
  EXPECT_FALSE(parser.take_expectation());
  EXPECT_EQ(parse_everyhow(with_fields("Expect: the-unexpected\r\n")), "417");
}

TEST(RequestParser, keeps_the_fields) {
  RequestParser parser;
  Request request;
  parser.feed("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: \tx y \r\n\r\n");
  ASSERT_EQ(parser.next(request), RequestParser::Result::request);
  ASSERT_NE(request.field("accept-encoding"), nullptr);
  EXPECT_EQ(*request.field("ACCEPT-encoding"), "x y");
  EXPECT_EQ(request.field("accept"), nullptr);
}

}  // namespace
