// SPDX-License-Identifier: MIT
// The hot paths of channels and select; see hot_paths.cc.
#include "counts/paths.h"

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
  auto other = weft::spawn([=] {
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
    return weft::spawn([=] {
      for (long i = 0; i < count / 2; ++i) channel.send(i);
    });
  };
  auto first = senders(left), second = senders(right);
  for (long i = 0; i < count / 2 * 2; ++i) weft::select(weft::on_recv(left), weft::on_recv(right));
  first.join();
  second.join();
}

int main(int argc, char** argv) {
  const Paths paths = {
      {"send_recv_buffered", send_recv_buffered}, {"ping_pong", ping_pong}, {"select_waiting", select_waiting}};
  return run_path(argc, argv, paths,
                  [](void (*path)(long), long count) { weft::run({.maxprocs = 1}, [&] { path(count); }); });
}
