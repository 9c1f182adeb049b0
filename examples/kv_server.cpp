// SPDX-License-Identifier: MIT
// A key-value server that speaks RESP, so that redis-cli and redis-benchmark can talk to it. One goroutine for each connection;
// the keys are spread over shards, each with its own lock.
//   kv_server [ADDRESS]      serves on it (default 127.0.0.1:6379); try `redis-benchmark -t set,get -P 16 -q`
//   kv_server --self-test    talks to itself, in pieces of every size, then ends
// check: run --self-test
// check: stdout ^self-test passed$
#include <weft/io.h>
#include <weft/net.h>
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "resp/request_parser.h"

namespace net = weft::net;

namespace {

using namespace std::chrono_literals;

// --- the store ---

class Store {
 public:
  std::optional<std::string> get(const std::string& key) {
    Shard& shard = shard_of(key);
    const std::lock_guard guard(shard.lock);
    const auto found = shard.values.find(key);
    return found != shard.values.end() ? std::optional(found->second) : std::nullopt;
  }
  void set(const std::string& key, std::string value) {
    Shard& shard = shard_of(key);
    const std::lock_guard guard(shard.lock);
    shard.values.insert_or_assign(key, std::move(value));
  }
  bool remove(const std::string& key) {
    Shard& shard = shard_of(key);
    const std::lock_guard guard(shard.lock);
    return shard.values.erase(key) != 0;
  }
  // Nullopt: not a number, or too large.
  std::optional<long long> increment(const std::string& key) {
    Shard& shard = shard_of(key);
    const std::lock_guard guard(shard.lock);
    std::string& value = shard.values.try_emplace(key, "0").first->second;
    long long number = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) return std::nullopt;
    if (__builtin_add_overflow(number, 1, &number)) return std::nullopt;
    value = std::to_string(number);
    return number;
  }
  std::size_t size() {
    std::size_t sum = 0;
    for (Shard& shard : shards_) {
      const std::lock_guard guard(shard.lock);
      sum += shard.values.size();
    }
    return sum;
  }
  void clear() {
    for (Shard& shard : shards_) {
      const std::lock_guard guard(shard.lock);
      shard.values.clear();
    }
  }

 private:
  struct Shard {
    weft::mutex lock;
    std::unordered_map<std::string, std::string> values;
  };
  Shard& shard_of(const std::string& key) { return shards_[std::hash<std::string>()(key) % shards_.size()]; }
  std::array<Shard, 64> shards_;
};

// --- one connection ---

