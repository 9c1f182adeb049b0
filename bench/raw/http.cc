// SPDX-License-Identifier: MIT
// http: one thread around epoll that sends the same answer for whatever comes in one read; says where it listens, then serves until
// it is killed.
#include "common/socket.h"

#include <sys/epoll.h>

int main() {
  static constexpr char kAnswer[] =
      "HTTP/1.1 200 OK\r\nServer: raw\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: text/plain; "
      "charset=utf-8\r\n"
      "Content-Length: 13\r\n\r\nHello, World!";
  const int listener = bench::listen_anywhere();
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{.events = EPOLLIN, .data = {.fd = listener}};
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
  std::fprintf(stderr, "listening on 127.0.0.1:%d\n", bench::port_of(listener));
  std::vector<char> buffer(8192);
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
      const ssize_t n = read(fd, buffer.data(), buffer.size());
      if (n <= 0 || !bench::write_all(fd, kAnswer, sizeof kAnswer - 1)) close(fd);
    }
  }
}
