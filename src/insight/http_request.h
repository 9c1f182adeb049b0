// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The little of HTTP/1.1 that the debug server speaks: one request a connection, GET and HEAD, no body.
namespace weft::insight {

struct Request {
  bool head_only = false;
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;    // decoded
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  // The first value of that name; empty: there is none.
  std::string_view parameter(std::string_view name) const;
  std::string_view header(std::string_view name) const;
  // A whole number from 0 to `most`; nullopt: the value is something else.
  std::optional<int> number(std::string_view name, int otherwise, int most) const;
};

struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string file_name{};  // the browser saves it under this name; empty: it shows it
};

// The bytes up to the empty line. `status`: what to answer when the result is nullopt.
std::optional<Request> parse_request(std::string_view head, int& status);
std::string to_bytes(const Response& response, bool head_only);

}  // namespace weft::insight
