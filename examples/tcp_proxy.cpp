// SPDX-License-Identifier: MIT
// A TCP proxy: for each client a connection to the target, two goroutines that copy, one in each direction. The end of one
// direction is passed on while the other goes on (half-close), a reset is passed on as a reset; SIGTERM lets connections end.
//   tcp_proxy [OPTION...] LISTEN TARGET    such as 127.0.0.1:8000 example.org:80
//     --dial MS     how long connecting to the target may take (5000)
//     --idle MS     how long both directions may be silent (300000)
//     --grace MS    how long connections may go on after SIGTERM (10000)
//   tcp_proxy --self-test                  stands between clients and a server of its own, then ends
// check: run --self-test
// check: stdout ^self-test passed$
// check: stdout ^connections: 51, bytes to the target: 50000000, back: 50000000, failed: 1$
// check: within 60
#include <weft/io.h>
#include <weft/net.h>
#include <weft/weft.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace net = weft::net;

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct Settings {
  std::string listen, target;
  milliseconds dial = 5s, idle = 5min, grace = 10s;
};

struct Proxy {
  Settings settings;
  weft::context ending = weft::context::background();
  std::atomic<long> connections{0}, failed{0};
  std::atomic<long long> forth{0}, back{0};
};

class Session {
 public:
  Session(Proxy& proxy, net::conn client, net::conn target)
      : proxy_(proxy), client_(std::move(client)), target_(std::move(target)) {}

  void run() {
    weft::wait_group both;
    const auto [alive, give_up] = weft::with_cancel(proxy_.ending);
    const auto copy = [&, &while_alive = alive, &cancel = give_up](net::conn& from, net::conn& to,
                                                                   Direction& direction) {
      if (!pump(while_alive, from, to, direction)) cancel();  // neither direction is of use without the other
    };
    Direction forth{proxy_.forth}, back{proxy_.back};
    both.go([&] { copy(client_, target_, forth); });
    both.go([&] { copy(target_, client_, back); });
    both.wait();
    if (!alive.cancelled()) return;
    proxy_.failed.fetch_add(1, std::memory_order_relaxed);
    client_.set_linger(0s);  // what was cut off must not look like a proper end
    target_.set_linger(0s);
  }

 private:
  struct Direction {
    std::atomic<long long>& bytes;
    std::vector<std::byte> buffer = std::vector<std::byte>(64 * 1024);
  };

  // Until the end of the stream, which is passed on: true.
  bool pump(const weft::context& alive, net::conn& from, net::conn& to, Direction& direction) {
    std::error_code error;
    for (;;) {
      const auto limit = last_sign_of_life() + proxy_.settings.idle;
      from.set_read_deadline(limit);
      const std::size_t size = from.read(alive, direction.buffer, error);
      if (error == std::errc::timed_out && last_sign_of_life() + proxy_.settings.idle > limit)
        continue;  // the other way is busy
      if (error) return false;
      if (size == 0) break;
      note_life();
      to.set_write_deadline(Clock::now() + proxy_.settings.idle);
      to.write_all(alive, std::span(direction.buffer).first(size), error);
      if (error) return false;
      direction.bytes.fetch_add(static_cast<long long>(size), std::memory_order_relaxed);
    }
    to.close_write();
    return true;
  }

  Clock::time_point last_sign_of_life() const {
    return Clock::time_point(Clock::duration(last_.load(std::memory_order_relaxed)));
  }
  void note_life() { last_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed); }

  Proxy& proxy_;
  net::conn client_, target_;
  std::atomic<Clock::rep> last_{Clock::now().time_since_epoch().count()};
};

void serve(Proxy& proxy, net::conn client) {
  proxy.connections.fetch_add(1, std::memory_order_relaxed);
  std::error_code error;
  const auto [limited, cancel] = weft::with_timeout(proxy.ending, proxy.settings.dial);
  net::conn target = net::dial(limited, "tcp", proxy.settings.target, error);
  cancel();
  if (!target) {
    proxy.failed.fetch_add(1, std::memory_order_relaxed);
    std::fprintf(stderr, "tcp_proxy: %s: %s\n", proxy.settings.target.c_str(), error.message().c_str());
    client.set_linger(0s);
    return;
  }
  Session(proxy, std::move(client), std::move(target)).run();
}

void accept_all(Proxy& proxy, const weft::context& stopping, net::listener& listener, weft::wait_group& open) {
  while (!stopping.cancelled()) {
    std::error_code error;
    net::conn client = listener.accept(stopping, error);
    if (client) {
      open.go([&proxy, client = std::move(client)]() mutable {
        try {
          serve(proxy, std::move(client));
        } catch (const std::exception& fault) {  // no memory for this client, say: the others go on
          std::fprintf(stderr, "tcp_proxy: %s\n", fault.what());
        }
      });
    } else if (!stopping.cancelled()) {  // no descriptors left, say
      weft::this_goroutine::sleep_for(50ms);
    }
  }
  listener.close();
}

