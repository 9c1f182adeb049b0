// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "api/socket.h"

namespace weft::net {
namespace {

template <class T>
T as(const address& from) noexcept {
  T value{};
  std::memcpy(&value, from.data(), std::min(sizeof value, from.size()));
  return value;
}

std::string unix_path(const address& from) {
  constexpr std::size_t kPath = offsetof(sockaddr_un, sun_path);
  if (from.size() <= kPath) return {};
  const char* path = static_cast<const char*>(from.data()) + kPath;
  const std::size_t size = from.size() - kPath;
  if (path[0] == '\0') return "@" + std::string(path + 1, size - 1);
  return {path, strnlen(path, size)};
}

}  // namespace

address::address(const void* sockaddr, std::size_t size) : size_(static_cast<std::uint32_t>(size)) {
  if (size > sizeof bytes_) throw std::invalid_argument("weft: address: no socket address is that long");
  std::memcpy(bytes_, sockaddr, size);
}

int address::family() const noexcept {
  return size_ >= sizeof(sa_family_t) ? as<sockaddr_storage>(*this).ss_family : AF_UNSPEC;
}

std::uint16_t address::port() const noexcept {
  if (family() == AF_INET) return ntohs(as<sockaddr_in>(*this).sin_port);
  if (family() == AF_INET6) return ntohs(as<sockaddr_in6>(*this).sin6_port);
  return 0;
}

std::string address::host() const {
  char text[INET6_ADDRSTRLEN + 1] = "";
  if (family() == AF_INET) {
    const auto v4 = as<sockaddr_in>(*this);
    return inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text) != nullptr ? text : "";
  }
  if (family() == AF_INET6) {
    const auto v6 = as<sockaddr_in6>(*this);
    if (inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text) == nullptr) return {};
    std::string result = text;
    if (v6.sin6_scope_id != 0) {
      char name[IF_NAMESIZE];
      result += '%';
      result +=
          if_indextoname(v6.sin6_scope_id, name) != nullptr ? std::string(name) : std::to_string(v6.sin6_scope_id);
    }
    return result;
  }
  return family() == AF_UNIX ? unix_path(*this) : std::string();
}

std::string address::to_string() const {
  if (family() == AF_INET) return host() + ":" + std::to_string(port());
  if (family() == AF_INET6) return "[" + host() + "]:" + std::to_string(port());
  return host();
}

int address::compare(const address& other) const noexcept {
  if (size_ != other.size_) return size_ < other.size_ ? -1 : 1;
  return std::memcmp(bytes_, other.bytes_, size_);
}

bool split(std::string_view text, HostAndPort& out) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    return false;  // an IPv6 address needs its brackets
  }
  out = {std::string(host), std::string(text.substr(colon + 1))};
  return !out.port.empty() && host.find('\0') == std::string_view::npos;
}

bool parse_network(std::string_view name, Network& out) {
  static constexpr struct {
    std::string_view name;
    Network network;
  } kNetworks[] = {
      {"tcp", {AF_UNSPEC, SOCK_STREAM}}, {"tcp4", {AF_INET, SOCK_STREAM}},    {"tcp6", {AF_INET6, SOCK_STREAM}},
      {"udp", {AF_UNSPEC, SOCK_DGRAM}},  {"udp4", {AF_INET, SOCK_DGRAM}},     {"udp6", {AF_INET6, SOCK_DGRAM}},
      {"unix", {AF_UNIX, SOCK_STREAM}},  {"unixgram", {AF_UNIX, SOCK_DGRAM}},
  };
  for (const auto& known : kNetworks)
    if (known.name == name) {
      out = known.network;
      return true;
    }
  return false;
}

void throw_unknown_network(std::string_view name, const char* accepted) {
  throw std::invalid_argument("weft: unknown network '" + std::string(name) + "': use " + accepted);
}

bool unix_address(std::string_view path, address& out) {
  sockaddr_un raw{};
  raw.sun_family = AF_UNIX;
  const bool abstract = !path.empty() && path.front() == '@';
  if (path.empty() || path.size() + (abstract ? 0 : 1) > sizeof raw.sun_path) return false;
  if (!abstract && path.find('\0') != std::string_view::npos) return false;
  std::memcpy(raw.sun_path, path.data(), path.size());
  if (abstract) raw.sun_path[0] = '\0';
  out = address(&raw, offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1));
  return true;
}

address parse_address(std::string_view network_name, std::string_view text) {
  Network network;
  if (!parse_network(network_name, network))
    throw_unknown_network(network_name, "tcp, udp (with 4 or 6), unix or unixgram");
  address result;
  if (network.is_unix()) {
    if (!unix_address(text, result))
      throw std::invalid_argument("weft: '" + std::string(text) + "' is no path for a socket");
    return result;
  }
  HostAndPort parts;
  std::uint16_t port = 0;
  const bool whole = split(text, parts);
  const char* end = parts.port.data() + parts.port.size();
  const auto number = std::from_chars(parts.port.data(), end, port);
  if (whole && number.ptr == end && number.ec == std::errc()) {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    if (network.family != AF_INET6 && inet_pton(AF_INET, parts.host.c_str(), &v4.sin_addr) == 1) {
      v4.sin_family = AF_INET;
      v4.sin_port = htons(port);
      return {&v4, sizeof v4};
    }
    const std::size_t percent = parts.host.find('%');
    if (percent != std::string::npos) {
      const std::string scope = parts.host.substr(percent + 1);
      v6.sin6_scope_id = if_nametoindex(scope.c_str());
      if (v6.sin6_scope_id == 0) std::from_chars(scope.data(), scope.data() + scope.size(), v6.sin6_scope_id);
      parts.host.resize(percent);
    }
    if (network.family != AF_INET && inet_pton(AF_INET6, parts.host.c_str(), &v6.sin6_addr) == 1) {
      v6.sin6_family = AF_INET6;
      v6.sin6_port = htons(port);
      return {&v6, sizeof v6};
    }
  }
  throw std::invalid_argument("weft: '" + std::string(text) + "' is no numeric address of " +
                              std::string(network_name) + ": expected 127.0.0.1:80 or [::1]:80");
}

}  // namespace weft::net
