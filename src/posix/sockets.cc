// SPDX-License-Identifier: MIT
// recv, send and their kin.
//   Left alone  calls that never wait: MSG_DONTWAIT, MSG_ERRQUEUE, MSG_OOB.
//   Handed off  what has no form that can be tried and repeated: several messages at once, MSG_WAITALL with a message or
//               a peek.
#include "posix/stream.h"

namespace weft::posix {
namespace {

constexpr int kNeverWaits = MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB;

// MSG_WAITALL: until the buffer is full, or the end, a time limit or an error comes.
template <class ReceiveSome>
std::int64_t receive_all(void* buffer, std::size_t size, ReceiveSome receive_some) noexcept {
  std::size_t done = 0;
  while (done < size) {
    const std::int64_t got = receive_some(static_cast<std::byte*>(buffer) + done, size - done);
    if (got <= 0) return done > 0 ? static_cast<std::int64_t>(done) : got;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<std::int64_t>(done);
}

bool is_stream(int fd) noexcept {
  int type = 0;
  socklen_t size = sizeof type;
  return result_of([&] { return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size); }) == 0 && type == SOCK_STREAM;
}

// `from` may be null.
std::int64_t receive_from(int fd, void* buffer, std::size_t size, int flags, sockaddr* from, socklen_t* room) noexcept {
  const auto whole = [=] { return real().recvfrom(fd, buffer, size, flags, from, room); };
  if ((flags & MSG_WAITALL) != 0 && size > 0 && is_stream(fd)) {
    if ((flags & MSG_PEEK) != 0 || from != nullptr) return hand_off(whole);
    const int each = flags & ~MSG_WAITALL;
    return receive_all(buffer, size, [=](void* to, std::size_t left) {
      return receive(fd, to, left, each, [=] { return real().recv(fd, to, left, each); });
    });
  }
  return repeat(
      fd, POLLIN, SO_RCVTIMEO, [=] { return real().recvfrom(fd, buffer, size, flags | MSG_DONTWAIT, from, room); }, whole);
}

}  // namespace
}  // namespace weft::posix

using namespace weft;
using namespace weft::posix;

WEFT_POSIX ssize_t recv(int fd, void* buffer, size_t size, int flags) {
  if (WEFT_POSIX_PLAIN || (flags & kNeverWaits) != 0) return real().recv(fd, buffer, size, flags);
  const api::ErrnoPlace place;
  return answer(place, receive_from(fd, buffer, size, flags, nullptr, nullptr));
}

WEFT_POSIX ssize_t recvfrom(int fd, void* buffer, size_t size, int flags, sockaddr* from, socklen_t* room) {
  if (WEFT_POSIX_PLAIN || (flags & kNeverWaits) != 0) return real().recvfrom(fd, buffer, size, flags, from, room);
  const api::ErrnoPlace place;
  return answer(place, receive_from(fd, buffer, size, flags, from, room));
}

WEFT_POSIX ssize_t recvmsg(int fd, msghdr* message, int flags) {
  if (WEFT_POSIX_PLAIN || (flags & kNeverWaits) != 0) return real().recvmsg(fd, message, flags);
  const api::ErrnoPlace place;
  const auto whole = [=] { return real().recvmsg(fd, message, flags); };
  if ((flags & MSG_WAITALL) != 0) return answer(place, hand_off(whole));
  return answer(place, receive_message(fd, message, flags, whole));
}

WEFT_POSIX int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit) {
  if (WEFT_POSIX_PLAIN || (flags & kNeverWaits) != 0) return real().recvmmsg(fd, messages, count, flags, limit);
  const api::ErrnoPlace place;
  return answer<int>(place, hand_off([=] { return real().recvmmsg(fd, messages, count, flags, limit); }));
}

WEFT_POSIX ssize_t send(int fd, const void* data, size_t size, int flags) {
  if (WEFT_POSIX_PLAIN || (flags & kNeverWaits) != 0) return real().send(fd, data, size, flags);
  const api::ErrnoPlace place;
  return answer(place, send_whole(fd, data, size, flags, [=] { return real().send(fd, data, size, flags); }));
}

WEFT_POSIX ssize_t sendto(int fd, const void* data, size_t size, int flags, const sockaddr* to, socklen_t length) {
  if (WEFT_POSIX_PLAIN || (flags & kNeverWaits) != 0) return real().sendto(fd, data, size, flags, to, length);
  const api::ErrnoPlace place;
  const auto whole = [=] { return real().sendto(fd, data, size, flags, to, length); };
  if (to == nullptr) return answer(place, send_whole(fd, data, size, flags, whole));
  // To an address: a datagram, which goes as one. (TCP's fast open sends the rest of a stream itself.)
  if ((flags & MSG_FASTOPEN) != 0) return answer(place, hand_off(whole));
  return answer(place, repeat(
                           fd, POLLOUT, SO_SNDTIMEO,
                           [=] { return real().sendto(fd, data, size, flags | MSG_DONTWAIT, to, length); }, whole));
}

WEFT_POSIX ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (WEFT_POSIX_PLAIN || message == nullptr || (flags & (kNeverWaits | MSG_FASTOPEN)) != 0)
    return real().sendmsg(fd, message, flags);
  const api::ErrnoPlace place;
  return answer(place, send_message(fd, message, flags, [=] { return real().sendmsg(fd, message, flags); }));
}

WEFT_POSIX int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  if (WEFT_POSIX_PLAIN || (flags & kNeverWaits) != 0) return real().sendmmsg(fd, messages, count, flags);
  const api::ErrnoPlace place;
  return answer<int>(place, hand_off([=] { return real().sendmmsg(fd, messages, count, flags); }));
}
