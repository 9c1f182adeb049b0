// SPDX-License-Identifier: MIT
// The hot paths of channels and select; see hot_paths.cc.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/select.h>

static void send_recv_buffered(long count) {
  weft::chan<long> channel(1);
  for (long i = 0; i < count; ++i) {
    channel.send(i);
    channel.recv();
  }
}

static void ping_pong(long count) {
  weft::chan<long> ping, pong;
  auto other = weft::spawn([=]() mutable {
    for (long i = 0; i < count; ++i) pong.send(*ping.recv());
  });
  for (long i = 0; i < count; ++i) {
    ping.send(i);
    pong.recv();
  }
  other.join();
}

static void select_waiting(long count) {
  weft::chan<long> left, right;
  auto senders = [&](weft::chan<long> channel) {
    return weft::spawn([=]() mutable {
      for (long i = 0; i < count / 2; ++i) channel.send(i);
    });
  };
  auto first = senders(left), second = senders(right);
  for (long i = 0; i < count / 2 * 2; ++i) weft::select(weft::on_recv(left), weft::on_recv(right));
  first.join();
  second.join();
}

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(long)> paths = {
      {"send_recv_buffered", send_recv_buffered}, {"ping_pong", ping_pong}, {"select_waiting", select_waiting}};
  if (argc == 1) {
    for (const auto& [name, path] : paths) std::puts(name.c_str());
    return 0;
  }
  const auto found = paths.find(argv[1]);
  if (argc != 3 || found == paths.end()) {
    std::fprintf(stderr, "usage: %s [path count]\n", argv[0]);
    return 2;
  }
  weft::run({.maxprocs = 1}, [&] { found->second(std::atol(argv[2])); });
}
