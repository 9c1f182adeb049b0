// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/context.h"
#include "weft/detail/bytes.h"
#include "weft/detail/clock.h"
#include "weft/detail/io_handle.h"
#include "weft/detail/pipe_handle.h"
#include "weft/net_reader.h"

// Sockets whose blocking calls park the goroutine.
//   Networks   "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6": addresses are "host:port", "[::1]:80", ":80" (every
//              interface). "unix" (a stream), "unixpacket" (a connection of packets), "unixgram": a path, or "@name"
//              for the abstract namespace. A read from a unixpacket connection gets one packet; what does not fit is
//              lost.
//   Buffers    Reads fill, and writes take, spans, arrays, vectors and strings of std::byte, char, unsigned char or
//              char8_t. Writes take literals, too.
//   Errors     A call throws std::system_error; its overload with a trailing std::error_code& sets that instead.
//              errc::timed_out: the deadline has passed. A cancelled context: its err().
//              errc::bad_file_descriptor: used after close(), or closed while the call waited.
//              errc::invalid_argument: there is no such network, or the text is no address. The call without an
//              error_code throws std::invalid_argument then.
//   Sharing    Reading and writing may go on at the same time, and any number of goroutines may call; each side serves
//              one call at a time. close() wakes all of them. Deadlines are absolute, and may be changed while calls
//              wait; time_point::max(): none.
namespace weft::net {

class address {
 public:
  address() noexcept = default;
  // A sockaddr of any family. Throws std::invalid_argument if it is longer than 128 bytes.
  address(const void* sockaddr, std::size_t size);

  std::string to_string() const;  // "127.0.0.1:80", "[fe80::1%eth0]:80", "/run/x", "@name"; "" for none
  std::string host() const;       // without the port
  std::uint16_t port() const noexcept;
  int family() const noexcept;
  const void* data() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return size_; }
  explicit operator bool() const noexcept { return size_ != 0; }
  friend bool operator==(const address& one, const address& other) noexcept { return one.compare(other) == 0; }
  friend std::strong_ordering operator<=>(const address& one, const address& other) noexcept {
    return one.compare(other) <=> 0;
  }

 private:
  int compare(const address& other) const noexcept;
  alignas(8) unsigned char bytes_[128] = {};
  std::uint32_t size_ = 0;
};

// All addresses of a host name, without a port. Parks the goroutine, and never blocks a P.
std::vector<address> lookup_host(std::string_view name);
std::vector<address> lookup_host(std::string_view name, std::error_code& error);
std::vector<address> lookup_host(const context& ctx, std::string_view name, std::error_code& error);
// Takes numeric addresses only ("127.0.0.1:80", "[::1]:80", "/path", "@name"): never looks up a name.
address parse_address(std::string_view network, std::string_view text);
address parse_address(std::string_view network, std::string_view text, std::error_code& error);

// A connection. Move-only; closed when dropped.
class conn {
 public:
  conn() noexcept = default;
  // Takes over a connected socket (or a pipe, a terminal, ...), and makes it non-blocking. On failure fd stays the
  // caller's.
  static conn from_fd(int fd);
  static conn from_fd(int fd, std::error_code& error);

  // Blocks until there is something to read. Returns the number of bytes; 0 at the end of the stream (or for an empty
  // buffer).
  std::size_t read(detail::bytes_to_fill buffer, std::error_code& error) {
    return read_some(nullptr, buffer.span(), error);
  }
  std::size_t read(detail::bytes_to_fill buffer) {
    std::error_code error;
    const std::size_t size = read_some(nullptr, buffer.span(), error);
    detail::throw_if(error, "read");
    return size;
  }
  std::size_t read(const context& ctx, detail::bytes_to_fill buffer, std::error_code& error) {
    return read_some(&ctx, buffer.span(), error);
  }
  std::size_t read(const context& ctx, detail::bytes_to_fill buffer);
  // Fills the whole buffer, unless the stream ends before. Returns the number of bytes read.
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
  std::size_t readv(const context& ctx, std::span<const std::span<std::byte>> buffers);
  std::size_t readv(const context& ctx, std::span<const std::span<std::byte>> buffers, std::error_code& error) {
    return read_vectors(&ctx, buffers, error);
  }

