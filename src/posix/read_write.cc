// SPDX-License-Identifier: MIT
// read and write, and their v and p forms.
//   Sockets  receive and send without waiting, and park.
//   Others   that have readiness (pipes, terminals, eventfds): parked until poll says ready; then the call itself, handed
//            off, because another reader may be faster.
//   Disks    are handed off.
#include <fcntl.h>
#include <limits.h>

#include "posix/goroutine_call.h"
#include "posix/stream.h"

namespace weft::posix {
namespace {

// The call, once poll says that it need not wait.
template <class Whole>
std::int64_t when_ready(int fd, short events, Whole whole) noexcept {
  if (kind_of(fd) == Kind::kDisk) return hand_off(whole);
  for (;;) {
    pollfd one{fd, events, 0};
    if (result_of([&] { return real().poll(&one, 1, 0); }) != 0 || is_nonblocking(fd)) return hand_off(whole);
    if (!api::may_wait_here()) return result_of(whole);
    switch (wait_for(fd, static_cast<std::uint32_t>(events), deadline_of(fd, events == POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO))) {
      case service::NumberOutcome::kReady: break;
      case service::NumberOutcome::kTimeout: return -EAGAIN;
      case service::NumberOutcome::kClosed: return -EBADF;
      case service::NumberOutcome::kRefused: return hand_off(whole);
    }
  }
}

// A number that was taken for a socket's means something else by now.
template <class Whole>
std::int64_t corrected(int fd, std::int64_t result, short events, Whole whole) noexcept {
  if (result != -ENOTSOCK) return result;
  service::set_number_hint(fd, 0);
  return when_ready(fd, events, whole);
}

std::int64_t read_some(int fd, void* buffer, std::size_t size) noexcept {
  const auto whole = [=] { return real().read(fd, buffer, size); };
  if (size == 0) return result_of(whole);
  if (kind_of(fd) != Kind::kSocket) return when_ready(fd, POLLIN, whole);
  return corrected(fd, receive(fd, buffer, size, 0, whole), POLLIN, whole);
}

std::int64_t write_some(int fd, const void* data, std::size_t size) noexcept {
  const auto whole = [=] { return real().write(fd, data, size); };
  if (size == 0) return result_of(whole);
  if (kind_of(fd) != Kind::kSocket) return when_ready(fd, POLLOUT, whole);
  return corrected(fd, send_whole(fd, data, size, 0, whole), POLLOUT, whole);
}

msghdr message_of(const iovec* parts, int count) noexcept {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<std::size_t>(count);
  return message;
}

// Empty and wrong ones are the C library's to judge.
bool has_bytes(const iovec* parts, int count) noexcept {
  if (parts == nullptr || count <= 0 || count > IOV_MAX) return false;
  for (int i = 0; i < count; ++i)
    if (parts[i].iov_len > 0) return true;
  return false;
}

std::int64_t read_parts(int fd, const iovec* parts, int count) noexcept {
  const auto whole = [=] { return real().readv(fd, parts, count); };
  if (!has_bytes(parts, count)) return result_of(whole);
  if (kind_of(fd) != Kind::kSocket) return when_ready(fd, POLLIN, whole);
  msghdr message = message_of(parts, count);
  return corrected(fd, receive_message(fd, &message, 0, whole), POLLIN, whole);
}

std::int64_t write_parts(int fd, const iovec* parts, int count) noexcept {
  const auto whole = [=] { return real().writev(fd, parts, count); };
  if (!has_bytes(parts, count)) return result_of(whole);
  if (kind_of(fd) != Kind::kSocket) return when_ready(fd, POLLOUT, whole);
  const msghdr message = message_of(parts, count);
  return corrected(fd, send_message(fd, &message, 0, whole), POLLOUT, whole);
}

}  // namespace
}  // namespace weft::posix

using namespace weft;
using namespace weft::posix;

WEFT_POSIX ssize_t read(int fd, void* buffer, size_t size) {
  if (WEFT_POSIX_PLAIN) return real().read(fd, buffer, size);
  const api::ErrnoPlace place;
  return answer(place, read_some(fd, buffer, size));
}

WEFT_POSIX ssize_t write(int fd, const void* data, size_t size) {
  if (WEFT_POSIX_PLAIN) return real().write(fd, data, size);
  const api::ErrnoPlace place;
  return answer(place, write_some(fd, data, size));
}

WEFT_POSIX ssize_t readv(int fd, const iovec* parts, int count) {
  if (WEFT_POSIX_PLAIN) return real().readv(fd, parts, count);
  const api::ErrnoPlace place;
  return answer(place, read_parts(fd, parts, count));
}

WEFT_POSIX ssize_t writev(int fd, const iovec* parts, int count) {
  if (WEFT_POSIX_PLAIN) return real().writev(fd, parts, count);
  const api::ErrnoPlace place;
  return answer(place, write_parts(fd, parts, count));
}

WEFT_POSIX ssize_t pread(int fd, void* buffer, size_t size, off_t offset) {
  if (WEFT_POSIX_PLAIN) return real().pread(fd, buffer, size, offset);
  const api::ErrnoPlace place;
  return answer(place, hand_off([=] { return real().pread(fd, buffer, size, offset); }));
}

WEFT_POSIX ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  if (WEFT_POSIX_PLAIN) return real().pwrite(fd, data, size, offset);
  const api::ErrnoPlace place;
  return answer(place, hand_off([=] { return real().pwrite(fd, data, size, offset); }));
}

WEFT_POSIX ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) {
  if (WEFT_POSIX_PLAIN) return real().preadv(fd, parts, count, offset);
  const api::ErrnoPlace place;
  return answer(place, hand_off([=] { return real().preadv(fd, parts, count, offset); }));
}

WEFT_POSIX ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  if (WEFT_POSIX_PLAIN) return real().pwritev(fd, parts, count, offset);
  const api::ErrnoPlace place;
  return answer(place, hand_off([=] { return real().pwritev(fd, parts, count, offset); }));
}

WEFT_POSIX ssize_t preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  if (WEFT_POSIX_PLAIN) return real().preadv2(fd, parts, count, offset, flags);
  const api::ErrnoPlace place;
  return answer(place, hand_off([=] { return real().preadv2(fd, parts, count, offset, flags); }));
}

WEFT_POSIX ssize_t pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  if (WEFT_POSIX_PLAIN) return real().pwritev2(fd, parts, count, offset, flags);
  const api::ErrnoPlace place;
  return answer(place, hand_off([=] { return real().pwritev2(fd, parts, count, offset, flags); }));
}

// The names that libraries use which are compiled for files of 64 bits: the same functions here.
WEFT_POSIX ssize_t pread64(int, void*, size_t, off64_t) __attribute__((alias("pread")));
WEFT_POSIX ssize_t pwrite64(int, const void*, size_t, off64_t) __attribute__((alias("pwrite")));
WEFT_POSIX ssize_t preadv64(int, const iovec*, int, off64_t) __attribute__((alias("preadv")));
WEFT_POSIX ssize_t pwritev64(int, const iovec*, int, off64_t) __attribute__((alias("pwritev")));
WEFT_POSIX ssize_t preadv64v2(int, const iovec*, int, off64_t, int) __attribute__((alias("preadv2")));
WEFT_POSIX ssize_t pwritev64v2(int, const iovec*, int, off64_t, int) __attribute__((alias("pwritev2")));
