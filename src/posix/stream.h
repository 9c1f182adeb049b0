// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "posix/goroutine_call.h"

// Receiving from sockets and sending to them, as a goroutine. Results are byte counts or -errno.
namespace weft::posix {

template <class Whole>
std::int64_t receive(int fd, void* buffer, std::size_t size, int flags, Whole whole) noexcept {
  return repeat(
      fd, POLLIN, SO_RCVTIMEO, [=] { return real().recv(fd, buffer, size, flags | MSG_DONTWAIT); }, whole);
}

template <class Whole>
std::int64_t receive_message(int fd, msghdr* message, int flags, Whole whole) noexcept {
  return repeat(
      fd, POLLIN, SO_RCVTIMEO, [=] { return real().recvmsg(fd, message, flags | MSG_DONTWAIT); }, whole);
}

// The rest of what a stream has taken in part: a blocking send returns when all of it is sent, or with what was sent
// before an error. The error itself, and SIGPIPE, are left for the next call. Returns what it has sent.
std::size_t send_rest(int fd, const void* data, std::size_t size, int flags) noexcept;
std::size_t send_rest_of_message(int fd, const msghdr& message, std::size_t sent, int flags) noexcept;
std::size_t size_of(const msghdr& message) noexcept;

template <class Whole>
std::int64_t send_whole(int fd, const void* data, std::size_t size, int flags, Whole whole) noexcept {
  const std::int64_t sent = repeat(
      fd, POLLOUT, SO_SNDTIMEO, [=] { return real().send(fd, data, size, flags | MSG_DONTWAIT); }, whole);
  const auto done = static_cast<std::size_t>(sent);
  if (sent < 0 || done >= size || is_nonblocking(fd)) return sent;
  return static_cast<std::int64_t>(
      done + send_rest(fd, static_cast<const std::byte*>(data) + done, size - done, flags));
}

template <class Whole>
std::int64_t send_message(int fd, const msghdr* message, int flags, Whole whole) noexcept {
  const std::int64_t sent = repeat(
      fd, POLLOUT, SO_SNDTIMEO, [=] { return real().sendmsg(fd, message, flags | MSG_DONTWAIT); }, whole);
  const auto done = static_cast<std::size_t>(sent);
  if (sent < 0 || done >= size_of(*message) || is_nonblocking(fd)) return sent;
  return static_cast<std::int64_t>(done + send_rest_of_message(fd, *message, done, flags));
}

}  // namespace weft::posix
