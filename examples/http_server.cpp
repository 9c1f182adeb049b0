// SPDX-License-Identifier: MIT
// An HTTP/1.1 server: one goroutine for each connection, blocking code; keep-alive, pipelining, chunked bodies in both directions,
// limits on everything a client may send, time-outs against slow ones, and a graceful end on SIGTERM or SIGINT.
//   http_server [OPTION...] [ADDRESS]    serves on it (default 127.0.0.1:8080); try `wrk -t1 -c64 http://127.0.0.1:8080/plaintext`
//     --root DIR         what is below it is served as /files/...
//     --idle MS          how long a connection may wait for its next request (60000)
//     --slow MS          how long a request may take to arrive, head and body each (10000): then 408
//     --unread MS        how long a client may leave answers unread (30000)
//     --grace MS         how long requests under way may take after SIGTERM (10000)
//     --connections N    how many at a time (10000); more wait to be accepted
//     --certificate FILE serves HTTPS with this certificate (PEM), where weft::tls is linked: `weft run --tls`
//     --key FILE         and this key; without it, the key is in the same file
//   http_server --self-test              talks to itself, then ends
// check: run --self-test
// check: stdout ^self-test passed$
// check: stdout ^requests: [0-9]+, of them refused: [1-9]
#include <weft/io.h>
#include <weft/net.h>
#include <weft/weft.h>
#ifdef WEFT_HAS_TLS
#include <weft/tls.h>
#endif

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include "http/connection.h"
#include "http/self_test.h"
#include "http/server.h"

namespace net = weft::net;
namespace io = weft::io;

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// net::listener, or tls::listener for HTTPS.
template <class Listener>
void accept_all(http::Server& server, Listener& listener, weft::wait_group& open) {
  weft::counting_semaphore<> room(server.settings.connections);
  while (!server.stopping.cancelled()) {
    if (!room.try_acquire_for(100ms)) continue;
    std::error_code error;
    auto socket = listener.accept(server.stopping, error);
    if (!socket) {
      room.release();
      if (!server.stopping.cancelled()) weft::this_goroutine::sleep_for(50ms);  // no descriptors left, say
      continue;
    }
    open.go([&server, &room, socket = std::move(socket)]() mutable {
      try {
        http::Connection(server, std::move(socket)).serve();
      } catch (const std::exception& fault) {  // no memory for this client, say: the others go on
        std::fprintf(stderr, "http_server: %s\n", fault.what());
      }
      room.release();
    });
  }
  listener.close();
  open.done();
  open.wait();
}

template <class Listener>
int serve(Listener listener, const http::Settings& settings, bool testing) {
  weft::chan<int> stop = io::signals({SIGTERM, SIGINT});
  std::fprintf(stderr, "listening on %s\n", listener.address().to_string().c_str());
  const auto [ending, end] = weft::with_cancel(weft::context::background());
  const auto [stopping, stop_accepting] = weft::with_cancel(ending);
  http::Server server{settings, stopping, ending};
  weft::wait_group open;
  open.add(1);
  auto accepting = weft::spawn([&] { accept_all(server, listener, open); });
  if (testing) weft::go([where = listener.address().to_string()] { http::self_test(where); });
  stop.recv();
  stop_accepting();
  if (!open.wait_for(settings.grace))
    std::fprintf(stderr, "http_server: requests are cut short after the time of grace\n");
  end();
  accepting.join();
  std::printf("requests: %ld, of them refused: %ld\n", server.requests + server.refused, server.refused.load());
  return 0;
}

int serve(const http::Settings& settings, bool testing) {
  if (settings.certificate.empty()) return serve(net::listen("tcp", settings.address), settings, testing);
#ifdef WEFT_HAS_TLS
  weft::tls::config tls;
  tls.certificate = settings.certificate;
  tls.key = settings.key;
  tls.alpn = {"http/1.1"};
  return serve(weft::tls::listen("tcp", settings.address, tls), settings, testing);
#else
  std::fprintf(stderr, "http_server: HTTPS needs weft::tls: build it with `weft build --tls` or with CMake\n");
  return 2;
#endif
}

bool read_settings(int argc, char** argv, http::Settings& settings, bool& testing) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--self-test") {
      testing = true;
      settings.address = "127.0.0.1:0";
    } else if (!word.starts_with("-")) {
      settings.address = word;
    } else if (++i == argc) {
      return false;
    } else if (word == "--root") {
      settings.root = argv[i];
    } else if (word == "--certificate") {
      settings.certificate = argv[i];
    } else if (word == "--key") {
      settings.key = argv[i];
    } else {
      const auto number = http::number_after(argv[i], "", 1'000'000'000);
      if (!number) return false;
      if (word == "--connections") {
        settings.connections = std::max(*number, 1L);
        continue;
      }
      milliseconds* const time = word == "--idle"     ? &settings.idle
                                 : word == "--slow"   ? &settings.slow
                                 : word == "--unread" ? &settings.unread
                                 : word == "--grace"  ? &settings.grace
                                                      : nullptr;
      if (time == nullptr) return false;
      *time = milliseconds(*number);
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  http::Settings settings;
  bool testing = false;
  if (!read_settings(argc, argv, settings, testing)) {
    std::fprintf(stderr,
                 "usage: http_server [--root DIR] [--idle|--slow|--unread|--grace MS] [--connections N]\n"
                 "                   [--certificate FILE [--key FILE]] [ADDRESS]\n");
    return 2;
  }
  return weft::run([&] {
    try {
      return serve(settings, testing);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "http_server: %s\n", error.what());
      return 1;
    }
  });
}
