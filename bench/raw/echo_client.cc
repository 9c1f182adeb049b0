// SPDX-License-Identifier: MIT
// The load generator of the echo rows, the same for every server: `connections` sockets, each always has one message of `size`
// bytes under way; counts the round trips of `ms` milliseconds after a short start. With `idle` it does so twice: so many further
// connections send one message each before the second time, and then nothing more.
#include "common/socket.h"

#include <sys/epoll.h>

namespace {

struct Connection {
  int fd;
  std::size_t missing;  // bytes of the current reply still to come
  double sent_at;
};

int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = bench::local_address(port);
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    bench::fail(std::string("cannot connect to the server: ") + std::strerror(errno));
  bench::set_no_delay(fd);
  return fd;
}

long resident_kib_of(long pid) {
  long total = 0, resident = 0;
  if (FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/statm").c_str(), "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

class Load {
 public:
  Load(int port, std::size_t count, std::size_t size) : message_(size, 'x'), buffer_(size), connections_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      connections_[i] = {connect_to(port), 0, 0};
      epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
      epoll_ctl(poller_, EPOLL_CTL_ADD, connections_[i].fd, &event);
    }
  }

  // Leaves no message under way.
  void run(double ms) {
    for (auto& connection : connections_) send(connection);
    const double counting_from = bench::now_ns() + 200e6, end = counting_from + ms * 1e6;
    long replies = 0;
    std::size_t under_way = connections_.size();
    trip_us_.clear();
    epoll_event events[128];
    for (double now = bench::now_ns(); under_way > 0; now = bench::now_ns()) {
      const int ready = epoll_wait(poller_, events, 128, 100);
      for (int i = 0; i < ready; ++i) {
        Connection& connection = connections_[events[i].data.u64];
        const ssize_t n = read(connection.fd, buffer_.data(), connection.missing);
        if (n <= 0) bench::fail("the server closed a connection");
        connection.missing -= static_cast<std::size_t>(n);
        if (connection.missing > 0) continue;
        ++total;
        if (now >= end) {
          --under_way;
          continue;
        }
        if (now >= counting_from) {
          ++replies;
          if (replies % 16 == 0) trip_us_.push_back((bench::now_ns() - connection.sent_at) / 1000);
        }
        send(connection);
      }
      if (ready == 0 && now > end + 5e9) bench::fail("the server does not answer");
    }
    per_s = static_cast<double>(replies) / (ms / 1000);
    p99_us = bench::percentile(trip_us_, .99);
  }

  // One more connection that has been served once.
  void add_idle(int port) {
    const int fd = connect_to(port);
    if (!bench::write_all(fd, message_.data(), message_.size())) bench::fail("the server closed a connection");
    for (std::size_t got = 0; got < message_.size();) {
      const ssize_t n = read(fd, buffer_.data(), message_.size() - got);
      if (n <= 0) bench::fail("the server closed a connection");
      got += static_cast<std::size_t>(n);
    }
    ++total;
  }

  long total = 0;
  double per_s = 0, p99_us = 0;

 private:
  void send(Connection& connection) {
    connection.missing = message_.size();
    connection.sent_at = bench::now_ns();
    if (!bench::write_all(connection.fd, message_.data(), message_.size()))
      bench::fail("the server closed a connection");
  }

  const int poller_ = epoll_create1(EPOLL_CLOEXEC);
  const std::vector<char> message_;
  std::vector<char> buffer_;
  std::vector<Connection> connections_;
  std::vector<double> trip_us_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const int port = static_cast<int>(args.get("port", 0));
  const auto count = static_cast<std::size_t>(args.get("connections", 64));
  const auto size = static_cast<std::size_t>(args.get("size", 1024));
  const double ms = static_cast<double>(args.get("ms", 1500));
  const long idle = args.get("idle", 0), server = args.get("server", 0);
  Load load(port, count, size);
  load.run(ms);
  if (idle > 0) {
    const double alone = load.p99_us;
    const long before = resident_kib_of(server);
    for (long i = 0; i < idle; ++i) load.add_idle(port);
    bench::sleep_thread_us(200'000);
    bench::report("idle_kib", static_cast<double>(resident_kib_of(server) - before) / static_cast<double>(idle));
    load.run(ms);
    bench::report("p99_ratio", load.p99_us / alone);
  }
  bench::report("all_messages", static_cast<double>(load.total));
  bench::report("messages_per_s", load.per_s);
  bench::report("trip_p99_us", load.p99_us);
}
