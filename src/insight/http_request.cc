// SPDX-License-Identifier: MIT
#include "insight/http_request.h"

#include <algorithm>
#include <charconv>

namespace weft::insight {
namespace {

int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0;
    if (is_escape) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// The part before the separator; `text` keeps what comes after it.
std::string_view cut(std::string_view& text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  const std::string_view first = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + separator.size());
  return first;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

const char* words_for(int status) noexcept {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default:  return "Internal Server Error";
  }
}

std::string_view find(const std::vector<std::pair<std::string, std::string>>& entries, std::string_view name) {
  const auto found = std::ranges::find(entries, name, &std::pair<std::string, std::string>::first);
  return found != entries.end() ? std::string_view(found->second) : std::string_view();
}

}  // namespace

std::string_view Request::parameter(std::string_view name) const { return find(query, name); }
std::string_view Request::header(std::string_view name) const { return find(headers, name); }

std::optional<int> Request::number(std::string_view name, int otherwise, int most) const {
  const std::string_view text = parameter(name);
  if (text.empty()) return otherwise;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) return std::nullopt;
  return value;
}

std::optional<Request> parse_request(std::string_view head, int& status) {
  status = 400;
  std::string_view line = cut(head, "\r\n");
  const std::string_view method = cut(line, " ");
  std::string_view target = cut(line, " ");
  if (!is_token(method) || target.empty() || target[0] != '/') return std::nullopt;
  if (line != "HTTP/1.1" && line != "HTTP/1.0") {
    if (line.starts_with("HTTP/")) status = 505;
    return std::nullopt;
  }
  Request request;
  while (!head.empty()) {
    std::string_view value = cut(head, "\r\n");
    if (value.empty()) break;
    std::string name(cut(value, ":"));
    if (!is_token(name)) return std::nullopt;
    std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    request.headers.emplace_back(std::move(name), value);
  }
  if (method != "GET" && method != "HEAD") {
    status = 405;
    return std::nullopt;
  }
  request.head_only = method == "HEAD";
  request.path = decoded(cut(target, "?"));
  while (!target.empty()) {
    std::string_view value = cut(target, "&");
    const std::string_view name = cut(value, "=");
    request.query.emplace_back(decoded(name), decoded(value));
  }
  status = 200;
  return request;
}

std::string to_bytes(const Response& response, bool head_only) {
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " " + words_for(response.status) +
                    "\r\nContent-Type: " + response.type + "\r\nContent-Length: " + std::to_string(response.body.size()) +
                    "\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                    "X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'; "
                    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:\r\n";
  if (!response.file_name.empty()) out += "Content-Disposition: attachment; filename=\"" + response.file_name + "\"\r\n";
  if (response.status == 401) out += "WWW-Authenticate: Bearer\r\n";
  if (response.status == 405) out += "Allow: GET, HEAD\r\n";
  out += "\r\n";
  if (!head_only) out += response.body;
  return out;
}

}  // namespace weft::insight
