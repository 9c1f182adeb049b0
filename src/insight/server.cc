// SPDX-License-Identifier: MIT
#include <sys/random.h>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "api/start.h"
#include "insight/address.h"
#include "insight/http_server.h"
#include "insight/site.h"
#include "weft/debug.h"

namespace weft::debug {
namespace {

std::string random_token() {
  unsigned char bytes[16] = {};
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) std::abort();
  std::string token;
  char digits[3];
  for (const unsigned char byte : bytes) token += (std::snprintf(digits, sizeof digits, "%02x", byte), digits);
  return token;
}

// Empty: no token is demanded.
std::string token_for(const insight::Listener& listener) {
  const char* wanted = std::getenv("WEFT_DEBUG_TOKEN");
  if (wanted != nullptr && *wanted != '\0') return wanted;
  if (listener.loopback) return {};
  std::string token = random_token();
  std::fprintf(stderr, "weft: debug server on http://%s/?token=%s\n", listener.shown.c_str(), token.c_str());
  return token;
}

}  // namespace

struct server::state {
  state(const insight::Listener& listener)
      : port(listener.port), http(listener.fd, insight::make_site(token_for(listener))) {}
  std::uint16_t port;
  insight::HttpServer http;
};

server::server() noexcept = default;
server::server(server&&) noexcept = default;
server& server::operator=(server&&) noexcept = default;
server::~server() = default;
std::uint16_t server::port() const noexcept { return state_ != nullptr ? state_->port : 0; }
void server::stop() { state_.reset(); }

server serve(std::string_view address) {
  api::ensure_started();
  server started;
  started.state_ = std::make_unique<server::state>(insight::listen_on(address));
  return started;
}

}  // namespace weft::debug
