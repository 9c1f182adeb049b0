// SPDX-License-Identifier: MIT
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>
#include <algorithm>
#include <memory>

#include "api/address_error.h"
#include "api/socket.h"
#include "api/start.h"
#include "os/clock.h"
#include "sched/state/control.h"
#include "sched/wait/sleep.h"
#include "weft/chan.h"
#include "weft/go.h"
#include "weft/select.h"

// Dialling.
//   Order     As the system's resolver sorts the addresses (RFC 6724), families alternating (RFC 8305), so that a
//             broken IPv6 costs one delay.
//   Race      The next attempt starts when the last has failed or has taken fallback_delay (250 ms). The first
//             connection wins; the others are cancelled, and closed by their own goroutines.
//   Verdict   A wake-up may belong to something older. So the socket is asked whether the connection stands (SO_ERROR,
//             then its peer).
namespace weft::net {
namespace {

constexpr std::int64_t kFirstPauseNs = 500'000, kLongestPauseNs = 50'000'000;

int pending_error(int fd) noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : EBADF;
}

bool has_peer(int fd) noexcept { return static_cast<bool>(remote_address_of(fd)); }

// Returns 0 when connected, else the error.
int finish_connecting(Operation& operation, const address& to) noexcept {
  const int fd = operation.fd();
  const auto attempt = [&] {
    return system_call(
        [&] { return connect(fd, static_cast<const sockaddr*>(to.data()), static_cast<socklen_t>(to.size())); });
  };
  ssize_t result = attempt();
  // A Unix listener whose queue is full refuses, and never reports that there is room again. So try again after a
  // pause.
  for (std::int64_t pause = kFirstPauseNs; result == -EAGAIN; pause = std::min(pause * 2, kLongestPauseNs)) {
    if (const int stop = operation.reason_to_stop()) return stop;
    sched::sleep_until(sched::caller_now_ns() + pause);
    result = attempt();
  }
  if (result == 0 || result == -EISCONN) return 0;
  if (result != -EINPROGRESS && result != -EINTR && result != -EALREADY) return static_cast<int>(-result);
  for (;;) {
    if (const int error = operation.wait()) return error;
    if (const int error = pending_error(fd)) return error;
    if (has_peer(fd)) return 0;
  }
}

int bind_locally(int fd, const address& from) noexcept {
  // A port that is not named is chosen when the peer is known, so it need not be free towards all others.
  const int on = 1;
  if (from.family() != AF_UNIX && from.port() == 0) setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  return static_cast<int>(-system_call(
      [&] { return bind(fd, static_cast<const sockaddr*>(from.data()), static_cast<socklen_t>(from.size())); }));
}

struct Outcome {
  conn made;
  std::error_code error;
};

// Families alternate, beginning with the first one's.
std::vector<address> interleave(const std::vector<address>& sorted) {
  std::vector<address> first, second, result;
  for (const address& each : sorted) (each.family() == sorted.front().family() ? first : second).push_back(each);
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) result.push_back(first[i]);
    if (i < second.size()) result.push_back(second[i]);
  }
  return result;
}

// Where to and where from; `from` is empty if the system chooses.
struct Route {
  address to, from;
};

// A route to each address for which there is a local one.
std::vector<Route> routes(const std::vector<address>& to, const std::vector<address>& from) {
  std::vector<Route> result;
  for (const address& each : to) {
    const auto own =
        std::find_if(from.begin(), from.end(), [&](const address& a) { return a.family() == each.family(); });
    if (from.empty()) result.push_back({each, {}});
    if (own != from.end()) result.push_back({each, *own});
  }
  return result;
}

conn race(const std::vector<Route>& ways, int type, const context& ctx, std::int64_t deadline_ns,
          std::chrono::nanoseconds next_attempt, std::error_code& error) {
  const auto cancellable = with_cancel(ctx);
  const context& racing = cancellable.first;
  chan<Outcome> outcomes(ways.size());
  std::size_t started = 0, failed = 0;
  std::error_code first_error;
  conn winner;
  const auto start_next = [&] {
    go([outcomes, way = ways[started], type, racing, deadline_ns]() mutable {
      Outcome outcome;
      Descriptor* descriptor = connect_to(way.to, way.from, type, &racing, deadline_ns, outcome.error);
      if (descriptor != nullptr) outcome.made = socket_access::make_conn(descriptor, type == SOCK_STREAM);
      outcomes.send(std::move(outcome));
    });
    ++started;
  };
  start_next();
  while (!winner && failed < ways.size()) {
    recv_result<Outcome> result{chan_status::empty, std::nullopt};
    if (started < ways.size()) {
      result = outcomes.recv_for(next_attempt);
    } else {
      result = {chan_status::received, outcomes.recv()};
    }
    if (!result) {
      start_next();
      continue;
    }
    if (result.value->made) {
      winner = std::move(result.value->made);
    } else {
      ++failed;
      if (!first_error) first_error = result.value->error;
      const bool hopeless = ctx.cancelled() || (deadline_ns != os::kForever && sched::caller_now_ns() >= deadline_ns);
      if (hopeless) break;
      if (started < ways.size()) start_next();
    }
  }
  cancellable.second();
  if (!winner) error = first_error;
  return winner;
}

}  // namespace

