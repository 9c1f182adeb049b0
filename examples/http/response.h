// SPDX-License-Identifier: MIT
#pragma once
#include <weft/io.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What the HTTP server answers: a status and a body, which may be text, a file or lines made while they are sent.
namespace http {

inline const char* phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 417: return "Expectation Failed";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default:  return "Unknown";
  }
}

struct Response {
  int status = 200;
  std::string_view type = "text/plain; charset=utf-8", allow = {};
  std::string body{};
  weft::io::file file{};  // instead of the body
  std::uint64_t file_size = 0;
  std::optional<long> lines{};  // instead of the body: so many, by chunks
};

inline Response refusal(int status, std::string_view why) {
  Response response;
  response.status = status;
  response.body = std::string(why) + "\n";
  return response;
}

inline Response not_allowed(std::string_view allow) {
  Response response = refusal(405, "this resource does not know the method");
  response.allow = allow;
  return response;
}

}  // namespace http
