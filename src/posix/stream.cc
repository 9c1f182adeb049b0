// SPDX-License-Identifier: MIT
#include "posix/stream.h"

namespace weft::posix {

std::size_t send_rest(int fd, const void* data, std::size_t size, int flags) noexcept {
  const auto* bytes = static_cast<const std::byte*>(data);
  std::size_t done = 0;
  while (done < size) {
    const auto send = [=](int more) {
      return real().send(fd, bytes + done, size - done, flags | MSG_NOSIGNAL | more);
    };
    const std::int64_t sent =
        repeat(fd, POLLOUT, SO_SNDTIMEO, [=] { return send(MSG_DONTWAIT); }, [=] { return send(0); });
    if (sent <= 0) break;
    done += static_cast<std::size_t>(sent);
  }
  return done;
}

std::size_t size_of(const msghdr& message) noexcept {
  std::size_t size = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) size += message.msg_iov[i].iov_len;
  return size;
}

std::size_t send_rest_of_message(int fd, const msghdr& message, std::size_t sent, int flags) noexcept {
  std::size_t done = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
    const iovec& part = message.msg_iov[i];
    if (sent >= part.iov_len) {
      sent -= part.iov_len;
      continue;
    }
    const std::size_t size = part.iov_len - sent;
    const std::size_t now = send_rest(fd, static_cast<const std::byte*>(part.iov_base) + sent, size, flags);
    done += now;
    if (now < size) break;
    sent = 0;
  }
  return done;
}

}  // namespace weft::posix
