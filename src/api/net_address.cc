// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "api/address_error.h"
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

// A number, or what may be the name of a service. The resolver is asked for names only, because it takes "-1", "+80"
// and "65616" for numbers, and takes what does not fit modulo 65536.
std::error_code check_port(HostAndPort& parts) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (parts.port.empty()) return make_error(AddressError::kForm);
  if (std::any_of(parts.port.begin(), parts.port.end(), is_letter)) return {};
  parts.is_number = true;
  std::uint16_t value = 0;
  const char* end = parts.port.data() + parts.port.size();
  const auto result = std::from_chars(parts.port.data(), end, value);
  if (result.ptr == end && result.ec == std::errc()) return {};
  return make_error(AddressError::kPort);
}

// The interface number of "fe80::1%eth0" or "fe80::1%2".
bool parse_zone(const std::string& zone, std::uint32_t& out) {
  out = if_nametoindex(zone.c_str());
  if (out != 0) return true;
  const char* end = zone.data() + zone.size();
  const auto result = std::from_chars(zone.data(), end, out);
  return !zone.empty() && result.ptr == end && result.ec == std::errc() && out != 0;
}

std::error_code parse_numeric(const Network& network, HostAndPort parts, address& out) {
  if (!parts.is_number) return make_error(AddressError::kNotNumeric);
  std::uint16_t port = 0;
  std::from_chars(parts.port.data(), parts.port.data() + parts.port.size(), port);
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (network.family != AF_INET6 && inet_pton(AF_INET, parts.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    out = {&v4, sizeof v4};
    return {};
  }
  const std::size_t percent = parts.host.find('%');
  if (percent != std::string::npos) {
    if (!parse_zone(parts.host.substr(percent + 1), v6.sin6_scope_id)) return make_error(AddressError::kNotNumeric);
    parts.host.resize(percent);
  }
  if (network.family == AF_INET || inet_pton(AF_INET6, parts.host.c_str(), &v6.sin6_addr) != 1)
    return make_error(AddressError::kNotNumeric);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  out = {&v6, sizeof v6};
  return {};
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

std::error_code split(std::string_view text, HostAndPort& out) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.find('\0') != std::string_view::npos)
    return make_error(AddressError::kForm);
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  // An IPv6 address needs its brackets.
  if (host.find_first_of(bracketed ? "[]" : ":[]") != std::string_view::npos) return make_error(AddressError::kForm);
  out = {std::string(host), std::string(text.substr(colon + 1)), false};
  return check_port(out);
}

bool parse_network(std::string_view name, Network& out) {
  static constexpr struct {
    std::string_view name;
    Network network;
  } kNetworks[] = {
      {"tcp", {AF_UNSPEC, SOCK_STREAM}}, {"tcp4", {AF_INET, SOCK_STREAM}},    {"tcp6", {AF_INET6, SOCK_STREAM}},
      {"udp", {AF_UNSPEC, SOCK_DGRAM}},  {"udp4", {AF_INET, SOCK_DGRAM}},     {"udp6", {AF_INET6, SOCK_DGRAM}},
      {"unix", {AF_UNIX, SOCK_STREAM}},  {"unixgram", {AF_UNIX, SOCK_DGRAM}}, {"unixpacket", {AF_UNIX, SOCK_SEQPACKET}},
  };
  for (const auto& known : kNetworks)
    if (known.name == name) {
      out = known.network;
      return true;
    }
  return false;
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

address parse_address(std::string_view network_name, std::string_view text, std::error_code& error) {
  error.clear();
  Network network;
  address result;
  HostAndPort parts;
  if (!parse_network(network_name, network)) {
    error = make_error(AddressError::kNetwork);
  } else if (network.is_unix()) {
    if (!unix_address(text, result)) error = make_error(AddressError::kPath);
  } else if (error = split(text, parts); !error) {
    error = parse_numeric(network, std::move(parts), result);
  }
  return result;
}

address parse_address(std::string_view network, std::string_view text) {
  std::error_code error;
  const address result = parse_address(network, text, error);
  if (error) detail::throw_io_error(error, ("parse_address " + std::string(network) + " " + std::string(text)).c_str());
  return result;
}

}  // namespace weft::net
