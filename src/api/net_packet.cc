// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "api/socket.h"

namespace weft::net {

packet_conn packet_conn::from_fd(int fd) {
  std::error_code error;
  Descriptor* descriptor = adopt_foreign(fd, error);
  detail::throw_if(error, "from_fd");
  return socket_access::make_packet_conn(descriptor, {});
}

std::size_t packet_conn::receive(const context* ctx, std::span<std::byte> buffer, address& from,
                                 std::error_code& error) {
  sockaddr_storage storage;
  socklen_t length = 0;
  const ssize_t size =
      perform(handle_.get(), Side::kRead, ctx, error, [&](Operation& operation, int& number) -> ssize_t {
        return repeat(
            operation,
            [&](int fd) {
              length = sizeof storage;
              return system_call([&] {
                return recvfrom(fd, buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&storage), &length);
              });
            },
            number);
      });
  if (size < 0) return 0;
  from = length > 0 && length <= sizeof storage ? address(&storage, length) : address();
  return static_cast<std::size_t>(size);
}

std::size_t packet_conn::read_from(detail::bytes_to_fill buffer, address& from) {
  std::error_code error;
  const std::size_t size = receive(nullptr, buffer.span(), from, error);
  detail::throw_if(error, "read_from");
  return size;
}

std::size_t packet_conn::read_from(const context& ctx, detail::bytes_to_fill buffer, address& from) {
  std::error_code error;
  const std::size_t size = receive(&ctx, buffer.span(), from, error);
  detail::throw_if(error, "read_from");
  return size;
}

std::size_t packet_conn::send(const context* ctx, std::span<const std::byte> data, const address& to,
                              std::error_code& error) {
  const ssize_t size =
      perform(handle_.get(), Side::kWrite, ctx, error, [&](Operation& operation, int& number) -> ssize_t {
        return repeat(
            operation,
            [&](int fd) {
              return system_call([&] {
                return sendto(fd, data.data(), data.size(), MSG_NOSIGNAL, static_cast<const sockaddr*>(to.data()),
                              static_cast<socklen_t>(to.size()));
              });
            },
            number);
      });
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

std::size_t packet_conn::write_to(detail::bytes_to_write data, const address& to) {
  std::error_code error;
  const std::size_t size = send(nullptr, data.span(), to, error);
  detail::throw_if(error, "write_to");
  return size;
}

std::size_t packet_conn::write_to(const context& ctx, detail::bytes_to_write data, const address& to) {
  std::error_code error;
  const std::size_t size = send(&ctx, data.span(), to, error);
  detail::throw_if(error, "write_to");
  return size;
}

address packet_conn::local_address() const { return local_address_of(handle_.number()); }

void packet_conn::set_read_buffer(int bytes) {
  set_option(handle_.number(), SOL_SOCKET, SO_RCVBUF, bytes, "set_read_buffer");
}
void packet_conn::set_write_buffer(int bytes) {
  set_option(handle_.number(), SOL_SOCKET, SO_SNDBUF, bytes, "set_write_buffer");
}
void packet_conn::set_broadcast(bool on) {
  set_option(handle_.number(), SOL_SOCKET, SO_BROADCAST, on ? 1 : 0, "set_broadcast");
}

void packet_conn::close() {
  if (handle_.is_open() && !unlink_.empty()) unlink(unlink_.c_str());
  unlink_.clear();
  handle_.close();
}

int packet_conn::release() {
  unlink_.clear();
  const int fd = handle_.release();
  if (fd < 0) detail::throw_io_error(error_from(EBADF), "release");
  return fd;
}

}  // namespace weft::net
