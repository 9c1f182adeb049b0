// SPDX-License-Identifier: MIT
#include <openssl/pem.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <vector>

#include "tls/credentials.h"
#include "tls/engine.h"
#include "tls/error.h"
#include "weft/detail/io_handle.h"
#include "weft/go.h"
#include "weft/tls.h"

namespace weft::tls {
namespace {

std::error_code closed() noexcept { return {EBADF, std::system_category()}; }

// Calls the form with an error_code, and throws what that reports.
template <class Call>
auto throwing(const char* what, Call call) {
  std::error_code error;
  auto result = call(error);
  detail::throw_if(error, what);
  return result;
}

std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

}  // namespace

conn::conn() noexcept = default;
conn::conn(std::unique_ptr<Engine> engine) noexcept : engine_(std::move(engine)) {}
conn::conn(conn&& other) noexcept = default;
conn& conn::operator=(conn&& other) noexcept = default;
conn::~conn() = default;

conn::conn(net::conn&& transport, const config& settings, tls::role as) {
  if (as == role::client && settings.verify && settings.server_name.empty())
    throw std::invalid_argument(
        "weft: tls::conn: a client needs server_name in its config, to know whose certificate it wants");
  auto credentials = Credentials::of(settings, as);
  engine_ = std::make_unique<Engine>(std::move(transport), std::move(credentials), as, settings.server_name,
                                     settings.server_name);
}

void conn::shake_hands(const context* ctx, std::error_code& error) {
  if (engine_ == nullptr) {
    error = closed();
  } else {
    engine_->shake_hands(ctx, error);
  }
}

void conn::handshake() {
  std::error_code error;
  shake_hands(nullptr, error);
  detail::throw_if(error, "TLS handshake");
}
void conn::handshake(const context& ctx) {
  std::error_code error;
  shake_hands(&ctx, error);
  detail::throw_if(error, "TLS handshake");
}

std::size_t conn::read_some(const context* ctx, std::span<std::byte> buffer, std::error_code& error) {
  if (engine_ != nullptr) return engine_->read(ctx, buffer, error);
  error = closed();
  return 0;
}

std::size_t conn::fill(const context* ctx, std::span<std::byte> buffer, std::error_code& error) {
  std::size_t done = 0;
  error.clear();
  while (done < buffer.size() && !error) {
    const std::size_t size = read_some(ctx, buffer.subspan(done), error);
    if (size == 0) break;
    done += size;
  }
  return done;
}

// Into the first buffer that has room: a record seldom fills more.
std::size_t conn::read_vectors(const context* ctx, std::span<const std::span<std::byte>> buffers,
                               std::error_code& error) {
  for (const auto& each : buffers)
    if (!each.empty()) return read_some(ctx, each, error);
  return read_some(ctx, {}, error);
}

std::size_t conn::write_vectors(const context* ctx, std::span<const std::span<const std::byte>> buffers,
                                std::error_code& error) {
  if (engine_ != nullptr) return engine_->write(ctx, buffers, error);
  error = closed();
  return 0;
}

std::uint64_t conn::send_part(const context* ctx, int file, std::uint64_t offset, std::uint64_t count,
                              std::error_code& error) {
  std::vector<std::byte> block(std::min<std::uint64_t>(count, 64 << 10));
  std::uint64_t done = 0;
  error.clear();
  while (done < count && !error) {
    const std::size_t part = std::min<std::uint64_t>(count - done, block.size());
    const auto at = static_cast<off_t>(offset + done);
    const auto [size, number] = blocking([&] {
      const ssize_t got = pread(file, block.data(), part, at);
      return std::pair(got, got < 0 ? errno : 0);
    });
    if (number == EINTR) continue;
    if (size < 0) error = {number, std::system_category()};
    if (size <= 0) break;  // the file's end
    done += write_whole(ctx, std::span(block).first(static_cast<std::size_t>(size)), error);
  }
  return done;
}

std::size_t conn::read(detail::bytes_to_fill buffer) {
  return throwing("read", [&](auto& error) { return read(buffer, error); });
}
std::size_t conn::read(const context& ctx, detail::bytes_to_fill buffer) {
  return throwing("read", [&](auto& error) { return read(ctx, buffer, error); });
}
std::size_t conn::read_full(detail::bytes_to_fill buffer) {
  return throwing("read", [&](auto& error) { return read_full(buffer, error); });
}
std::size_t conn::read_full(const context& ctx, detail::bytes_to_fill buffer) {
  return throwing("read", [&](auto& error) { return read_full(ctx, buffer, error); });
}
std::size_t conn::readv(std::span<const std::span<std::byte>> buffers) {
  return throwing("readv", [&](auto& error) { return readv(buffers, error); });
}
std::size_t conn::readv(const context& ctx, std::span<const std::span<std::byte>> buffers) {
  return throwing("readv", [&](auto& error) { return readv(ctx, buffers, error); });
}
void conn::write_all(detail::bytes_to_write data) {
  throwing("write", [&](auto& error) { return write_all(data, error); });
}
void conn::write_all(const context& ctx, detail::bytes_to_write data) {
  throwing("write", [&](auto& error) { return write_all(ctx, data, error); });
}
void conn::writev(std::span<const std::span<const std::byte>> buffers) {
  throwing("writev", [&](auto& error) { return writev(buffers, error); });
}
void conn::writev(const context& ctx, std::span<const std::span<const std::byte>> buffers) {
  throwing("writev", [&](auto& error) { return writev(ctx, buffers, error); });
}
std::uint64_t conn::send_file(int file, std::uint64_t offset, std::uint64_t count) {
  return throwing("send_file", [&](auto& error) { return send_file(file, offset, count, error); });
}
std::uint64_t conn::send_file(const context& ctx, int file, std::uint64_t offset, std::uint64_t count) {
  return throwing("send_file", [&](auto& error) { return send_file(ctx, file, offset, count, error); });
}

net::conn& conn::transport() const {
  if (engine_ == nullptr) detail::throw_io_error(closed(), "tls::conn");
  return engine_->transport();
}

void conn::set_deadline(time_point when) {
  if (engine_ != nullptr) transport().set_deadline(when);
}
void conn::set_read_deadline(time_point when) {
  if (engine_ != nullptr) transport().set_read_deadline(when);
}
void conn::set_write_deadline(time_point when) {
  if (engine_ != nullptr) transport().set_write_deadline(when);
}

void conn::close_write() {
  std::error_code error = closed();
  if (engine_ != nullptr) engine_->close_write(error);
  detail::throw_if(error, "close_write");
}
void conn::close_read() { transport().close_read(); }
void conn::close() {
  if (engine_ != nullptr) engine_->close();
}
bool conn::is_open() const noexcept { return engine_ != nullptr && engine_->transport().is_open(); }

net::address conn::local_address() const { return engine_ != nullptr ? transport().local_address() : net::address(); }
net::address conn::remote_address() const { return engine_ != nullptr ? transport().remote_address() : net::address(); }
void conn::set_no_delay(bool on) { transport().set_no_delay(on); }
void conn::set_keep_alive(std::optional<std::chrono::seconds> idle) { transport().set_keep_alive(idle); }
void conn::set_linger(std::optional<std::chrono::seconds> limit) { transport().set_linger(limit); }
void conn::set_read_buffer(int bytes) { transport().set_read_buffer(bytes); }
void conn::set_write_buffer(int bytes) { transport().set_write_buffer(bytes); }
int conn::native_handle() noexcept { return engine_ != nullptr ? engine_->transport().native_handle() : -1; }

std::string conn::alpn() const {
  if (engine_ == nullptr) return {};
  return engine_->inspect([](SSL* ssl) {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl, &name, &size);
    return std::string(reinterpret_cast<const char*>(name), size);
  });
}
std::string conn::server_name() const {
  if (engine_ == nullptr) return {};
  return engine_->inspect([](SSL* ssl) { return text_or_empty(SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name)); });
}
std::string conn::protocol() const {
  if (engine_ == nullptr) return {};
  return engine_->inspect(
      [](SSL* ssl) { return SSL_is_init_finished(ssl) ? text_or_empty(SSL_get_version(ssl)) : ""; });
}
std::string conn::cipher() const {
  if (engine_ == nullptr) return {};
  return engine_->inspect([](SSL* ssl) {
    const SSL_CIPHER* cipher = SSL_get_current_cipher(ssl);
    return cipher != nullptr ? text_or_empty(SSL_CIPHER_get_name(cipher)) : std::string();
  });
}
std::string conn::peer_certificate() const {
  if (engine_ == nullptr) return {};
  return engine_->inspect([](SSL* ssl) {
    std::string text;
    X509* certificate = SSL_get0_peer_certificate(ssl);
    BIO* memory = certificate != nullptr ? BIO_new(BIO_s_mem()) : nullptr;
    if (memory == nullptr) return text;
    PEM_write_bio_X509(memory, certificate);
    char* begin = nullptr;
    const long size = BIO_get_mem_data(memory, &begin);
    if (size > 0) text.assign(begin, static_cast<std::size_t>(size));
    BIO_free(memory);
    return text;
  });
}
bool conn::resumed() const {
  return engine_ != nullptr && engine_->inspect([](SSL* ssl) { return SSL_session_reused(ssl) == 1; });
}

}  // namespace weft::tls
