// SPDX-License-Identifier: MIT
#include "tls/error.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <string>

#include "weft/tls.h"

namespace weft::tls {
namespace {

class Category : public std::error_category {
 public:
  const char* name() const noexcept override { return "weft tls"; }
  std::string message(int value) const override {
    if (value < 0) return std::string("the peer's certificate is refused: ") + X509_verify_cert_error_string(-value);
    switch (static_cast<errc>(value)) {
      case errc::truncated: return "the peer ended the connection without close_notify: data may be missing";
      case errc::protocol:  return "TLS cannot do this in the connection's present state";
    }
    const char* reason = ERR_reason_error_string(static_cast<unsigned long>(value));
    return reason != nullptr ? reason : "OpenSSL error " + std::to_string(value);
  }
};

}  // namespace

const std::error_category& category() noexcept {
  static const Category category;
  return category;
}

std::error_code last_error() noexcept {
  const unsigned long code = ERR_peek_error();
  if (code == 0) return errc::truncated;
  if (ERR_SYSTEM_ERROR(code)) return {ERR_GET_REASON(code), std::system_category()};
  return {static_cast<int>(code & 0x7FFF'FFFF), category()};
}

std::error_code last_error(const SSL* ssl) noexcept {
  const unsigned long code = ERR_peek_error();
  const bool is_refused = ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  const long verified = SSL_get_verify_result(ssl);
  if (is_refused && verified != X509_V_OK) return {static_cast<int>(-verified), category()};
  return last_error();
}

}  // namespace weft::tls
