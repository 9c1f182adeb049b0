// SPDX-License-Identifier: MIT
#pragma once
#include <sys/socket.h>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "api/context_watch.h"
#include "service/netpoll.h"
#include "weft/net.h"

// What the socket classes share: system calls that wait, adopting descriptors, addresses of names.
namespace weft::net {

class PipeEnd;
using service::Descriptor;
using service::Operation;
using service::Side;

// The private parts of the public classes, for the functions that make them.
struct socket_access {
  static conn make_conn(Descriptor* descriptor, bool tcp);
  static conn make_conn(PipeEnd* end);
  // Null: not an end of pipe(). Most connections have a descriptor, and then nothing else is looked at.
  static PipeEnd* pipe_end(const conn& c) noexcept {
    return WEFT_LIKELY(c.handle_.get() != nullptr) ? nullptr : static_cast<PipeEnd*>(c.pipe_.get());
  }
  static Descriptor* descriptor(const conn& c) noexcept { return static_cast<Descriptor*>(c.handle_.get()); }
  static listener make_listener(Descriptor* descriptor, std::string unlink);
  static packet_conn make_packet_conn(Descriptor* descriptor, std::string unlink);
};

inline std::error_code error_from(int number) noexcept { return {number, std::system_category()}; }

// A cancelled context interrupts the call that waits on one side of a descriptor.
class Cancellation {
 public:
  Cancellation(const context* ctx, Descriptor& descriptor, Side side) noexcept : ctx_(ctx) {
    if (WEFT_UNLIKELY(ctx_ != nullptr)) begin(descriptor, side);
  }
  ~Cancellation() {
    if (WEFT_UNLIKELY(ctx_ != nullptr)) end();
  }
  Cancellation(const Cancellation&) = delete;
  const service::Interrupt* interrupt() const noexcept { return ctx_ != nullptr ? &watch_.interrupt : nullptr; }
  // ECANCELED by this context becomes the context's own error; other errors stay.
  std::error_code explain(int error) const noexcept;

 private:
  struct Watch : detail::context_watch {
    service::Interrupt interrupt;
    Descriptor* descriptor;
    Side side;
  };
  void begin(Descriptor& descriptor, Side side) noexcept;
  void end() noexcept;

  const context* ctx_;
  union {
    Watch watch_;  // only with a context, because most calls have none, and must not pay for it
  };
};

// The result of a system call, or -errno. Not inlined, because the caller may switch threads between two calls, and the
// compiler keeps the address of errno for the length of a function.
template <class Call>
__attribute__((noinline)) ssize_t system_call(Call call) noexcept {
  const ssize_t result = call();
  return result >= 0 ? result : -static_cast<ssize_t>(errno);
}

// Calls `attempt(fd)`, which is a non-blocking system_call(), until it need not wait. `wait_first`: the first attempt
// is known to have to wait.
template <class Attempt>
ssize_t repeat(Operation& operation, Attempt attempt, int& error, bool wait_first = false) noexcept {
  for (;;) {
    if (!wait_first) {
      const ssize_t result = attempt(operation.fd());
      if (result >= 0) return result;
      if (result == -EINTR) continue;
      if (result != -EAGAIN) {
        error = static_cast<int>(-result);
        return -1;
      }
    }
    wait_first = false;
    error = operation.wait();
    if (error != 0) return -1;
  }
}

// One operation of a handle that may be empty or closed.
template <class Attempt>
ssize_t perform(void* handle, Side side, const context* ctx, std::error_code& error, Attempt attempt) noexcept {
  error.clear();
  if (handle == nullptr) {
    error = error_from(EBADF);
    return -1;
  }
  auto& descriptor = *static_cast<Descriptor*>(handle);
  const Cancellation cancellation(ctx, descriptor, side);
  Operation operation(descriptor, side, cancellation.interrupt());
  int number = operation.error();
  const ssize_t result = number == 0 ? attempt(operation, number) : -1;
  if (number != 0) error = cancellation.explain(number);
  return result;
}

// Puts a descriptor into the netpoller. Null: `error` says why.
Descriptor* adopt(int fd, std::error_code& error);
Descriptor* adopt_or_close(int fd, std::error_code& error);
// The same for a descriptor of the user's, which is made non-blocking. On failure it stays the user's.
Descriptor* adopt_foreign(int fd, std::error_code& error);

// The parts of "host:port". The port is a number from 0 to 65535, or else the name of a service.
struct HostAndPort {
  std::string host, port;
  bool is_number = false;
};
std::error_code split(std::string_view text, HostAndPort& out);

struct Network {
  int family = 0;  // AF_UNSPEC: both
  int type = 0;
  bool is_unix() const noexcept { return family == AF_UNIX; }
};
// False: no such network.
bool parse_network(std::string_view name, Network& out);

// The addresses to listen on or dial. Names are looked up by a thread of their own, until ctx is cancelled or the
// deadline has passed.
std::vector<address> resolve(const Network& network, std::string_view where, bool passive, const context& ctx,
                             std::int64_t deadline_ns, std::error_code& error);
bool unix_address(std::string_view path, address& out);

address local_address_of(int fd) noexcept;
address remote_address_of(int fd) noexcept;
void set_option(int fd, int level, int name, int value, const char* what);

// One attempt to connect, from the address `from` unless it is empty. Null: `error` says why.
Descriptor* connect_to(const address& to, const address& from, int type, const context* ctx, std::int64_t deadline_ns,
                       std::error_code& error);

}  // namespace weft::net
