// SPDX-License-Identifier: MIT
// What channel operations cost.
#include "micro/run.h"

#include <weft/chan.h>
#include <weft/select.h>

static void buffered_same_goroutine(benchmark::State& state) {
  measure(state, [&] {
    weft::chan<long> channel(1);
    for (auto _ : state) {
      channel.send(1);
      benchmark::DoNotOptimize(channel.recv());
    }
  });
}
BENCHMARK(buffered_same_goroutine)->Apply(on_one_and_two_ps);

static void try_recv_empty(benchmark::State& state) {
  measure(state, [&] {
    weft::chan<long> channel;
    for (auto _ : state) benchmark::DoNotOptimize(channel.try_recv());
  });
}
BENCHMARK(try_recv_empty)->Apply(on_one_and_two_ps);

static void rendezvous(benchmark::State& state) {
  measure(state, [&] {
    weft::chan<long> ping, pong;
    auto other = weft::spawn([=] {
      while (auto value = ping.recv()) pong.send(*value);
    });
    for (auto _ : state) {
      ping.send(1);
      benchmark::DoNotOptimize(pong.recv());
    }
    ping.close();
    other.join();
  });
}
BENCHMARK(rendezvous)->Apply(on_one_and_two_ps);

static void select_default(benchmark::State& state) {
  measure(state, [&] {
    weft::chan<long> left, right;
    for (auto _ : state)
      benchmark::DoNotOptimize(weft::select(weft::on_recv(left), weft::on_recv(right), weft::on_default()));
  });
}
BENCHMARK(select_default)->Apply(on_one_and_two_ps);

static void select_ready(benchmark::State& state) {
  measure(state, [&] {
    weft::chan<long> left(1), right(1);
    for (auto _ : state) {
      right.send(1);
      benchmark::DoNotOptimize(weft::select(weft::on_recv(left), weft::on_recv(right)));
    }
  });
}
BENCHMARK(select_ready)->Apply(on_one_and_two_ps);

static void make_channel(benchmark::State& state) {
  measure(state, [&] {
    for (auto _ : state) {
      weft::chan<long> channel;
      benchmark::DoNotOptimize(channel);
    }
  });
}
BENCHMARK(make_channel)->Apply(on_one_and_two_ps);
