// SPDX-License-Identifier: MIT
// echo: a TCP server with one thread per connection; prints its port, then serves until it is killed.
#include "common/bench.h"
#include "common/socket.h"

#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  args.procs();  // the harness pins the whole server to one CPU
  const auto size = static_cast<std::size_t>(args.get("size", 1024));
  const int listener = bench::listen_anywhere();
  bench::report("port", bench::port_of(listener));
  for (;;) {
    const int connection = accept(listener, nullptr, nullptr);
    if (connection < 0) bench::fail("accept failed");
    bench::set_no_delay(connection);
    std::thread([connection, size] {
      std::vector<char> buffer(size);
      for (ssize_t n; (n = read(connection, buffer.data(), size)) > 0;)
        if (!bench::write_all(connection, buffer.data(), static_cast<std::size_t>(n))) break;
      close(connection);
    }).detach();
  }
}
