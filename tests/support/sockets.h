// SPDX-License-Identifier: MIT
#pragma once
#include <unistd.h>
#include <weft/net.h>

#include <array>
#include <atomic>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "support/runtime_test.h"

// What tests of sockets share.
namespace weft::test {

namespace net = weft::net;

class Net : public RuntimeTest {
 protected:
  using RuntimeTest::RuntimeTest;
  void TearDown() override {
    RuntimeTest::TearDown();
    EXPECT_LE(count_descriptors(), descriptors_ + 2) << "descriptors are left";  // the poller and its bell, made once
  }

 private:
  int descriptors_ = count_descriptors();
};
inline std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

struct Pair {
  net::conn client, server;
};

inline std::string unix_name() {
  static std::atomic<int> number{0};
  return "@weft-test-" + std::to_string(getpid()) + "-" + std::to_string(++number);
}

inline Pair connect_pair(const std::string& network = "tcp") {
  net::listener listener = net::listen(network, network == "unix" ? unix_name() : "127.0.0.1:0");
  auto client = weft::spawn([&] { return net::dial(network, listener.address().to_string()); });
  Pair pair;
  pair.server = listener.accept();
  pair.client = client.join();
  return pair;
}

inline std::error_code error_of_read(net::conn& connection) {
  std::array<std::byte, 64> buffer;
  std::error_code error;
  connection.read(buffer, error);
  return error;
}

}  // namespace weft::test