void add_bulk(std::string& out, const std::string& text) {
  out += "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}
void add_number(std::string& out, long long value) { out += ":" + std::to_string(value) + "\r\n"; }

// False: the client has said good-bye.
bool answer(Store& store, std::vector<std::string>& arguments, std::string& out) {
  if (arguments.empty()) return true;
  std::string name = arguments[0];
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::size_t count = arguments.size();
  const auto is = [&](std::string_view wanted, std::size_t least, std::size_t most = SIZE_MAX) {
    return name == wanted && count >= least && count <= most;
  };
  if (is("PING", 1, 1)) {
    out += "+PONG\r\n";
  } else if (is("PING", 2, 2) || is("ECHO", 2, 2)) {
    add_bulk(out, arguments[1]);
  } else if (is("SET", 3, 3)) {
    store.set(arguments[1], std::move(arguments[2]));
    out += "+OK\r\n";
  } else if (is("GET", 2, 2)) {
    const auto value = store.get(arguments[1]);
    if (value) {
      add_bulk(out, *value);
    } else {
      out += "$-1\r\n";
    }
  } else if (is("DEL", 2)) {
    add_number(out,
               std::count_if(arguments.begin() + 1, arguments.end(), [&](auto& key) { return store.remove(key); }));
  } else if (is("EXISTS", 2)) {
    add_number(out, std::count_if(arguments.begin() + 1, arguments.end(),
                                  [&](auto& key) { return store.get(key).has_value(); }));
  } else if (is("INCR", 2, 2)) {
    const auto value = store.increment(arguments[1]);
    if (value) {
      add_number(out, *value);
    } else {
      out += "-ERR value is not an integer or out of range\r\n";
    }
  } else if (is("DBSIZE", 1, 1)) {
    add_number(out, static_cast<long long>(store.size()));
  } else if (is("FLUSHALL", 1)) {
    store.clear();
    out += "+OK\r\n";
  } else if (is("CONFIG", 2) || is("COMMAND", 1)) {  // what the clients ask first
    out += "*0\r\n";
  } else if (is("QUIT", 1)) {
    out += "+OK\r\n";
    return false;
  } else {
    name.resize(std::min<std::size_t>(name.size(), 64));
    std::replace_if(name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    out += "-ERR unknown command or wrong number of arguments for '" + name + "'\r\n";
  }
  return true;
}

void serve(Store& store, const weft::context& ctx, net::conn connection) {
  resp::RequestParser parser;
  std::array<char, 16384> buffer;
  std::vector<std::string> arguments;
  std::string out;
  std::error_code error;
  for (bool open = true; open;) {
    const std::size_t size = connection.read(ctx, std::as_writable_bytes(std::span(buffer)), error);
    if (size == 0) return;
    parser.feed({buffer.data(), size});
    out.clear();
    resp::RequestParser::Result result = resp::RequestParser::Result::incomplete;
    while (open && (result = parser.next(arguments)) == resp::RequestParser::Result::request)
      open = answer(store, arguments, out);
    if (result == resp::RequestParser::Result::broken) {
      out += std::string("-ERR Protocol error: ") + parser.error() + "\r\n";
      open = false;
    }
    connection.set_write_deadline(std::chrono::steady_clock::now() + 30s);  // a client that never reads is dropped
    connection.write(out, error);
    if (error) return;
  }
}

// --- self-test ---

std::string talk(const std::string& address, std::string_view request, std::size_t piece) {
  net::conn connection = net::dial("tcp", address, 10s);
  for (std::size_t at = 0; at < request.size(); at += piece) connection.write(request.substr(at, piece));
  connection.close_write();
  std::string reply;
  std::array<char, 512> buffer;
  while (const std::size_t size = connection.read(std::span<char>(buffer))) reply.append(buffer.data(), size);
  return reply;
}

void expect(const std::string& got, std::string_view wanted) {
  if (got == wanted) return;
  std::printf("got      %s\nexpected %s\n", got.c_str(), std::string(wanted).c_str());
  std::exit(1);
}

void self_test(const std::string& address) {
  constexpr std::string_view kRequest =
      "FLUSHALL\r\nPING\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\na\r\nb!\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\nINCR n\r\nINCR "
      "n\r\nINCR k\r\n"
      "EXISTS k n x\r\nDEL k n\r\nGET k\r\nDBSIZE\r\nNONSENSE\r\n";
  constexpr std::string_view kReply =
      "+OK\r\n+PONG\r\n+OK\r\n$5\r\na\r\nb!\r\n:1\r\n:2\r\n-ERR value is not an integer or out of "
      "range\r\n:2\r\n:2\r\n$-1\r\n:0\r\n"
      "-ERR unknown command or wrong number of arguments for 'NONSENSE'\r\n";
  for (std::size_t piece = 1; piece <= kRequest.size(); piece += piece < 8 ? 1 : 13)
    expect(talk(address, kRequest, piece), kReply);
  for (const char* bad :
       {"*-1\r\n", "*1\r\n$-2\r\n", "*1\r\n$999999999999\r\n", "*99999999\r\n", "*1\r\n:5\r\n", "*1\r\n$1\r\nabc\r\n"})
    if (!talk(address, bad, 100).starts_with("-ERR Protocol error")) expect(bad, "a protocol error");
  std::puts("self-test passed");
  std::raise(SIGTERM);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view argument = argc > 1 ? argv[1] : "127.0.0.1:6379";
  const bool testing = argument == "--self-test";
  return weft::run([&] {
    try {
      weft::chan<int> stop = weft::io::signals({SIGTERM, SIGINT});
      net::listener listener = net::listen("tcp", testing ? "127.0.0.1:0" : argument);
      std::fprintf(stderr, "listening on %s\n", listener.address().to_string().c_str());
      const auto [ctx, cancel] = weft::with_cancel(weft::context::background());
      Store store;
      weft::wait_group open;
      open.go([&, &server = ctx] {
        while (!server.cancelled()) {
          std::error_code error;
          net::conn connection = listener.accept(server, error);
          if (connection) {
            open.go([&, connection = std::move(connection)]() mutable { serve(store, server, std::move(connection)); });
          } else if (!server.cancelled()) {  // no descriptors left, say
            weft::this_goroutine::sleep_for(50ms);
          }
        }
      });
      if (testing) weft::go([where = listener.address().to_string()] { self_test(where); });
      stop.recv();
      cancel();
      open.wait();
      return 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "kv_server: %s\n", error.what());
      return 1;
    }
  });
}
