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
#include "sched/sleep.h"
#include "weft/chan.h"
#include "weft/go.h"
#include "weft/select.h"

// Dialling.
//   Order     as the system's resolver sorts them (RFC 6724), families alternating (RFC 8305), so that a broken IPv6 costs one delay.
//   Race      the next attempt starts when the last has failed or has taken 250 ms; the first connection wins, the others are
//             cancelled and closed by their own goroutines.
//   Verdict   a wake-up may be of an older story: whether a connection stands is asked of the socket (SO_ERROR, then its peer).
namespace weft::net {
namespace {

constexpr auto kNextAttempt = std::chrono::milliseconds(250);
constexpr std::int64_t kFirstPauseNs = 500'000, kLongestPauseNs = 50'000'000;

int pending_error(int fd) noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : EBADF;
}

bool has_peer(int fd) noexcept { return static_cast<bool>(remote_address_of(fd)); }

// Connected (0), or why not.
int finish_connecting(Operation& operation, const address& to) noexcept {
  const int fd = operation.fd();
  const auto attempt = [&] {
    return system_call(
        [&] { return connect(fd, static_cast<const sockaddr*>(to.data()), static_cast<socklen_t>(to.size())); });
  };
  ssize_t result = attempt();
  // A Unix listener whose queue is full refuses without ever reporting that there is room again.
  for (std::int64_t pause = kFirstPauseNs; result == -EAGAIN; pause = std::min(pause * 2, kLongestPauseNs)) {
    if (const int stop = operation.reason_to_stop()) return stop;
    sched::sleep_until(os::now_ns() + pause);
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

conn race(const std::vector<address>& addresses, int type, const context& ctx, std::int64_t deadline_ns,
          std::error_code& error) {
  const auto cancellable = with_cancel(ctx);
  const context& racing = cancellable.first;
  chan<Outcome> outcomes(addresses.size());
  std::size_t started = 0, failed = 0;
  std::error_code first_error;
  conn winner;
  const auto start_next = [&] {
    go([outcomes, to = addresses[started], type, racing, deadline_ns]() mutable {
      Outcome outcome;
      Descriptor* descriptor = connect_to(to, type, &racing, deadline_ns, outcome.error);
      if (descriptor != nullptr) outcome.made = socket_access::make_conn(descriptor, type == SOCK_STREAM);
      outcomes.send(std::move(outcome));
    });
    ++started;
  };
  start_next();
  while (!winner && failed < addresses.size()) {
    recv_result<Outcome> result{chan_status::empty, std::nullopt};
    if (started < addresses.size()) {
      result = outcomes.recv_for(kNextAttempt);
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
      const bool hopeless = ctx.cancelled() || (deadline_ns != os::kForever && os::now_ns() >= deadline_ns);
      if (hopeless) break;
      if (started < addresses.size()) start_next();
    }
  }
  cancellable.second();
  if (!winner) error = first_error;
  return winner;
}

}  // namespace

Descriptor* connect_to(const address& to, int type, const context* ctx, std::int64_t deadline_ns,
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

conn dial_until(const context& ctx, std::string_view network_name, std::string_view where, time_point deadline,
                std::error_code& error) {
  error.clear();
  Network network;
  if (!parse_network(network_name, network)) {
    error = make_error(AddressError::kNetwork);
    return {};
  }
  const std::int64_t deadline_ns = detail::deadline_at(deadline);
  api::ensure_started();
  const std::vector<address> addresses = resolve(network, where, false, ctx, deadline_ns, error);
  if (error) return {};
  if (addresses.size() > 1) return race(interleave(addresses), network.type, ctx, deadline_ns, error);
  Descriptor* descriptor = connect_to(addresses.front(), network.type, &ctx, deadline_ns, error);
  return descriptor != nullptr ? socket_access::make_conn(descriptor, network.type == SOCK_STREAM && !network.is_unix())
                               : conn();
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
  if (error) detail::throw_io_error(error, ("dial " + std::string(where)).c_str());
  return made;
}
conn dial(std::string_view network, std::string_view where) { return dial(context::background(), network, where); }

}  // namespace weft::net
