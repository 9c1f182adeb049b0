// SPDX-License-Identifier: MIT
#pragma once
#include <weft/tls.h>

#include <string>
#include <utility>

#include "support/sockets.h"
#include "tls/certificates.h"

// What tests of TLS share.
namespace weft::test {

namespace tls = weft::tls;

class Tls : public Net {
 public:
  static const Certificates& made() {
    static const Certificates certificates;
    return certificates;
  }
  static tls::config server_config(const std::string& name = "good") {
    tls::config settings;
    settings.certificate = made().certificate(name);
    settings.key = made().key(name);
    return settings;
  }
  static tls::config client_config() {
    tls::config settings;
    settings.ca_file = made().certificate("authority");
    settings.server_name = "localhost";
    return settings;
  }

 protected:
  Tls() { made(); }
};

struct TlsPair {
  tls::conn client, server;
};

struct Ends {
  net::conn client, server;
};
inline Ends plain_ends(bool in_memory) {
  Ends ends;
  if (in_memory) {
    std::tie(ends.client, ends.server) = net::pipe();
  } else {
    Pair pair = connect_pair();
    ends = {std::move(pair.client), std::move(pair.server)};
  }
  return ends;
}

// Both ends, not yet shaken.
inline TlsPair raw_pair(const tls::config& client, const tls::config& server, bool in_memory = false) {
  Ends ends = plain_ends(in_memory);
  return {tls::conn(std::move(ends.client), client, tls::role::client),
          tls::conn(std::move(ends.server), server, tls::role::server)};
}

struct Errors {
  std::error_code client, server;
};

// Shakes hands, and exchanges a byte each way, in turn, because with TLS 1.3 a client learns only then that it is refused.
inline Errors greet(TlsPair& pair) {
  Errors errors;
  const auto receive = [](tls::conn& end, std::error_code& error) {
    char byte[1];
    if (!error && end.read(byte, error) == 0 && !error) error = tls::errc::truncated;
  };
  auto server = weft::spawn([&] {
    pair.server.handshake(errors.server);
    receive(pair.server, errors.server);
    if (!errors.server) pair.server.write("x", errors.server);
    if (errors.server) pair.server.close();
  });
  pair.client.handshake(errors.client);
  if (!errors.client) pair.client.write("x", errors.client);
  receive(pair.client, errors.client);
  if (errors.client) pair.client.close();
  server.join();
  return errors;
}

inline TlsPair tls_pair(bool in_memory = false) {
  TlsPair pair = raw_pair(Tls::client_config(), Tls::server_config(), in_memory);
  const Errors errors = greet(pair);
  EXPECT_FALSE(errors.client) << errors.client.message();
  EXPECT_FALSE(errors.server) << errors.server.message();
  return pair;
}

}  // namespace weft::test