  // Writes all of the data, unless there is an error. The number says how much was written.
  std::size_t write_all(detail::bytes_to_write data, std::error_code& error) {
    return write_whole(nullptr, data.span(), error);
  }
  void write_all(detail::bytes_to_write data);
  void write_all(const context& ctx, detail::bytes_to_write data);
  std::size_t write_all(const context& ctx, detail::bytes_to_write data, std::error_code& error) {
    return write_whole(&ctx, data.span(), error);
  }
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
  // Writes all buffers, in order, as one write if the kernel takes them.
  std::size_t writev(std::span<const std::span<const std::byte>> buffers, std::error_code& error) {
    return write_vectors(nullptr, buffers, error);
  }
  void writev(std::span<const std::span<const std::byte>> buffers);
  void writev(const context& ctx, std::span<const std::span<const std::byte>> buffers);
  std::size_t writev(const context& ctx, std::span<const std::span<const std::byte>> buffers, std::error_code& error) {
    return write_vectors(&ctx, buffers, error);
  }
  // Sends `count` bytes of an open file from `offset` on, without copying them through the program. Returns less at the
  // end of the file.
  std::uint64_t send_file(int file, std::uint64_t offset, std::uint64_t count, std::error_code& error) {
    return send_part(nullptr, file, offset, count, error);
  }
  std::uint64_t send_file(int file, std::uint64_t offset, std::uint64_t count);
  std::uint64_t send_file(const context& ctx, int file, std::uint64_t offset, std::uint64_t count);
  std::uint64_t send_file(const context& ctx, int file, std::uint64_t offset, std::uint64_t count,
                          std::error_code& error) {
    return send_part(&ctx, file, offset, count, error);
  }

  void set_deadline(time_point when) { set_deadlines(true, true, when); }
  void set_read_deadline(time_point when) { set_deadlines(true, false, when); }
  void set_write_deadline(time_point when) { set_deadlines(false, true, when); }

  void close_write();  // the peer sees the end of the stream, and may still write
  void close_read();
  void close() {
    handle_.close();
    pipe_.close();
  }
  bool is_open() const noexcept { return handle_.is_open() || pipe_.is_open(); }
  explicit operator bool() const noexcept { return is_open(); }

  address local_address() const;   // none for an end of pipe()
  address remote_address() const;  // the same

  void set_no_delay(bool on);                                     // on from the start, for TCP
  void set_keep_alive(std::optional<std::chrono::seconds> idle);  // nullopt: off
  void set_linger(std::optional<std::chrono::seconds> limit);     // 0: close() resets the connection
  void set_read_buffer(int bytes);
  void set_write_buffer(int bytes);

  // -1 when closed, or for an end of pipe(). For options and waits, not for reading and writing.
  int native_handle() noexcept;
  // As close(), but the descriptor stays open, in blocking mode, and is the caller's now.
  int release();

 private:
  friend class listener;
  friend struct socket_access;
  std::size_t read_some(const context* ctx, std::span<std::byte> buffer, std::error_code& error);
  std::size_t fill(const context* ctx, std::span<std::byte> buffer, std::error_code& error);
  std::size_t read_vectors(const context* ctx, std::span<const std::span<std::byte>> buffers, std::error_code& error);
  std::size_t write_whole(const context* ctx, std::span<const std::byte> data, std::error_code& error);
  std::size_t write_vectors(const context* ctx, std::span<const std::span<const std::byte>> buffers,
                            std::error_code& error);
  std::uint64_t send_part(const context* ctx, int file, std::uint64_t offset, std::uint64_t count,
                          std::error_code& error);
  bool is_in_memory() const noexcept;
  void set_deadlines(bool reading, bool writing, time_point when) noexcept {
    handle_.set_deadline(reading, writing, when);
    pipe_.set_deadline(reading, writing, when);
  }
  detail::io_handle handle_;
  detail::pipe_handle pipe_;  // an end of pipe(): then there is no descriptor
  detail::read_hints hints_;  // used by the call that has the reading side
};

// Two connections in memory, each the other's peer: for tests of servers and clients without ports. A write returns
// when the peer has read all of it; nothing is buffered. All of conn works (deadlines, contexts, close_write(),
// send_file()), but there are no addresses and no descriptor, and socket options have no effect.
std::pair<conn, conn> pipe();

struct listen_options {
  int backlog = 4096;       // the system's own limit applies
  bool reuse_port = false;  // several listeners share the port
  bool v6_only = false;
};

// Accepts connections. Move-only; closed when dropped.
class listener {
 public:
  listener() noexcept = default;
  static listener from_fd(int fd);  // takes over a listening socket

  // Blocks until there is a connection.
  conn accept();
  conn accept(std::error_code& error) { return accept_one(nullptr, error); }
  conn accept(const context& ctx);
  conn accept(const context& ctx, std::error_code& error) { return accept_one(&ctx, error); }

  net::address address() const { return address_; }
  std::uint16_t port() const noexcept { return address_.port(); }
  void set_deadline(time_point when) { handle_.set_deadline(true, false, when); }
  void close();  // removes the path that listen("unix") has made
  bool is_open() const noexcept { return handle_.is_open(); }
  explicit operator bool() const noexcept { return is_open(); }
  int native_handle() const noexcept { return handle_.number(); }
  int release();

  listener(listener&&) noexcept = default;
  listener& operator=(listener&& other) noexcept {
    if (this != &other) {
      close();
      handle_ = std::move(other.handle_);
      address_ = std::exchange(other.address_, {});
      unlink_ = std::exchange(other.unlink_, {});
    }
    return *this;
  }
  ~listener() { close(); }

 private:
  friend struct socket_access;
  conn accept_one(const context* ctx, std::error_code& error);
  detail::io_handle handle_;
  net::address address_;
  std::string unlink_;
};

