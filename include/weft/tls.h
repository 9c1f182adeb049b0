// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/context.h"
#include "weft/detail/bytes.h"
#include "weft/detail/clock.h"
#include "weft/net.h"

// TLS over net::conn, by OpenSSL 3. A component of its own: link weft::tls, or compile with `weft build --tls`.
//   Handshake  The first read or write does it, or handshake(); dial() has done it already. So a server's accept() does
//              not wait for slow clients: set a deadline on the connection before its first call.
//   Errors     As in weft/net.h. What the peer or its certificate has done wrong is an error in category(). The end of
//              the connection without the peer's close_notify is errc::truncated, and not the end of the stream.
//   Sharing    As with net::conn: one goroutine may read while another writes, and close() wakes all of them.
namespace weft::tls {

class Credentials;
class Engine;

enum class role { client, server };
enum class version { tls1_2 = 0x0303, tls1_3 = 0x0304 };

struct config {
  // Certificates that are trusted (a PEM file). Client: empty means the system's. Server: if given, each client must show
  // a certificate that one of these has signed.
  std::string ca_file{};
  std::string certificate{};        // own certificate and its chain (a PEM file). A server needs one
  std::string key{};                // its private key (a PEM file). Empty: in the same file
  std::vector<std::string> alpn{};  // protocols, the preferred ones first: {"h2", "http/1.1"}
  std::string server_name{};        // client: the name to ask for and to verify. dial() takes the host, if empty
  bool verify = true;               // false: any certificate is taken. For tests only
  version min_version = version::tls1_2;
};

enum class errc {
  truncated = 1,  // the connection ended without close_notify: data may be missing
  protocol,       // TLS was asked to do what it cannot do now
};
// The errors of TLS: errc's; OpenSSL's own; -X509_V_ERR_..., where a certificate was refused.
const std::error_category& category() noexcept;
inline std::error_code make_error_code(errc error) noexcept { return {static_cast<int>(error), category()}; }

// A connection. Move-only; closed when dropped.
class conn {
 public:
  conn() noexcept;
  // Takes over a connection, of which nothing has been read or written. Throws std::invalid_argument if a client that
  // verifies has no server_name, or a server no certificate; std::system_error if a file of the config is unusable.
  conn(net::conn&& transport, const config& settings, tls::role as);
  conn(conn&& other) noexcept;
  conn& operator=(conn&& other) noexcept;
  ~conn();

  // Does the handshake now. Nothing if it has been done.
  void handshake();
  void handshake(std::error_code& error) { shake_hands(nullptr, error); }
  void handshake(const context& ctx);
  void handshake(const context& ctx, std::error_code& error) { shake_hands(&ctx, error); }

  // As net::conn's.
  std::size_t read(detail::bytes_to_fill buffer, std::error_code& error) {
    return read_some(nullptr, buffer.span(), error);
  }
  std::size_t read(detail::bytes_to_fill buffer);
  std::size_t read(const context& ctx, detail::bytes_to_fill buffer, std::error_code& error) {
    return read_some(&ctx, buffer.span(), error);
  }
  std::size_t read(const context& ctx, detail::bytes_to_fill buffer);
  std::size_t read_full(detail::bytes_to_fill buffer, std::error_code& error) {
    return fill(nullptr, buffer.span(), error);
  }
  std::size_t read_full(detail::bytes_to_fill buffer);
  std::size_t read_full(const context& ctx, detail::bytes_to_fill buffer, std::error_code& error) {
    return fill(&ctx, buffer.span(), error);
  }
  std::size_t read_full(const context& ctx, detail::bytes_to_fill buffer);
  std::size_t readv(std::span<const std::span<std::byte>> buffers, std::error_code& error) {
    return read_vectors(nullptr, buffers, error);
  }
  std::size_t readv(std::span<const std::span<std::byte>> buffers);
  std::size_t readv(const context& ctx, std::span<const std::span<std::byte>> buffers, std::error_code& error) {
    return read_vectors(&ctx, buffers, error);
  }
  std::size_t readv(const context& ctx, std::span<const std::span<std::byte>> buffers);

  // After an error the number says how much was taken over. What of that is not sent yet goes first at the next call.
  std::size_t write_all(detail::bytes_to_write data, std::error_code& error) {
    return write_whole(nullptr, data.span(), error);
  }
  void write_all(detail::bytes_to_write data);
  std::size_t write_all(const context& ctx, detail::bytes_to_write data, std::error_code& error) {
    return write_whole(&ctx, data.span(), error);
  }
  void write_all(const context& ctx, detail::bytes_to_write data);
  std::size_t write(detail::bytes_to_write data) {
    write_all(data);
    return data.span().size();
  }
  std::size_t write(detail::bytes_to_write data, std::error_code& error) { return write_all(data, error); }
  std::size_t write(const context& ctx, detail::bytes_to_write data) {
    write_all(ctx, data);
    return data.span().size();
  }
  std::size_t write(const context& ctx, detail::bytes_to_write data, std::error_code& error) {
    return write_all(ctx, data, error);
  }
  std::size_t writev(std::span<const std::span<const std::byte>> buffers, std::error_code& error) {
    return write_vectors(nullptr, buffers, error);
  }
  void writev(std::span<const std::span<const std::byte>> buffers);
  std::size_t writev(const context& ctx, std::span<const std::span<const std::byte>> buffers, std::error_code& error) {
    return write_vectors(&ctx, buffers, error);
  }
  void writev(const context& ctx, std::span<const std::span<const std::byte>> buffers);
  // The bytes go through the program, because they are encrypted there.
  std::uint64_t send_file(int file, std::uint64_t offset, std::uint64_t count, std::error_code& error) {
    return send_part(nullptr, file, offset, count, error);
  }
  std::uint64_t send_file(int file, std::uint64_t offset, std::uint64_t count);
  std::uint64_t send_file(const context& ctx, int file, std::uint64_t offset, std::uint64_t count,
                          std::error_code& error) {
    return send_part(&ctx, file, offset, count, error);
  }
  std::uint64_t send_file(const context& ctx, int file, std::uint64_t offset, std::uint64_t count);

