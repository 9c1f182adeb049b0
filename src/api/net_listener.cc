// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "api/address_error.h"
#include "api/socket.h"

namespace weft::net {
namespace {

constexpr int kKeepAliveSeconds = 15;

// Set on the listener and inherited by the connections it accepts, which saves calls for each of them.
void set_stream_defaults(int fd) noexcept {
  const int on = 1, seconds = kKeepAliveSeconds;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
}

// The error concerns one connection, which has gone before it was accepted or has trouble in the network (accept(2)).
bool concerns_one_connection(int error) noexcept {
  switch (error) {
    case ECONNABORTED:
    case EPROTO:
    case EINTR:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case ENETUNREACH:  return true;
    default:           return false;
  }
}

int bound_socket(const address& to, int type, const listen_options& options, bool either_family, int& error) noexcept {
  const int fd = socket(to.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    error = errno;
    return -1;
  }
  const int on = 1, off = 0;
  if (to.family() == AF_INET6)
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only || !either_family ? &on : &off, sizeof on);
  if (type == SOCK_STREAM && to.family() != AF_UNIX) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool shared = !options.reuse_port || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0;
  if (shared && bind(fd, static_cast<const sockaddr*>(to.data()), static_cast<socklen_t>(to.size())) == 0) {
    if (type == SOCK_DGRAM) return fd;
    if (to.family() != AF_UNIX) set_stream_defaults(fd);
    if (::listen(fd, options.backlog) == 0) return fd;
  }
  error = errno;
  ::close(fd);
  return -1;
}

struct Bound {
  Descriptor* descriptor = nullptr;
  std::string unlink;
};

Bound bind_to(const Network& network, std::string_view where, const listen_options& options, std::error_code& error) {
  Bound bound;
  error.clear();
  const std::vector<address> addresses = resolve(network, where, true, context::background(), os::kForever, error);
  if (error) return bound;
  int number = EADDRNOTAVAIL;
  for (const address& to : addresses) {
    const int fd = bound_socket(to, network.type, options, network.family == AF_UNSPEC, number);
    if (fd < 0) continue;
    bound.descriptor = adopt_or_close(fd, error);
    if (network.is_unix() && where.front() != '@') bound.unlink = where;
    if (error && !bound.unlink.empty()) unlink(bound.unlink.c_str());
    return bound;
  }
  error = error_from(number);
  return bound;
}

}  // namespace

listener listen(std::string_view network_name, std::string_view where, const listen_options& options,
                std::error_code& error) {
  Network network;
  if (!parse_network(network_name, network) || network.type == SOCK_DGRAM) {
    error = make_error(AddressError::kStreamNetwork);
    return {};
  }
  Bound bound = bind_to(network, where, options, error);
  if (error) return {};
  return socket_access::make_listener(bound.descriptor, std::move(bound.unlink));
}

listener listen(std::string_view network, std::string_view where, const listen_options& options) {
  std::error_code error;
  listener made = listen(network, where, options, error);
  if (error) detail::throw_io_error(error, ("listen " + std::string(network) + " " + std::string(where)).c_str());
  return made;
}

packet_conn listen_packet(std::string_view network_name, std::string_view where, std::error_code& error) {
  Network network;
  if (!parse_network(network_name, network) || network.type != SOCK_DGRAM) {
    error = make_error(AddressError::kPacketNetwork);
    return {};
  }
  Bound bound = bind_to(network, where, {}, error);
  if (error) return {};
  return socket_access::make_packet_conn(bound.descriptor, std::move(bound.unlink));
}

packet_conn listen_packet(std::string_view network, std::string_view where) {
  std::error_code error;
  packet_conn made = listen_packet(network, where, error);
  if (error)
    detail::throw_io_error(error, ("listen_packet " + std::string(network) + " " + std::string(where)).c_str());
  return made;
}

listener listener::from_fd(int fd) {
  std::error_code error;
  Descriptor* descriptor = adopt_foreign(fd, error);
  detail::throw_if(error, "from_fd");
  return socket_access::make_listener(descriptor, {});
}

conn listener::accept_one(const context* ctx, std::error_code& error) {
  const bool tcp = address_.family() != AF_UNIX;
  const ssize_t fd = perform(handle_.get(), Side::kRead, ctx, error, [](Operation& operation, int& number) -> ssize_t {
    for (;;) {
      const ssize_t accepted = repeat(
          operation,
          [](int listening) {
            return system_call([&] { return accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
          },
          number);
      if (accepted >= 0 || !concerns_one_connection(number)) return accepted;
      number = 0;
    }
  });
  if (fd < 0) return {};
  Descriptor* descriptor = adopt_or_close(static_cast<int>(fd), error);
  return descriptor != nullptr ? socket_access::make_conn(descriptor, tcp) : conn();
}

conn listener::accept() {
  std::error_code error;
  conn made = accept_one(nullptr, error);
  detail::throw_if(error, "accept");
  return made;
}

conn listener::accept(const context& ctx) {
  std::error_code error;
  conn made = accept_one(&ctx, error);
  detail::throw_if(error, "accept");
  return made;
}

void listener::close() {
  // The path first, because a new listener may bind it as soon as this one is closed.
  if (handle_.is_open() && !unlink_.empty()) unlink(unlink_.c_str());
  unlink_.clear();
  handle_.close();
}

int listener::release() {
  unlink_.clear();
  const int fd = handle_.release();
  if (fd < 0) detail::throw_io_error(error_from(EBADF), "release");
  return fd;
}

}  // namespace weft::net
