// SPDX-License-Identifier: MIT
#pragma once
#include <system_error>

namespace weft::net {

// Why a text names no network, no host or no socket. Each code equals std::errc::invalid_argument.
// detail::throw_io_error() throws it as std::invalid_argument, because the caller is at fault, not the network.
enum class AddressError {
  kNetwork = 1,    // of dial, parse_address
  kStreamNetwork,  // of listen
  kPacketNetwork,  // of listen_packet
  kForm,           // not host:port
  kPort,           // out of range, or neither a number nor a name
  kPath,           // too long, empty, with a null byte
  kName,           // of a host: empty, with a null byte
  kNotNumeric,     // for parse_address
};

const std::error_category& address_category() noexcept;
inline std::error_code make_error(AddressError error) noexcept { return {static_cast<int>(error), address_category()}; }

}  // namespace weft::net
