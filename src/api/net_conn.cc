// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <memory>
#include <vector>

#include "api/memory_pipe.h"
#include "api/socket.h"
#include "api/start.h"
#include "arch/system_call.h"
#include "base/sanitizer.h"
#include "weft/go.h"

namespace weft::net {
namespace {

constexpr std::size_t kMaxVectors = 64;
constexpr std::size_t kLargestCall = 1u << 30;  // the kernel's own limit is just below 2 GiB

// recv and send past the C library (arch/system_call.h). With sanitizers the library's functions are called, because
// the sanitizers watch those.
ssize_t receive(int fd, std::span<std::byte> buffer) noexcept {
#if WEFT_ASAN || WEFT_TSAN
  return system_call([&] { return ::recv(fd, buffer.data(), buffer.size(), 0); });
#else
  return arch::system_call(SYS_recvfrom, fd, reinterpret_cast<long>(buffer.data()), static_cast<long>(buffer.size()), 0,
                           0, 0);
#endif
}
ssize_t send(int fd, std::span<const std::byte> data) noexcept {
#if WEFT_ASAN || WEFT_TSAN
  return system_call([&] { return ::send(fd, data.data(), data.size(), MSG_NOSIGNAL); });
#else
  return arch::system_call(SYS_sendto, fd, reinterpret_cast<long>(data.data()), static_cast<long>(data.size()),
                           MSG_NOSIGNAL, 0, 0);
#endif
}

// The descriptor is edge-triggered, so whatever comes later is reported. A reader that knows the queue to be empty
// waits at once, and saves the call that would only say so. A read that does not fill its buffer shows that the queue
// is empty. Where messages fill buffers exactly, only a second read in vain would show it. After a few of those the
// descriptor is watched by level, until reads are brief again.
using detail::read_hints;
constexpr unsigned char kVainReads = 4, kBriefReads = 64;

ssize_t receive_with_hints(Operation& operation, std::span<std::byte> buffer, read_hints& hints) noexcept {
  const ssize_t size = receive(operation.fd(), buffer);
  Descriptor& descriptor = operation.descriptor();
  if (size == -EAGAIN && hints.full && ++hints.vain == kVainReads) {
    hints.vain = hints.brief = 0;
    descriptor.watch_by_level();
  }
  hints.full = size > 0 && static_cast<std::size_t>(size) == buffer.size();
  const bool by_level = descriptor.is_watched_by_level();
  hints.drained = size > 0 && (!hints.full || by_level);
  if (by_level && size > 0) {
    hints.brief = hints.full ? 0 : static_cast<unsigned char>(hints.brief + 1);
    if (hints.brief == kBriefReads) descriptor.watch_by_edge();
  }
  return size;
}

ssize_t receive_plainly(int fd, std::span<std::byte> buffer) noexcept {
  return system_call([=] { return ::read(fd, buffer.data(), buffer.size()); });  // not recv, because pipes are welcome
}

// MSG_NOSIGNAL, because a socket whose peer has gone raises SIGPIPE. Other descriptors cannot be told not to.
ssize_t send_some(int fd, std::span<const std::byte> data, bool& is_socket) noexcept {
  if (is_socket) {
    const ssize_t size = send(fd, data);
    if (size != -ENOTSOCK) return size;
    is_socket = false;
  }
  return system_call([=] { return ::write(fd, data.data(), data.size()); });
}

ssize_t send_vectors(int fd, const iovec* vectors, std::size_t count) noexcept {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(vectors);
  message.msg_iovlen = count;
  const ssize_t size = system_call([&] { return sendmsg(fd, &message, MSG_NOSIGNAL); });
  return size != -ENOTSOCK ? size : system_call([&] { return ::writev(fd, vectors, static_cast<int>(count)); });
}

// There is no descriptor to send to, so the file's bytes go through the program.
std::uint64_t send_to_pipe(PipeEnd& end, const context* ctx, int file, std::uint64_t offset, std::uint64_t count,
                           std::error_code& error) {
  PipeWrite write(end, ctx, error);
  std::vector<std::byte> block(std::min<std::uint64_t>(count, 64 << 10));
  std::uint64_t done = 0;
  while (done < count && !error) {
    const std::size_t part = std::min<std::uint64_t>(count - done, block.size());
    const auto at = static_cast<off_t>(offset + done);
    const ssize_t size = blocking([&] { return system_call([&] { return pread(file, block.data(), part, at); }); });
    if (size < 0) error = error_from(static_cast<int>(-size));
    if (size <= 0) break;  // the file's end
    done += write.put(std::span(block).first(static_cast<std::size_t>(size)));
  }
  return done;
}

}  // namespace

conn conn::from_fd(int fd, std::error_code& error) {
  Descriptor* descriptor = adopt_foreign(fd, error);
  return descriptor != nullptr ? socket_access::make_conn(descriptor, false) : conn();
}

conn conn::from_fd(int fd) {
  std::error_code error;
  conn made = from_fd(fd, error);
  detail::throw_if(error, "from_fd");
  return made;
}

std::size_t conn::read_some(const context* ctx, std::span<std::byte> buffer, std::error_code& error) {
  buffer = buffer.first(std::min(buffer.size(), kLargestCall));
  if (PipeEnd* end = socket_access::pipe_end(*this); WEFT_UNLIKELY(end != nullptr))
    return end->read(ctx, std::span(&buffer, 1), error);
  const ssize_t size =
      perform(handle_.get(), Side::kRead, ctx, error, [&](Operation& operation, int& number) -> ssize_t {
        if (buffer.empty()) return 0;
        if (!hints_.usable) return repeat(operation, [&](int fd) { return receive_plainly(fd, buffer); }, number);
        const bool wait_first = hints_.drained && socket_access::descriptor(*this)->trusts_short_reads();
        return repeat(
            operation, [&](int) { return receive_with_hints(operation, buffer, hints_); }, number, wait_first);
      });
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

std::size_t conn::read(const context& ctx, detail::bytes_to_fill buffer) {
  std::error_code error;
  const std::size_t size = read_some(&ctx, buffer.span(), error);
  detail::throw_if(error, "read");
  return size;
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

std::size_t conn::read_full(detail::bytes_to_fill buffer) {
  std::error_code error;
  const std::size_t size = fill(nullptr, buffer.span(), error);
  detail::throw_if(error, "read");
  return size;
}

std::size_t conn::read_full(const context& ctx, detail::bytes_to_fill buffer) {
  std::error_code error;
  const std::size_t size = fill(&ctx, buffer.span(), error);
  detail::throw_if(error, "read");
  return size;
}

std::size_t conn::read_vectors(const context* ctx, std::span<const std::span<std::byte>> buffers,
                               std::error_code& error) {
  if (PipeEnd* end = socket_access::pipe_end(*this)) return end->read(ctx, buffers, error);
  iovec vectors[kMaxVectors];
  std::size_t count = 0, room = 0;
  for (const auto& buffer : buffers) {
    if (count == kMaxVectors) break;
    if (buffer.empty()) continue;
    vectors[count++] = {buffer.data(), buffer.size()};
    room += buffer.size();
  }
  const ssize_t size =
      perform(handle_.get(), Side::kRead, ctx, error, [&](Operation& operation, int& number) -> ssize_t {
        if (room == 0) return 0;
        hints_.drained = hints_.full = false;
        const auto attempt = [&](int fd) {
          return system_call([&] { return ::readv(fd, vectors, static_cast<int>(count)); });
        };
        return repeat(operation, attempt, number);
      });
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

std::size_t conn::readv(std::span<const std::span<std::byte>> buffers) {
  std::error_code error;
  const std::size_t size = readv(buffers, error);
  detail::throw_if(error, "readv");
  return size;
}

std::size_t conn::readv(const context& ctx, std::span<const std::span<std::byte>> buffers) {
  std::error_code error;
  const std::size_t size = readv(ctx, buffers, error);
  detail::throw_if(error, "readv");
  return size;
}

std::size_t conn::write_whole(const context* ctx, std::span<const std::byte> data, std::error_code& error) {
  if (PipeEnd* end = socket_access::pipe_end(*this); WEFT_UNLIKELY(end != nullptr))
    return PipeWrite(*end, ctx, error).put(data);
  std::size_t done = 0;
  perform(handle_.get(), Side::kWrite, ctx, error, [&](Operation& operation, int& number) -> ssize_t {
    bool is_socket = true;
    do {  // at least once, because an empty datagram is one, too
      const auto rest = data.subspan(done, std::min(data.size() - done, kLargestCall));
      const ssize_t size = repeat(operation, [&](int fd) { return send_some(fd, rest, is_socket); }, number);
      if (size < 0) return -1;
      done += static_cast<std::size_t>(size);
    } while (done < data.size());
    return 0;
  });
  return done;
}

void conn::write_all(detail::bytes_to_write data) {
  std::error_code error;
  write_whole(nullptr, data.span(), error);
  detail::throw_if(error, "write");
}

void conn::write_all(const context& ctx, detail::bytes_to_write data) {
  std::error_code error;
  write_whole(&ctx, data.span(), error);
  detail::throw_if(error, "write");
}

std::size_t conn::write_vectors(const context* ctx, std::span<const std::span<const std::byte>> buffers,
                                std::error_code& error) {
  std::size_t done = 0;
  if (PipeEnd* end = socket_access::pipe_end(*this)) {
    PipeWrite write(*end, ctx, error);
    for (const auto& buffer : buffers) done += write.put(buffer);
    return done;
  }
  perform(handle_.get(), Side::kWrite, ctx, error, [&](Operation& operation, int& number) -> ssize_t {
    std::size_t next = 0, skip = 0;  // the first `skip` bytes of buffers[next] are written
    while (next < buffers.size()) {
      iovec vectors[kMaxVectors];
      std::size_t count = 0;
      for (std::size_t i = next; i < buffers.size() && count < kMaxVectors; ++i) {
        const auto part = i == next ? buffers[i].subspan(skip) : buffers[i];
        if (!part.empty()) vectors[count++] = {const_cast<std::byte*>(part.data()), part.size()};
      }
      if (count == 0) return 0;
      const ssize_t size = repeat(operation, [&](int fd) { return send_vectors(fd, vectors, count); }, number);
      if (size < 0) return -1;
      done += static_cast<std::size_t>(size);
      skip += static_cast<std::size_t>(size);
      while (next < buffers.size() && skip >= buffers[next].size()) skip -= buffers[next++].size();
    }
    return 0;
  });
  return done;
}

void conn::writev(std::span<const std::span<const std::byte>> buffers) {
  std::error_code error;
  writev(buffers, error);
  detail::throw_if(error, "writev");
}

void conn::writev(const context& ctx, std::span<const std::span<const std::byte>> buffers) {
  std::error_code error;
  writev(ctx, buffers, error);
  detail::throw_if(error, "writev");
}

std::uint64_t conn::send_part(const context* ctx, int file, std::uint64_t offset, std::uint64_t count,
                              std::error_code& error) {
  std::uint64_t done = 0;
  if (PipeEnd* end = socket_access::pipe_end(*this)) return send_to_pipe(*end, ctx, file, offset, count, error);
  perform(handle_.get(), Side::kWrite, ctx, error, [&](Operation& operation, int& number) -> ssize_t {
    while (done < count) {
      auto at = static_cast<off_t>(offset + done);
      const std::size_t part = std::min<std::uint64_t>(count - done, kLargestCall);
      // The file may be on a slow disk: the thread may block, the P does not.
      const auto attempt = [&](int fd) {
        return blocking([&] { return system_call([&] { return sendfile(fd, file, &at, part); }); });
      };
      const ssize_t size = repeat(operation, attempt, number);
      if (size < 0) return -1;
      if (size == 0) break;  // the file's end
      done += static_cast<std::uint64_t>(size);
    }
    return 0;
  });
  return done;
}

std::uint64_t conn::send_file(int file, std::uint64_t offset, std::uint64_t count) {
  std::error_code error;
  const std::uint64_t done = send_file(file, offset, count, error);
  detail::throw_if(error, "send_file");
  return done;
}

std::uint64_t conn::send_file(const context& ctx, int file, std::uint64_t offset, std::uint64_t count) {
  std::error_code error;
  const std::uint64_t done = send_file(ctx, file, offset, count, error);
  detail::throw_if(error, "send_file");
  return done;
}

namespace {
void shut(int fd, int how, const char* what) {
  if (fd < 0) detail::throw_io_error(error_from(EBADF), what);
  if (shutdown(fd, how) != 0 && errno != ENOTCONN) detail::throw_io_error(error_from(errno), what);
}
}  // namespace

void conn::close_write() {
  if (PipeEnd* end = socket_access::pipe_end(*this); end != nullptr && end->is_open()) return end->shut_write();
  shut(handle_.number(), SHUT_WR, "close_write");
}
void conn::close_read() {
  if (PipeEnd* end = socket_access::pipe_end(*this); end != nullptr && end->is_open()) return end->shut_read();
  shut(handle_.number(), SHUT_RD, "close_read");
}

std::pair<conn, conn> pipe() {
  api::ensure_started();
  auto shared = std::make_unique<MemoryPipe>();
  auto first = std::make_unique<PipeEnd>(*shared, 0), second = std::make_unique<PipeEnd>(*shared, 1);
  shared.release();  // the ends own it now
  return {socket_access::make_conn(first.release()), socket_access::make_conn(second.release())};
}

address conn::local_address() const { return local_address_of(handle_.number()); }
address conn::remote_address() const { return remote_address_of(handle_.number()); }

// Socket options mean nothing to an end of pipe(), but code that sets them works with one.
bool conn::is_in_memory() const noexcept { return pipe_.is_open(); }

void conn::set_no_delay(bool on) {
  if (is_in_memory()) return;
  set_option(handle_.number(), IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0, "set_no_delay");
}

void conn::set_keep_alive(std::optional<std::chrono::seconds> idle) {
  if (is_in_memory()) return;
  const int fd = handle_.number();
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, idle ? 1 : 0, "set_keep_alive");
  if (!idle) return;
  const int seconds = static_cast<int>(std::clamp<std::int64_t>(idle->count(), 1, 32'767));
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds, "set_keep_alive");
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds, "set_keep_alive");
}

void conn::set_linger(std::optional<std::chrono::seconds> limit) {
  if (is_in_memory()) return;
  linger value{};
  if (limit) value = {1, static_cast<int>(std::clamp<std::int64_t>(limit->count(), 0, 32'767))};
  if (setsockopt(handle_.number(), SOL_SOCKET, SO_LINGER, &value, sizeof value) != 0)
    detail::throw_io_error(error_from(errno), "set_linger");
}

void conn::set_read_buffer(int bytes) {
  if (is_in_memory()) return;
  set_option(handle_.number(), SOL_SOCKET, SO_RCVBUF, bytes, "set_read_buffer");
}
void conn::set_write_buffer(int bytes) {
  if (is_in_memory()) return;
  set_option(handle_.number(), SOL_SOCKET, SO_SNDBUF, bytes, "set_write_buffer");
}

int conn::native_handle() noexcept {
  hints_.usable = false;  // another reader of the descriptor would make the hints wrong
  return handle_.number();
}

int conn::release() {
  if (is_in_memory()) detail::throw_io_error(error_from(EOPNOTSUPP), "release: an end of pipe() has no descriptor");
  const int fd = handle_.release();
  if (fd < 0) detail::throw_io_error(error_from(EBADF), "release");
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
  return fd;
}

}  // namespace weft::net