// --- self-test: an echo server that answers only once it has seen the end of what it is sent ---

void answer_backwards(net::conn connection) {
  std::vector<std::byte> all, buffer(65536);
  while (const std::size_t size = connection.read(buffer))
    all.insert(all.end(), buffer.begin(), buffer.begin() + static_cast<long>(size));
  std::vector<std::byte> reversed(all.rbegin(), all.rend());
  connection.write_all(reversed);
}

void self_test(const std::string& address, net::listener& backend) {
  weft::wait_group all;
  for (int i = 0; i < 50; ++i) {
    all.go([&, i] {
      std::vector<std::byte> sent(1'000'000), got(sent.size() + 1);
      for (std::size_t at = 0; at < sent.size(); ++at)
        sent[at] = static_cast<std::byte>(at * static_cast<std::size_t>(i + 7) >> 3);
      net::conn connection = net::dial("tcp", address, 30s);
      connection.write_all(sent);
      connection.close_write();
      if (connection.read_full(got) != sent.size() || !std::equal(sent.rbegin(), sent.rend(), got.begin())) {
        std::puts("wrong bytes came back");
        std::exit(1);
      }
    });
  }
  all.wait();
  backend.close();
  // The proxy resets this connection at once: dial itself sees that if the reset comes before it looks.
  std::error_code error;
  net::conn refused = net::dial("tcp", address, 30s, error);
  std::byte one;
  if (refused && refused.read(std::span(&one, 1), error) != 0) error.clear();
  if (error != std::errc::connection_reset) {
    std::puts("a target that refuses is not passed on as a reset");
    std::exit(1);
  }
  std::puts("self-test passed");
  std::raise(SIGTERM);
}

int run_proxy(Settings settings, bool testing) {
  weft::chan<int> stop = weft::io::signals({SIGTERM, SIGINT});
  net::listener backend;
  weft::wait_group background;
  if (testing) {
    backend = net::listen("tcp", "127.0.0.1:0");
    settings.target = backend.address().to_string();
    background.go([&] {
      std::error_code error;
      while (net::conn connection = backend.accept(error))
        background.go([connection = std::move(connection)]() mutable { answer_backwards(std::move(connection)); });
    });
  }
  net::listener listener = net::listen("tcp", settings.listen);
  std::fprintf(stderr, "listening on %s\n", listener.address().to_string().c_str());
  const auto [ending, end] = weft::with_cancel(weft::context::background());
  const auto [stopping, stop_accepting] = weft::with_cancel(ending);
  Proxy proxy{settings, ending};
  weft::wait_group open;
  auto accepting = weft::spawn([&, &until = stopping] { accept_all(proxy, until, listener, open); });
  if (testing) background.go([&, where = listener.address().to_string()] { self_test(where, backend); });
  stop.recv();
  stop_accepting();
  accepting.join();
  if (!open.wait_for(settings.grace))
    std::fprintf(stderr, "tcp_proxy: connections are cut off after the time of grace\n");
  end();
  open.wait();
  background.wait();
  std::printf("connections: %ld, bytes to the target: %lld, back: %lld, failed: %ld\n", proxy.connections.load(),
              proxy.forth.load(), proxy.back.load(), proxy.failed.load());
  return 0;
}

bool read_settings(int argc, char** argv, Settings& settings, bool& testing) {
  std::vector<std::string> addresses;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--self-test") {
      testing = true;
      settings.listen = "127.0.0.1:0";
    } else if (!word.starts_with("-")) {
      addresses.emplace_back(word);
    } else {
      milliseconds* const time = word == "--dial"    ? &settings.dial
                                 : word == "--idle"  ? &settings.idle
                                 : word == "--grace" ? &settings.grace
                                                     : nullptr;
      if (time == nullptr || ++i == argc) return false;
      const std::string_view text = argv[i];
      long value = 0;
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
      if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < 0) return false;
      *time = milliseconds(value);
    }
  }
  if (testing) return addresses.empty();
  if (addresses.size() != 2) return false;
  settings.listen = addresses[0];
  settings.target = addresses[1];
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  bool testing = false;
  if (!read_settings(argc, argv, settings, testing)) {
    std::fprintf(stderr, "usage: tcp_proxy [--dial|--idle|--grace MS] LISTEN TARGET\n");
    return 2;
  }
  return weft::run([&] {
    try {
      return run_proxy(settings, testing);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "tcp_proxy: %s\n", error.what());
      return 1;
    }
  });
}
