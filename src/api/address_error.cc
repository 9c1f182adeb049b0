// SPDX-License-Identifier: MIT
#include "api/address_error.h"

#include <string>

namespace weft::net {
namespace {

class Category : public std::error_category {
 public:
  const char* name() const noexcept override { return "weft address"; }
  std::string message(int value) const override {
    switch (static_cast<AddressError>(value)) {
      case AddressError::kNetwork:
        return "unknown network: use tcp, tcp4, tcp6, udp, udp4, udp6, unix, unixgram or unixpacket";
      case AddressError::kStreamNetwork: return "no network to listen on: use tcp, tcp4, tcp6, unix or unixpacket";
      case AddressError::kPacketNetwork: return "no network of datagrams: use udp, udp4, udp6 or unixgram";
      case AddressError::kForm:          return "no address: expected host:port, [::1]:port or :port";
      case AddressError::kPort:          return "no port: expected a number from 0 to 65535, or the name of a service";
      case AddressError::kPath:          return "no path for a socket: expected 1 to 107 bytes, or @name";
      case AddressError::kName:          return "no name of a host: it is empty or contains a null byte";
      case AddressError::kNotNumeric:    return "no numeric address: expected 127.0.0.1:80 or [::1]:80";
    }
    return "no address";
  }
  std::error_condition default_error_condition(int) const noexcept override { return std::errc::invalid_argument; }
};

}  // namespace

const std::error_category& address_category() noexcept {
  static const Category category;
  return category;
}

}  // namespace weft::net
