// SPDX-License-Identifier: MIT
// The load generator of the echo row, the same for every server: `connections` sockets, each always has one message of
// `size` bytes under way; counts the round trips of `ms` milliseconds after a short start.
#include "common/socket.h"

#include <sys/epoll.h>

struct Connection {
  int fd;
  std::size_t missing;  // bytes of the current reply still to come
  double sent_at;
};

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const int port = static_cast<int>(args.get("port", 0));
  const long count = args.get("connections", 64);
  const auto size = static_cast<std::size_t>(args.get("size", 1024));
  const double ms = static_cast<double>(args.get("ms", 1500));
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  const std::vector<char> message(size, 'x');
  std::vector<char> buffer(size);
  std::vector<Connection> connections(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = bench::local_address(port);
    if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      bench::fail(std::string("cannot connect to the server: ") + std::strerror(errno));
    bench::set_no_delay(fd);
    connections[i] = {fd, 0, 0};
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
  }
  const auto send = [&](Connection& connection) {
    connection.missing = size;
    connection.sent_at = bench::now_ns();
    if (!bench::write_all(connection.fd, message.data(), size)) bench::fail("the server closed a connection");
  };
  for (auto& connection : connections) send(connection);
  const double counting_from = bench::now_ns() + 200e6;
  const double end = counting_from + ms * 1e6;
  long replies = 0, total = 0;
  std::vector<double> trip_us;
  epoll_event events[128];
  for (double now = bench::now_ns(); now < end; now = bench::now_ns()) {
    const int ready = epoll_wait(poller, events, 128, 100);
    for (int i = 0; i < ready; ++i) {
      Connection& connection = connections[events[i].data.u64];
      const ssize_t n = read(connection.fd, buffer.data(), connection.missing);
      if (n <= 0) bench::fail("the server closed a connection");
      connection.missing -= static_cast<std::size_t>(n);
      if (connection.missing > 0) continue;
      ++total;
      if (now >= counting_from) {
        ++replies;
        if (replies % 16 == 0) trip_us.push_back((bench::now_ns() - connection.sent_at) / 1000);
      }
      send(connection);
    }
  }
  bench::report("all_messages", static_cast<double>(total));
  bench::report("messages_per_s", static_cast<double>(replies) / (ms / 1000));
  bench::report("trip_p99_us", bench::percentile(trip_us, .99));
}