Descriptor* connect_to(const address& to, const address& from, int type, const context* ctx, std::int64_t deadline_ns,
                       std::error_code& error) {
  const ssize_t fd = system_call([&] { return socket(to.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  if (fd < 0) {
    error = error_from(static_cast<int>(-fd));
    return nullptr;
  }
  if (type == SOCK_STREAM && to.family() != AF_UNIX) {
    const int on = 1;
    setsockopt(static_cast<int>(fd), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(static_cast<int>(fd), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  if (from) {
    const int number = bind_locally(static_cast<int>(fd), from);
    if (number != 0) {
      ::close(static_cast<int>(fd));
      error = error_from(number);
      return nullptr;
    }
  }
  Descriptor* descriptor = adopt_or_close(static_cast<int>(fd), error);
  if (descriptor == nullptr) return nullptr;
  if (deadline_ns != os::kForever) descriptor->set_deadline(Side::kWrite, deadline_ns);
  perform(descriptor, Side::kWrite, ctx, error, [&](Operation& operation, int& number) -> ssize_t {
    number = finish_connecting(operation, to);
    return 0;
  });
  if (error) {
    service::netpoll().destroy(*descriptor);
    return nullptr;
  }
  if (deadline_ns != os::kForever) descriptor->set_deadline(Side::kWrite, os::kForever);
  return descriptor;
}

namespace {
conn dial_by(const context& ctx, std::string_view network_name, std::string_view where, const dial_options& options,
             std::int64_t deadline_ns, std::error_code& error) {
  error.clear();
  Network network;
  if (!parse_network(network_name, network)) {
    error = make_error(AddressError::kNetwork);
    return {};
  }
  api::ensure_started();
  std::vector<address> local;
  if (!options.local_address.empty()) local = resolve(network, options.local_address, true, ctx, deadline_ns, error);
  if (error) return {};
  const std::vector<address> remote = resolve(network, where, false, ctx, deadline_ns, error);
  if (error) return {};
  const std::vector<Route> ways = routes(interleave(remote), local);
  if (ways.empty()) {
    error = error_from(EAFNOSUPPORT);
    return {};
  }
  if (ways.size() > 1) return race(ways, network.type, ctx, deadline_ns, options.fallback_delay, error);
  Descriptor* descriptor = connect_to(ways[0].to, ways[0].from, network.type, &ctx, deadline_ns, error);
  return descriptor != nullptr ? socket_access::make_conn(descriptor, network.type == SOCK_STREAM && !network.is_unix())
                               : conn();
}

void throw_if_failed(const std::error_code& error, std::string_view where) {
  if (error) detail::throw_io_error(error, ("dial " + std::string(where)).c_str());
}
}  // namespace

conn dial_until(const context& ctx, std::string_view network, std::string_view where, time_point deadline,
                std::error_code& error) {
  return dial_by(ctx, network, where, {}, detail::deadline_at(deadline), error);
}

conn dial(const context& ctx, std::string_view network, std::string_view where, const dial_options& options,
          std::error_code& error) {
  return dial_by(ctx, network, where, options, detail::deadline_in(options.timeout), error);
}
conn dial(const context& ctx, std::string_view network, std::string_view where, const dial_options& options) {
  std::error_code error;
  conn made = dial(ctx, network, where, options, error);
  throw_if_failed(error, where);
  return made;
}
conn dial(std::string_view network, std::string_view where, const dial_options& options, std::error_code& error) {
  return dial(context::background(), network, where, options, error);
}
conn dial(std::string_view network, std::string_view where, const dial_options& options) {
  return dial(context::background(), network, where, options);
}

conn dial(std::string_view network, std::string_view where, std::error_code& error) {
  return dial_until(context::background(), network, where, time_point::max(), error);
}
conn dial(const context& ctx, std::string_view network, std::string_view where, std::error_code& error) {
  return dial_until(ctx, network, where, time_point::max(), error);
}
conn dial(const context& ctx, std::string_view network, std::string_view where) {
  std::error_code error;
  conn made = dial(ctx, network, where, error);
  throw_if_failed(error, where);
  return made;
}
conn dial(std::string_view network, std::string_view where) { return dial(context::background(), network, where); }

}  // namespace weft::net
