// SPDX-License-Identifier: MIT
// echo: a TCP server as one thread around epoll; prints its port, then serves until it is killed.
#include "common/socket.h"

#include <sys/epoll.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  args.procs();
  const auto size = static_cast<std::size_t>(args.get("size", 1024));
  const int listener = bench::listen_anywhere();
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{.events = EPOLLIN, .data = {.fd = listener}};
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
  bench::report("port", bench::port_of(listener));
  std::vector<char> buffer(size);
  epoll_event events[128];
  for (;;) {
    const int ready = epoll_wait(poller, events, 128, -1);
    for (int i = 0; i < ready; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener) {
        const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection < 0) bench::fail("accept failed");
        bench::set_no_delay(connection);
        event.data.fd = connection;
        epoll_ctl(poller, EPOLL_CTL_ADD, connection, &event);
        continue;
      }
      const ssize_t n = read(fd, buffer.data(), size);
      if (n <= 0 || !bench::write_all(fd, buffer.data(), static_cast<std::size_t>(n))) close(fd);
    }
  }
}
