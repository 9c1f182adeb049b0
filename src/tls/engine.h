// SPDX-License-Identifier: MIT
#pragma once
#include <openssl/ssl.h>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/atomic.h"
#include "tls/credentials.h"
#include "weft/go.h"
#include "weft/mutex.h"
#include "weft/net.h"
#include "weft/tls.h"
#include "weft/weighted_semaphore.h"

// One TLS connection.
//   Job        OpenSSL computes, net::conn waits. OpenSSL reads ciphertext from one buffer in memory and writes it to
//              another, so none of its calls ever blocks; the engine carries the buffers' bytes to and from the
//              transport.
//   Locks      `lock_` guards OpenSSL's objects and is never held while the transport waits. A call inside it does not
//              leave its thread (no_preempt), because OpenSSL keeps its errors by thread.
//   Turns      Whoever reads from the transport has the reading turn, whoever writes to it has the writing turn. So
//              records reach the peer in the order in which they were made. Before the handshake is done only the
//              holder of the shaking turn does either.
//   Invariant  What OpenSSL has made is either in its buffer, or in `outgoing_` and belongs to the writing turn. Nothing
//              is dropped when a write ends early, so after a time limit the stream is still whole.
//   Reading    never waits for the peer to read: what it makes (answers to new keys) goes with the next write. Only an
//              alert, or too much of it, is sent at once, if the writing turn is free; else its holder sends it, who
//              looks again after giving the turn back.
//   Rejected   A BIO over net::conn: its calls would park below OpenSSL, under `lock_`, and reading would keep writers
//              out. SSL_set_fd with wait_readable: the same lock, and no net::pipe().
namespace weft::tls {

class Engine {
 public:
  Engine(net::conn&& transport, std::shared_ptr<Credentials> credentials, role as, const std::string& server_name,
         std::string session_key);
  ~Engine();
  Engine(const Engine&) = delete;

  bool shake_hands(const context* ctx, std::error_code& error);
  std::size_t read(const context* ctx, std::span<std::byte> buffer, std::error_code& error);
  std::size_t write(const context* ctx, std::span<const std::span<const std::byte>> buffers, std::error_code& error);
  void close_write(std::error_code& error);
  void close();
  net::conn& transport() noexcept { return transport_; }
  // Calls f(SSL*) under the lock.
  template <class F>
  auto inspect(F f) {
    const std::lock_guard guard(lock_);
    const no_preempt on_one_thread;
    return f(ssl_);
  }
  static int keep(SSL* ssl, SSL_SESSION* session);  // OpenSSL's callback for a new session

 private:
  struct Outcome {
    std::size_t size;
    int why;                // SSL_ERROR_NONE, SSL_ERROR_WANT_READ, ...
    std::error_code error;  // of SSL_ERROR_SSL and SSL_ERROR_SYSCALL
  };
  class Turn;
  bool is_shaken() const noexcept { return shaken_.load_acquire(); }  // pairs: tls.shaken
  template <class F>
  Outcome call(F f);
  void set_peer_name(const std::string& name, bool verify);
  bool fail(const Outcome& outcome, std::error_code& error);
  bool feed(const context* ctx, std::error_code& error);
  bool flush(const context* ctx, std::error_code& error);
  void flush_if_free(const context* ctx);
  std::size_t output_size();
  bool leaves_tickets();
  void take_output();
  bool put(const context* ctx, std::span<const std::byte> data, std::size_t& done, std::size_t& unsent,
           std::error_code& error);

  net::conn transport_;
  const std::shared_ptr<Credentials> credentials_;
  const std::string session_key_;
  mutex lock_{"tls::conn"};
  SSL* ssl_ = nullptr;
  BIO* received_ = nullptr;  // belong to ssl_
  BIO* made_ = nullptr;
  std::error_code failure_;  // after it nothing works any more; guarded by the lock
  weighted_semaphore shaking_{1, "the handshake of a tls::conn"}, reading_{1, "the reading side of a tls::conn"},
      writing_{1, "the writing side of a tls::conn"};
  // The handshake is done. Its store publishes what the holder of the shaking turn has left to the other turns.
  base::Atom<bool> shaken_{false};
  std::vector<std::byte> outgoing_;        // guarded by the writing turn, or the shaking turn before
  std::unique_ptr<std::byte[]> incoming_;  // the same for reading
};

}  // namespace weft::tls
