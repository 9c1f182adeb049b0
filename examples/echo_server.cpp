// SPDX-License-Identifier: MIT
// An echo server: one goroutine for each connection, blocking code, graceful end on SIGTERM or SIGINT.
//   echo_server [ADDRESS]       serves on it (default 127.0.0.1:7777); try `socat - TCP:127.0.0.1:7777`
//   echo_server --self-test     serves 100 clients of its own, then ends as on SIGTERM
// check: run --self-test
// check: stdout ^100 clients served, 10000 messages echoed$
#include <weft/io.h>
#include <weft/net.h>
#include <weft/weft.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

namespace net = weft::net;

namespace {

using namespace std::chrono_literals;

std::atomic<int> messages{0}, clients{0};

// Until the client closes, is silent for a minute, or the server ends.
void serve(const weft::context& ctx, net::conn connection) {
  std::array<std::byte, 2048> buffer;  // on its stack: a large one would make thousands of idle clients dear
  std::error_code error;
  for (;;) {
    connection.set_deadline(std::chrono::steady_clock::now() + 1min);
    const std::size_t size = connection.read(ctx, buffer, error);
    if (size == 0) break;
    connection.write_all(std::span(buffer).first(size), error);
    if (error) break;
    ++messages;
  }
  ++clients;
}

void accept_all(const weft::context& ctx, net::listener& listener) {
  weft::wait_group open;
  for (;;) {
    std::error_code error;
    net::conn connection = listener.accept(ctx, error);
    if (ctx.cancelled()) break;
    if (error) {  // no descriptors left, say: those who are served will give some back
      std::fprintf(stderr, "accept: %s\n", error.message().c_str());
      weft::this_goroutine::sleep_for(50ms);
      continue;
    }
    open.go([&ctx, connection = std::move(connection)]() mutable { serve(ctx, std::move(connection)); });
  }
  open.wait();
}

void self_test(const std::string& address) {
  weft::wait_group all;
  for (int i = 0; i < 100; ++i)
    all.go([&] {
      net::conn connection = net::dial("tcp", address, 10s);
      for (int round = 0; round < 100; ++round) {
        const std::string text = "round " + std::to_string(round);
        std::string back(text.size(), '\0');
        connection.write(text);
        if (connection.read_full(std::as_writable_bytes(std::span(back))) != text.size() || back != text) std::abort();
      }
    });
  all.wait();
  while (clients < 100) weft::this_goroutine::sleep_for(1ms);
  std::raise(SIGTERM);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view argument = argc > 1 ? argv[1] : "127.0.0.1:7777";
  const bool testing = argument == "--self-test";
  return weft::run([&] {
    try {
      weft::chan<int> stop = weft::io::signals({SIGTERM, SIGINT});
      net::listener listener = net::listen("tcp", testing ? "127.0.0.1:0" : argument);
      const auto [ctx, cancel] = weft::with_cancel(weft::context::background());
      std::fprintf(stderr, "listening on %s\n", listener.address().to_string().c_str());
      auto accepting = weft::spawn([&, &server = ctx] { accept_all(server, listener); });
      if (testing) weft::go([where = listener.address().to_string()] { self_test(where); });
      stop.recv();
      cancel();
      accepting.join();
      std::printf("%d clients served, %d messages echoed\n", clients.load(), messages.load());
      return 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "echo_server: %s\n", error.what());
      return 1;
    }
  });
}
