// SPDX-License-Identifier: MIT
#pragma once
#include <openssl/ssl.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>

#include "weft/tls.h"

namespace weft::tls {

// What the connections of one config share: certificates, trust, and the sessions that a client may continue.
//   Sharing    Reading the system's certificates takes milliseconds, so clients with equal configs share one object, as
//              long as the files are the same (size, time and inode). A listener has its own.
//   Locks      `mutex_` is a thread's lock, because OpenSSL's callbacks take it too, and a goroutine holds it only where
//              it cannot be preempted.
class Credentials {
 public:
  // Throws std::system_error, or std::invalid_argument for a server without a certificate.
  static std::shared_ptr<Credentials> of(const config& settings, role as);

  Credentials(const config& settings, role as);
  ~Credentials();
  Credentials(const Credentials&) = delete;

  SSL_CTX* get() const noexcept { return context_; }
  bool verifies() const noexcept { return verifies_; }
  // The session to continue with the peer of that name; null: none. Each is taken once, as TLS 1.3 wants it.
  SSL_SESSION* take_session(const std::string& peer);
  void keep_session(const std::string& peer, SSL_SESSION* session);  // takes over a reference

 private:
  void trust(const config& settings);
  void show_certificate(const config& settings);
  static int select_protocol(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_size,
                             const unsigned char* offered, unsigned offered_size, void* credentials);
  SSL_CTX* context_ = nullptr;
  const bool is_client_, verifies_;
  std::string protocols_;  // each with its length before it
  std::mutex mutex_;
  std::map<std::string, SSL_SESSION*> sessions_;
};

}  // namespace weft::tls
