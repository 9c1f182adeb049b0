// SPDX-License-Identifier: MIT
// echo: a TCP server with one goroutine per connection; prints its port, then serves until it is killed.
#include "common/bench.h"

#include <array>

#include <weft/go.h>
#include <weft/net.h>
#include <weft/runtime.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const auto size = static_cast<std::size_t>(args.get("size", 1024));
  weft::run({.maxprocs = args.procs()}, [&] {
    auto listener = weft::net::listen("tcp", "127.0.0.1:0");
    bench::report("port", listener.port());
    for (;;)
      weft::go([connection = listener.accept(), size]() mutable {
        std::vector<std::byte> buffer(size);
        while (const std::size_t n = connection.read(buffer)) connection.write_all(std::span(buffer).first(n));
      });
  });
}
