// SPDX-License-Identifier: MIT
#pragma once
#include <weft/weft.h>

#include <atomic>
#include <chrono>
#include <string>

// What all connections of the HTTP server share.
namespace http {

struct Settings {
  std::string address = "127.0.0.1:8080", root, certificate, key;
  std::chrono::milliseconds idle{60'000}, slow{10'000}, grace{10'000}, unread{30'000};
  long connections = 10000;
};

struct Server {
  Settings settings;
  weft::context stopping = weft::context::background();  // no further requests
  weft::context ending = weft::context::background();    // nothing further at all
  std::atomic<long> requests{0}, refused{0};
};

}  // namespace http