  void set_deadline(time_point when);
  void set_read_deadline(time_point when);
  void set_write_deadline(time_point when);

  void close_write();  // sends close_notify: the peer sees the end of the stream, and may still write
  void close_read();
  // Sends close_notify, for which it waits at most 100 ms, and closes the connection.
  void close();
  bool is_open() const noexcept;
  explicit operator bool() const noexcept { return is_open(); }

  net::address local_address() const;
  net::address remote_address() const;
  void set_no_delay(bool on);
  void set_keep_alive(std::optional<std::chrono::seconds> idle);
  void set_linger(std::optional<std::chrono::seconds> limit);
  void set_read_buffer(int bytes);
  void set_write_buffer(int bytes);
  int native_handle() noexcept;  // for options and waits

  // What the handshake has agreed on; empty before it.
  std::string alpn() const;              // the protocol, or "" for none
  std::string server_name() const;       // server: the name the client asked for (SNI); client: its own
  std::string protocol() const;          // "TLSv1.3"
  std::string cipher() const;            // "TLS_AES_256_GCM_SHA384"
  std::string peer_certificate() const;  // PEM; "" for none
  bool resumed() const;                  // an earlier session was continued

 private:
  friend class listener;
  friend struct conn_access;
  explicit conn(std::unique_ptr<Engine> engine) noexcept;
  net::conn& transport() const;  // throws if there is none
  void shake_hands(const context* ctx, std::error_code& error);
  std::size_t read_some(const context* ctx, std::span<std::byte> buffer, std::error_code& error);
  std::size_t fill(const context* ctx, std::span<std::byte> buffer, std::error_code& error);
  std::size_t read_vectors(const context* ctx, std::span<const std::span<std::byte>> buffers, std::error_code& error);
  std::size_t write_whole(const context* ctx, std::span<const std::byte> data, std::error_code& error) {
    return write_vectors(ctx, std::span(&data, 1), error);
  }
  std::size_t write_vectors(const context* ctx, std::span<const std::span<const std::byte>> buffers,
                            std::error_code& error);
  std::uint64_t send_part(const context* ctx, int file, std::uint64_t offset, std::uint64_t count,
                          std::error_code& error);
  std::unique_ptr<Engine> engine_;
};

// Accepts connections. Move-only; closed when dropped.
class listener {
 public:
  listener() noexcept = default;
  // Takes over a listener.
  listener(net::listener&& transport, const config& settings);

  // Blocks until there is a connection, whose handshake is still to do.
  conn accept();
  conn accept(std::error_code& error);
  conn accept(const context& ctx);
  conn accept(const context& ctx, std::error_code& error);

  net::address address() const { return transport_.address(); }
  std::uint16_t port() const noexcept { return transport_.port(); }
  void set_deadline(time_point when) { transport_.set_deadline(when); }
  void close() { transport_.close(); }
  bool is_open() const noexcept { return transport_.is_open(); }
  explicit operator bool() const noexcept { return is_open(); }
  int native_handle() const noexcept { return transport_.native_handle(); }

 private:
  conn secure(net::conn&& accepted);
  net::listener transport_;
  std::shared_ptr<Credentials> credentials_;
};

listener listen(std::string_view network, std::string_view where, const config& settings,
                const net::listen_options& options = {});

// Connects, and does the handshake. The limit is for both. Connections with equal configs to the same address continue
// each other's sessions.
conn dial(const context& ctx, std::string_view network, std::string_view where, const config& settings,
          const net::dial_options& options, std::error_code& error);
conn dial(const context& ctx, std::string_view network, std::string_view where, const config& settings,
          const net::dial_options& options = {});
conn dial(std::string_view network, std::string_view where, const config& settings,
          const net::dial_options& options = {});
conn dial(std::string_view network, std::string_view where, const config& settings, std::error_code& error);
template <class Rep, class Period>
conn dial(std::string_view network, std::string_view where, const config& settings,
          std::chrono::duration<Rep, Period> limit, std::error_code& error) {
  net::dial_options options;
  options.timeout = std::chrono::nanoseconds(detail::to_ns(limit));
  return dial(context::background(), network, where, settings, options, error);
}
template <class Rep, class Period>
conn dial(std::string_view network, std::string_view where, const config& settings,
          std::chrono::duration<Rep, Period> limit) {
  net::dial_options options;
  options.timeout = std::chrono::nanoseconds(detail::to_ns(limit));
  return dial(network, where, settings, options);
}

}  // namespace weft::tls

template <>
struct std::is_error_code_enum<weft::tls::errc> : std::true_type {};