// A socket for datagrams. Move-only; closed when dropped.
class packet_conn {
 public:
  packet_conn() noexcept = default;
  static packet_conn from_fd(int fd);

  // Blocks until there is a datagram. Returns its size (0: an empty one); what does not fit is lost.
  std::size_t read_from(detail::bytes_to_fill buffer, address& from, std::error_code& error) {
    return receive(nullptr, buffer.span(), from, error);
  }
  std::size_t read_from(detail::bytes_to_fill buffer, address& from);
  std::size_t read_from(const context& ctx, detail::bytes_to_fill buffer, address& from, std::error_code& error) {
    return receive(&ctx, buffer.span(), from, error);
  }
  std::size_t read_from(const context& ctx, detail::bytes_to_fill buffer, address& from);
  // Sends one datagram.
  std::size_t write_to(detail::bytes_to_write data, const address& to, std::error_code& error) {
    return send(nullptr, data.span(), to, error);
  }
  std::size_t write_to(detail::bytes_to_write data, const address& to);
  std::size_t write_to(const context& ctx, detail::bytes_to_write data, const address& to, std::error_code& error) {
    return send(&ctx, data.span(), to, error);
  }
  std::size_t write_to(const context& ctx, detail::bytes_to_write data, const address& to);

  address local_address() const;
  std::uint16_t port() const { return local_address().port(); }
  void set_deadline(time_point when) { handle_.set_deadline(true, true, when); }
  void set_read_deadline(time_point when) { handle_.set_deadline(true, false, when); }
  void set_write_deadline(time_point when) { handle_.set_deadline(false, true, when); }
  void set_read_buffer(int bytes);
  void set_write_buffer(int bytes);
  void set_broadcast(bool on);
  void close();
  bool is_open() const noexcept { return handle_.is_open(); }
  explicit operator bool() const noexcept { return is_open(); }
  int native_handle() const noexcept { return handle_.number(); }
  int release();

  packet_conn(packet_conn&&) noexcept = default;
  packet_conn& operator=(packet_conn&& other) noexcept {
    if (this != &other) {
      close();
      handle_ = std::move(other.handle_);
      unlink_ = std::exchange(other.unlink_, {});
    }
    return *this;
  }
  ~packet_conn() { close(); }

 private:
  friend struct socket_access;
  std::size_t receive(const context* ctx, std::span<std::byte> buffer, address& from, std::error_code& error);
  std::size_t send(const context* ctx, std::span<const std::byte> data, const address& to, std::error_code& error);
  detail::io_handle handle_;
  std::string unlink_;
};

listener listen(std::string_view network, std::string_view where, const listen_options& options = {});
listener listen(std::string_view network, std::string_view where, const listen_options& options,
                std::error_code& error);

packet_conn listen_packet(std::string_view network, std::string_view where);
packet_conn listen_packet(std::string_view network, std::string_view where, std::error_code& error);

struct dial_options {
  // Where the connection comes from: "192.0.2.1:0", "[::1]:0", ":4000"; with Unix sockets "@name", or a path, which
  // stays when the connection is closed. Empty: the system chooses. Remote addresses of a family that no local one has
  // are not tried.
  std::string local_address{};
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();  // for the look-up and all attempts together
  // After this time the next address is tried beside the last one.
  std::chrono::nanoseconds fallback_delay = std::chrono::milliseconds(250);
};

// Connects. Tries all addresses of the name: the next one when the last has failed or has taken
// dial_options::fallback_delay (250 ms). The first connection wins.
conn dial(std::string_view network, std::string_view where, const dial_options& options);
conn dial(std::string_view network, std::string_view where, const dial_options& options, std::error_code& error);
conn dial(const context& ctx, std::string_view network, std::string_view where, const dial_options& options);
conn dial(const context& ctx, std::string_view network, std::string_view where, const dial_options& options,
          std::error_code& error);
conn dial_until(const context& ctx, std::string_view network, std::string_view where, time_point deadline,
                std::error_code& error);
conn dial(std::string_view network, std::string_view where);
conn dial(std::string_view network, std::string_view where, std::error_code& error);
conn dial(const context& ctx, std::string_view network, std::string_view where);
conn dial(const context& ctx, std::string_view network, std::string_view where, std::error_code& error);
template <class Rep, class Period>
conn dial(std::string_view network, std::string_view where, std::chrono::duration<Rep, Period> limit,
          std::error_code& error) {
  const std::int64_t ns = detail::deadline_in(limit);
  return dial_until(context::background(), network, where,
                    ns == detail::forever ? time_point::max() : time_point(std::chrono::nanoseconds(ns)), error);
}
template <class Rep, class Period>
conn dial(std::string_view network, std::string_view where, std::chrono::duration<Rep, Period> limit) {
  std::error_code error;
  conn made = dial(network, where, limit, error);
  if (error) detail::throw_io_error(error, ("dial " + std::string(where)).c_str());
  return made;
}

}  // namespace weft::net
