// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::insight {

struct Listener {
  int fd;  // listening, non-blocking
  std::uint16_t port;
  bool loopback;  // only this machine can connect
  std::string shown;  // "127.0.0.1:6060"
};

// "127.0.0.1:6060", "[::1]:0", "localhost:6060", ":6060" (every interface). Numbers and localhost only: no name server is
// asked. Throws std::invalid_argument for what is no address, std::system_error if the system refuses it.
Listener listen_on(std::string_view address);

}  // namespace weft::insight
