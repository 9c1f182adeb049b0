// SPDX-License-Identifier: MIT
#pragma once
#include <weft/net.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

// The server's talk with itself (--self-test). Ends the program by SIGTERM, or with status 1.
namespace http {

inline std::string talk(const std::string& address, std::string_view request, std::size_t piece) {
  weft::net::conn connection = weft::net::dial("tcp", address, std::chrono::seconds(10));
  std::error_code error;
  for (std::size_t at = 0; at < request.size() && !error; at += piece)
    connection.write(request.substr(at, piece), error);
  connection.close_write();
  std::string reply;
  std::array<char, 4096> buffer;
  while (const std::size_t size = connection.read(std::span<char>(buffer))) reply.append(buffer.data(), size);
  return reply;
}

inline void expect(bool holds, std::string_view request, const std::string& reply) {
  if (holds) return;
  std::printf("to %.*s\nthe server said %s\n", static_cast<int>(request.size()), request.data(), reply.c_str());
  std::exit(1);
}

inline void self_test(const std::string& address) {
  constexpr std::string_view kRequests =
      "GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=1\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n"
      "HEAD /lines/3 HTTP/1.1\r\nHost: a\r\n\r\n"
      "GET /lines/3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  for (std::size_t piece = 1; piece <= kRequests.size(); piece += piece < 4 ? 1 : 61) {
    const std::string reply = talk(address, kRequests, piece);
    std::size_t answers = 0, at = 0;
    for (; (at = reply.find("HTTP/1.1 200 OK\r\n", at)) != std::string::npos; ++at) ++answers;
    expect(answers == 4, kRequests, reply);
    expect(reply.find("\r\n\r\nHello, World!HTTP") != std::string::npos, kRequests, reply);
    expect(reply.find("\r\n\r\nabcdeHTTP") != std::string::npos, kRequests, reply);
    expect(reply.ends_with("\r\n\r\n15\r\nline 1\nline 2\nline 3\n\r\n0\r\n\r\n"), kRequests, reply);
  }
  constexpr std::pair<std::string_view, std::string_view> kBad[] = {
      {"GET / HTTP/1.1\r\n\r\n", "400"},
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505"},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", "413"},
  };
  for (const auto& [request, status] : kBad) {
    const std::string reply = talk(address, request, 1000);
    expect(reply.starts_with("HTTP/1.1 " + std::string(status)) && reply.find("Connection: close") != std::string::npos,
           request, reply);
  }
  std::puts("self-test passed");
  std::raise(SIGTERM);
}

}  // namespace http
