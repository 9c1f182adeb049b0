// SPDX-License-Identifier: MIT
#include "tls/engine.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <new>
#include <utility>

#include "tls/error.h"
#include "weft/go.h"

namespace weft::tls {
namespace {

constexpr std::size_t kIncoming = 17 << 10;  // a record of the largest size, and its frame
constexpr std::size_t kBatch = 64 << 10;     // so much is encrypted before it is sent
constexpr auto kGoodbye = std::chrono::milliseconds(100);

std::error_code system_error(int number) noexcept { return {number, std::system_category()}; }

bool is_ip_address(const std::string& name) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, name.c_str(), bytes) == 1 || inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

}  // namespace

// The right to use one side of the transport.
class Engine::Turn {
 public:
  Turn(weighted_semaphore& of, const context* ctx, std::error_code& error) : of_(of) {
    if (ctx == nullptr) {
      of_.acquire();
      has_ = true;
    } else if (!(has_ = of_.acquire(*ctx))) {
      error = ctx->err();
    }
  }
  ~Turn() {
    if (has_) of_.release();
  }
  Turn(const Turn&) = delete;
  explicit operator bool() const noexcept { return has_; }

 private:
  weighted_semaphore& of_;
  bool has_ = false;
};

Engine::Engine(net::conn&& transport, std::shared_ptr<Credentials> credentials, role as, const std::string& server_name,
               std::string session_key)
    : credentials_(std::move(credentials)), session_key_(std::move(session_key)) {
  const no_preempt on_one_thread;
  ERR_clear_error();
  ssl_ = SSL_new(credentials_->get());
  received_ = BIO_new(BIO_s_mem());
  made_ = BIO_new(BIO_s_mem());
  if (ssl_ == nullptr || received_ == nullptr || made_ == nullptr) {
    SSL_free(ssl_);
    BIO_free(received_);
    BIO_free(made_);
    throw std::bad_alloc();
  }
  BIO_set_mem_eof_return(received_, -1);  // empty means "not yet"
  BIO_set_mem_eof_return(made_, -1);
  SSL_set_bio(ssl_, received_, made_);
  SSL_set_app_data(ssl_, this);
  if (as == role::server) {
    SSL_set_accept_state(ssl_);
  } else {
    SSL_set_connect_state(ssl_);
    if (!server_name.empty()) set_peer_name(server_name, credentials_->verifies());
    if (SSL_SESSION* session = credentials_->take_session(session_key_)) {
      SSL_set_session(ssl_, session);
      SSL_SESSION_free(session);
    }
  }
  transport_ = std::move(transport);
}

Engine::~Engine() {
  close();
  SSL_free(ssl_);
}

void Engine::set_peer_name(const std::string& name, bool verify) {
  const bool is_ip = is_ip_address(name);
  if (!is_ip) SSL_set_tlsext_host_name(ssl_, name.c_str());
  if (!verify) return;
  SSL_set_hostflags(ssl_, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const int set =
      is_ip ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), name.c_str()) : SSL_set1_host(ssl_, name.c_str());
  if (set == 1) return;
  SSL_free(std::exchange(ssl_, nullptr));
  throw std::system_error(last_error(), "weft: tls: '" + name + "' is no name of a server");
}

int Engine::keep(SSL* ssl, SSL_SESSION* session) {
  auto* engine = static_cast<Engine*>(SSL_get_app_data(ssl));
  if (engine->session_key_.empty() || SSL_SESSION_is_resumable(session) != 1) return 0;
  engine->credentials_->keep_session(engine->session_key_, session);
  return 1;
}

// One call of OpenSSL: f(SSL*, size_t*) returns 1 and a size, or fails.
template <class F>
Engine::Outcome Engine::call(F f) {
  const std::lock_guard guard(lock_);
  const no_preempt on_one_thread;
  if (failure_) return {0, SSL_ERROR_SSL, failure_};
  ERR_clear_error();
  std::size_t size = 0;
  const int result = f(ssl_, &size);
  if (result > 0) return {size, SSL_ERROR_NONE, {}};
  const int why = SSL_get_error(ssl_, result);
  if (why == SSL_ERROR_SSL || why == SSL_ERROR_SYSCALL) failure_ = last_error(ssl_);
  return {0, why, failure_};
}

bool Engine::fail(const Outcome& outcome, std::error_code& error) {
  error = outcome.error ? outcome.error : make_error_code(errc::protocol);
  return false;
}

// Waits for ciphertext. With the reading turn.
bool Engine::feed(const context* ctx, std::error_code& error) {
  if (incoming_ == nullptr) incoming_ = std::make_unique_for_overwrite<std::byte[]>(kIncoming);
  const std::span<std::byte> room(incoming_.get(), kIncoming);
  const std::size_t size = ctx != nullptr ? transport_.read(*ctx, room, error) : transport_.read(room, error);
  if (error) return false;
  if (size == 0) {
    error = errc::truncated;
    return false;
  }
  const std::lock_guard guard(lock_);
  const no_preempt on_one_thread;
  if (BIO_write(received_, incoming_.get(), static_cast<int>(size)) == static_cast<int>(size)) return true;
  error = system_error(ENOMEM);
  return false;
}

std::size_t Engine::output_size() {
  const std::lock_guard guard(lock_);
  return BIO_ctrl_pending(made_);
}

void Engine::take_output() {
  const std::lock_guard guard(lock_);
  const no_preempt on_one_thread;
  const std::size_t size = BIO_ctrl_pending(made_), before = outgoing_.size();
  if (size == 0) return;
  outgoing_.resize(before + size);
  BIO_read(made_, outgoing_.data() + before, static_cast<int>(std::min(size, std::size_t{INT32_MAX})));
}

