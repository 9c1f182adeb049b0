// SPDX-License-Identifier: MIT
#include "insight/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace weft::insight {
namespace {

[[noreturn]] void refuse(std::string_view address) {
  throw std::invalid_argument("weft: debug::serve: \"" + std::string(address) +
                              "\" is no address; expected HOST:PORT, such as 127.0.0.1:6060 or [::1]:0");
}

struct Parsed {
  sockaddr_storage storage{};
  socklen_t size = 0;
  bool loopback = false;
};

Parsed parse(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) refuse(address);
  std::string host(address.substr(0, colon));
  const std::string_view digits = address.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) refuse(address);
  if (host == "localhost") host = "127.0.0.1";
  if (host.empty()) host = "0.0.0.0";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  Parsed parsed;
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    parsed.loopback = ntohl(four.sin_addr.s_addr) >> 24 == 127;
    std::memcpy(&parsed.storage, &four, parsed.size = sizeof four);
  } else if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    parsed.loopback = IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
    std::memcpy(&parsed.storage, &six, parsed.size = sizeof six);
  } else {
    refuse(address);
  }
  return parsed;
}

}  // namespace

Listener listen_on(std::string_view address) {
  Parsed parsed = parse(address);
  auto* raw = reinterpret_cast<sockaddr*>(&parsed.storage);
  const int fd = socket(parsed.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd < 0 || bind(fd, raw, parsed.size) != 0 || listen(fd, 128) != 0 || getsockname(fd, raw, &parsed.size) != 0) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    throw std::system_error(error, std::generic_category(), "weft: debug::serve: cannot listen on " + std::string(address));
  }
  const bool is_six = parsed.storage.ss_family == AF_INET6;
  const auto* six = reinterpret_cast<const sockaddr_in6*>(raw);
  const auto* four = reinterpret_cast<const sockaddr_in*>(raw);
  char host[INET6_ADDRSTRLEN] = {};
  inet_ntop(parsed.storage.ss_family, is_six ? static_cast<const void*>(&six->sin6_addr) : &four->sin_addr, host, sizeof host);
  const std::uint16_t port = ntohs(is_six ? six->sin6_port : four->sin_port);
  const std::string shown = (is_six ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::to_string(port);
  return {fd, port, parsed.loopback, shown};
}

}  // namespace weft::insight
