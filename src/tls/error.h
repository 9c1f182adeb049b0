// SPDX-License-Identifier: MIT
#pragma once
#include <openssl/ssl.h>
#include <system_error>

// What OpenSSL says of its failures, as error codes of tls::category(). Its queue of errors belongs to the thread: read
// it on the thread of the call, so before anything that may switch.
namespace weft::tls {

// Of the last call that failed. Errors of the system come in its own category.
std::error_code last_error() noexcept;
// The same for a call on a connection: a refused certificate says what is wrong with it.
std::error_code last_error(const SSL* ssl) noexcept;

}  // namespace weft::tls