// Sends what there is. With the writing turn.
bool Engine::flush(const context* ctx, std::error_code& error) {
  for (;;) {
    take_output();
    if (outgoing_.empty()) return true;
    const std::size_t sent =
        ctx != nullptr ? transport_.write_all(*ctx, outgoing_, error) : transport_.write_all(outgoing_, error);
    outgoing_.erase(outgoing_.begin(), outgoing_.begin() + static_cast<std::ptrdiff_t>(sent));
    if (error) return false;
    if (outgoing_.capacity() > 4 * kBatch) outgoing_.shrink_to_fit();
  }
}

void Engine::flush_if_free(const context* ctx) {
  while (output_size() != 0 && writing_.try_acquire()) {
    std::error_code error;
    const bool sent = flush(ctx, error);
    writing_.release();
    if (!sent) return;  // the next write meets the error, too
  }
}

// All that such a server has left to send is tickets for later sessions. They go with its first write, because a client
// that writes first may not read yet.
bool Engine::leaves_tickets() {
  return inspect([](SSL* ssl) { return SSL_is_server(ssl) == 1 && SSL_version(ssl) == TLS1_3_VERSION; });
}

bool Engine::shake_hands(const context* ctx, std::error_code& error) {
  error.clear();
  if (!transport_.is_open()) error = system_error(EBADF);
  if (error || is_shaken()) return !error;
  const Turn turn(shaking_, ctx, error);
  if (!turn) return false;
  while (!is_shaken()) {
    const Outcome outcome = call([](SSL* ssl, std::size_t*) { return SSL_do_handshake(ssl); });
    std::error_code unsent;
    if (outcome.why != SSL_ERROR_NONE || !leaves_tickets()) flush(ctx, unsent);  // an alert, too
    if (outcome.why == SSL_ERROR_SSL || outcome.why == SSL_ERROR_SYSCALL) return fail(outcome, error);
    if (unsent) {
      error = unsent;
      return false;
    }
    if (outcome.why == SSL_ERROR_NONE) {
      shaken_.store_release(true);  // pairs: tls.shaken
    } else if (outcome.why != SSL_ERROR_WANT_READ) {
      return fail(outcome, error);
    } else if (!feed(ctx, error)) {
      return false;
    }
  }
  return true;
}

std::size_t Engine::read(const context* ctx, std::span<std::byte> buffer, std::error_code& error) {
  if (!shake_hands(ctx, error) || buffer.empty()) return 0;
  const Turn turn(reading_, ctx, error);
  if (!turn) return 0;
  for (;;) {
    const Outcome outcome =
        call([&](SSL* ssl, std::size_t* size) { return SSL_read_ex(ssl, buffer.data(), buffer.size(), size); });
    if (outcome.why == SSL_ERROR_NONE) return outcome.size;
    if (outcome.why == SSL_ERROR_ZERO_RETURN) return 0;  // close_notify
    if (outcome.why != SSL_ERROR_WANT_READ) {
      flush_if_free(ctx);  // the alert
      fail(outcome, error);
      return 0;
    }
    if (output_size() > kBatch) flush_if_free(ctx);
    if (!feed(ctx, error)) return 0;
  }
}

// Encrypts all of the data, and sends when there is enough of it.
bool Engine::put(const context* ctx, std::span<const std::byte> data, std::size_t& done, std::size_t& unsent,
                 std::error_code& error) {
  while (!data.empty()) {
    const Outcome outcome = call([&](SSL* ssl, std::size_t* size) {
      return SSL_write_ex(ssl, data.data(), std::min(data.size(), std::size_t{SSL3_RT_MAX_PLAIN_LENGTH}), size);
    });
    if (outcome.why != SSL_ERROR_NONE) return fail(outcome, error);
    done += outcome.size;
    unsent += outcome.size;
    data = data.subspan(outcome.size);
    if (unsent < kBatch) continue;
    if (!flush(ctx, error)) return false;
    unsent = 0;
  }
  return true;
}

std::size_t Engine::write(const context* ctx, std::span<const std::span<const std::byte>> buffers,
                          std::error_code& error) {
  std::size_t done = 0;
  if (!shake_hands(ctx, error)) return 0;
  {
    const Turn turn(writing_, ctx, error);
    if (!turn || !flush(ctx, error)) return 0;
    if (inspect([](SSL* ssl) { return (SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN) != 0; })) {
      error = system_error(EPIPE);
      return 0;
    }
    std::size_t unsent = 0;
    for (const auto& each : buffers)
      if (!put(ctx, each, done, unsent, error)) return done;
    if (!flush(ctx, error)) return done;
  }
  flush_if_free(ctx);
  return done;
}

namespace {
void say_goodbye(SSL* ssl) {
  if ((SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN) == 0) SSL_shutdown(ssl);
  ERR_clear_error();
}
}  // namespace

void Engine::close_write(std::error_code& error) {
  if (!shake_hands(nullptr, error)) return;
  const Turn turn(writing_, nullptr, error);
  inspect([&](SSL* ssl) { return failure_ ? void(error = failure_) : say_goodbye(ssl); });
  if (!error) flush(nullptr, error);
}

void Engine::close() {
  if (!transport_.is_open()) return;
  if (is_shaken() && writing_.try_acquire()) {
    inspect([&](SSL* ssl) { return failure_ ? void() : say_goodbye(ssl); });
    transport_.set_write_deadline(std::chrono::steady_clock::now() + kGoodbye);
    std::error_code ignored;
    flush(nullptr, ignored);
    writing_.release();
  }
  transport_.close();
}

}  // namespace weft::tls
