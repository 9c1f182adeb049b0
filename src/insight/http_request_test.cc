// SPDX-License-Identifier: MIT
#include "insight/http_request.h"

#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <string>

#include "insight/address.h"
#include "insight/live_data.h"

namespace {

using namespace weft::insight;

int status_of(std::string_view head) {
  int status = 0;
  parse_request(head, status);
  return status;
}

TEST(HttpRequest, path_parameters_and_headers_are_taken_apart) {
  int status = 0;
  const auto request = parse_request("GET /a%20b?seconds=5&x=%3C%26&empty HTTP/1.1\r\nHost:  localhost:1 \r\nX-Y: z\r\n", status);
  ASSERT_TRUE(request);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(request->path, "/a b");
  EXPECT_EQ(request->number("seconds", 30, 60), 5);
  EXPECT_EQ(request->number("absent", 30, 60), 30);
  EXPECT_EQ(request->number("seconds", 30, 4), std::nullopt);
  EXPECT_EQ(request->number("x", 30, 60), std::nullopt);
  EXPECT_EQ(request->parameter("x"), "<&");
  EXPECT_EQ(request->header("host"), "localhost:1");
}

TEST(HttpRequest, what_is_no_request_is_refused) {
  EXPECT_EQ(status_of("garbage"), 400);
  EXPECT_EQ(status_of(""), 400);
  EXPECT_EQ(status_of("GET http://x/ HTTP/1.1\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\n"), 505);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\n"), 405);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nbad header: x\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n"), 200);
}

TEST(HttpRequest, random_bytes_are_survived) {
  std::mt19937 random(7);
  const std::string letters = "GET /?%&=+ HTTP/1.1\r\n:\0\xff" + std::string("a9");
  for (int i = 0; i < 20'000; ++i) {
    std::string head = i % 2 == 0 ? "GET /" : "";
    for (auto n = random() % 60; n > 0; --n) head += letters[random() % letters.size()];
    const int status = status_of(head);
    EXPECT_TRUE(status == 200 || status == 400 || status == 405 || status == 505) << status;
  }
}

TEST(LiveData, strings_cannot_end_the_script_or_be_control_characters) {
  EXPECT_EQ(json_string("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(json_string("</script>\n\x01"), "\"\\u003c/script\\u003e\\u000a\\u0001\"");
  EXPECT_EQ(json_string("\xc3\xa4\xff"), "\"\xc3\xa4\\ufffd\"");
  EXPECT_EQ(json_string("\xe2\x82"), "\"\\ufffd\\ufffd\"");
}

TEST(Address, what_is_no_address_is_refused_with_what_would_be) {
  for (const char* wrong : {"", "6060", "localhost", "localhost:", "localhost:x", "localhost:70000", "name.example:1", "[::1:1"})
    EXPECT_THROW(listen_on(wrong), std::invalid_argument) << wrong;
}

}  // namespace
