// SPDX-License-Identifier: MIT
#pragma once
#include <weft/io.h>
#include <weft/weft.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "request_parser.h"
#include "response.h"
#include "server.h"

// What there is under which path.
namespace http {

inline std::optional<long> number_after(std::string_view path, std::string_view prefix, long most) {
  if (!path.starts_with(prefix)) return std::nullopt;
  path.remove_prefix(prefix.size());
  long value = 0;
  const auto parsed = std::from_chars(path.data(), path.data() + path.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != path.data() + path.size() || value < 0 || value > most)
    return std::nullopt;
  return value;
}

// Percent signs resolved. Nullopt: not well-formed, or a path that leads out of its root.
inline std::optional<std::string> clean_path(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      path += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const auto parsed = std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16);
    if (parsed.ptr != &text[i + 1] + 2 || value == 0) return std::nullopt;
    path += static_cast<char>(value);
    i += 2;
  }
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view segment = std::string_view(path).substr(at, end - at);
    if (segment == ".." || segment == ".") return std::nullopt;
    at = end + 1;
  }
  return path;
}

inline std::string_view type_of(std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {{".html", "text/html; charset=utf-8"},
                                                                      {".css", "text/css"},
                                                                      {".js", "text/javascript"},
                                                                      {".png", "image/png"},
                                                                      {".json", "application/json"},
                                                                      {".svg", "image/svg+xml"},
                                                                      {".txt", "text/plain; charset=utf-8"}};
  for (const auto& [ending, type] : kTypes)
    if (path.ends_with(ending)) return type;
  return "application/octet-stream";
}

inline Response send_file(const Server& server, std::string_view name) {
  const auto path = clean_path(name);
  if (!path) return refusal(400, "a bad path");
  std::error_code error;
  weft::io::file file = weft::io::open(server.settings.root + "/" + *path, weft::io::mode::read, 0, error);
  std::byte probe;  // a directory can be opened, not read
  if (!error) file.read_at(0, std::span(&probe, 1), error);
  if (error) return refusal(404, "no such file");
  Response response;
  response.type = type_of(*path);
  response.file_size = file.size();
  response.file = std::move(file);
  return response;
}

inline Response handle(const Server& server, const Request& request) {
  const bool get = request.method == "GET" || request.method == "HEAD";
  const bool put = request.method == "POST" || request.method == "PUT";
  if (!get && !put) {
    constexpr std::string_view kKnown[] = {"DELETE", "OPTIONS", "PATCH", "TRACE"};  // CONNECT is for proxies
    if (std::find(std::begin(kKnown), std::end(kKnown), request.method) != std::end(kKnown))
      return not_allowed("GET, HEAD, POST, PUT");
    return refusal(501, "an unknown method");
  }
  std::string_view path = request.target;
  if (const std::size_t scheme = path.find("://"); scheme != std::string_view::npos && path.front() != '/')
    path.remove_prefix(std::min(path.find('/', scheme + 3), path.size()));  // "http://host/path", as to a proxy
  path = path.substr(0, path.find('?'));
  if (!path.empty() && path.front() != '/') return refusal(400, "the target is not a path");

  Response response;
  if (path == "/echo") {
    if (!put) return not_allowed("POST, PUT");
    response.type = "application/octet-stream";
    response.body = request.body;
    return response;
  }
  if (!get) return not_allowed("GET, HEAD");
  if (path == "/" || path.empty()) {
    response.type = "text/html; charset=utf-8";
    response.body = "<!doctype html><title>weft</title><p>Served by a goroutine.\n";
  } else if (path == "/plaintext") {
    response.body = "Hello, World!";
  } else if (const auto lines = number_after(path, "/lines/", 1'000'000)) {
    response.lines = *lines;
  } else if (const auto ms = number_after(path, "/sleep/", 60'000)) {
    weft::select(weft::on_recv(server.ending.done()), weft::on_timeout(std::chrono::milliseconds(*ms)));
    response.body = "slept\n";
  } else if (path.starts_with("/files/") && !server.settings.root.empty()) {
    return send_file(server, path.substr(7));
  } else {
    return refusal(404, "there is no such thing");
  }
  return response;
}

}  // namespace http
