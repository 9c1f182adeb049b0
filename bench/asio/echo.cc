// SPDX-License-Identifier: MIT
// echo: a TCP server with one coroutine per connection; prints its port, then serves until it is killed.
#include "asio/run.h"

using asio::ip::tcp;

static Task serve(tcp::socket connection, std::size_t size) {
  std::vector<char> buffer(size);
  boost::system::error_code error;
  for (;;) {
    const std::size_t n =
        co_await connection.async_read_some(asio::buffer(buffer), asio::redirect_error(use_awaitable, error));
    if (error) co_return;
    co_await asio::async_write(connection, asio::buffer(buffer, n), asio::redirect_error(use_awaitable, error));
    if (error) co_return;
  }
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const auto size = static_cast<std::size_t>(args.get("size", 1024));
  run(args.procs(), [&](asio::io_context& context) -> Task {
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    bench::report("port", acceptor.local_endpoint().port());
    for (;;) {
      tcp::socket connection = co_await acceptor.async_accept(use_awaitable);
      connection.set_option(tcp::no_delay(true));
      asio::co_spawn(context, serve(std::move(connection), size), check);
    }
  });
}
