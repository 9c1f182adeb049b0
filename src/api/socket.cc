// SPDX-License-Identifier: MIT
#include "api/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>
#include <new>

#include "api/start.h"

namespace weft::net {

void Cancellation::begin(Descriptor& descriptor, Side side) noexcept {
  new (&watch_) Watch;
  watch_.descriptor = &descriptor;
  watch_.side = side;
  watch_.fired = [](detail::context_watch* raw) {
    auto* watch = static_cast<Watch*>(raw);
    watch->interrupt.raised.store_seq_cst(true);  // pairs: gate.flags
    watch->descriptor->interrupt(watch->side);
  };
  if (!detail::watch_context(*ctx_, watch_)) watch_.interrupt.raised.store_seq_cst(true);  // pairs: gate.flags
}

void Cancellation::end() noexcept { detail::unwatch_context(watch_); }

std::error_code Cancellation::explain(int error) const noexcept {
  if (error == ECANCELED && ctx_ != nullptr && ctx_->cancelled()) return ctx_->err();
  return error_from(error);
}

Descriptor* adopt(int fd, std::error_code& error) {
  error.clear();
  api::ensure_started();
  int number = 0;
  const char* failed = "";
  Descriptor* descriptor = service::netpoll().adopt(fd, number, failed);
  if (descriptor == nullptr) error = error_from(number);
  return descriptor;
}

Descriptor* adopt_or_close(int fd, std::error_code& error) {
  Descriptor* descriptor = adopt(fd, error);
  if (descriptor == nullptr) ::close(fd);
  return descriptor;
}

Descriptor* adopt_foreign(int fd, std::error_code& error) {
  const ssize_t flags = system_call([&] { return fcntl(fd, F_GETFL); });
  const ssize_t set =
      flags < 0 ? flags : system_call([&] { return fcntl(fd, F_SETFL, static_cast<int>(flags) | O_NONBLOCK); });
  if (set < 0) {
    error = error_from(static_cast<int>(-set));
    return nullptr;
  }
  Descriptor* descriptor = adopt(fd, error);
  if (descriptor == nullptr) fcntl(fd, F_SETFL, static_cast<int>(flags));
  return descriptor;
}

conn socket_access::make_conn(Descriptor* descriptor, bool tcp) {
  conn made;
  made.handle_ = detail::io_handle(descriptor);
  made.hints_.usable = tcp;
  return made;
}

conn socket_access::make_conn(PipeEnd* end) {
  conn made;
  made.pipe_ = detail::pipe_handle(end);
  return made;
}

listener socket_access::make_listener(Descriptor* descriptor, std::string unlink) {
  listener made;
  made.handle_ = detail::io_handle(descriptor);
  made.address_ = local_address_of(descriptor->fd());
  made.unlink_ = std::move(unlink);
  return made;
}

packet_conn socket_access::make_packet_conn(Descriptor* descriptor, std::string unlink) {
  packet_conn made;
  made.handle_ = detail::io_handle(descriptor);
  made.unlink_ = std::move(unlink);
  return made;
}

address local_address_of(int fd) noexcept {
  sockaddr_storage storage;
  socklen_t size = sizeof storage;
  if (fd < 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0 || size > sizeof storage) return {};
  return {&storage, size};
}

address remote_address_of(int fd) noexcept {
  sockaddr_storage storage;
  socklen_t size = sizeof storage;
  if (fd < 0 || getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0 || size > sizeof storage) return {};
  return {&storage, size};
}

void set_option(int fd, int level, int name, int value, const char* what) {
  if (fd < 0) detail::throw_io_error(error_from(EBADF), what);
  if (setsockopt(fd, level, name, &value, sizeof value) != 0) detail::throw_io_error(error_from(errno), what);
}

}  // namespace weft::net
