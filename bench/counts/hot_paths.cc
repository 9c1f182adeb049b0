// SPDX-License-Identifier: MIT
// The hot paths, one at a time, at one P: counts/check runs this under callgrind with two counts and takes the difference,
// so that starting and ending the process cancel out.
#include "counts/paths.h"

#include <mutex>

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

static void yield_alone(long count) {
  for (long i = 0; i < count; ++i) weft::this_goroutine::yield();
}

// Two goroutines: count yields in all.
static void yield_two(long count) {
  weft::wait_group both;
  both.add(2);
  for (int t = 0; t < 2; ++t)
    weft::go([&both, count] {
      for (long i = 0; i < count / 2; ++i) weft::this_goroutine::yield();
      both.done();
    });
  both.wait();
}

static void spawn(long count) {
  for (long done = 0; done < count; done += 100) {
    weft::wait_group all;
    all.add(100);
    for (int i = 0; i < 100; ++i) weft::go([&all] { all.done(); });
    all.wait();
  }
}

static void spawn_join(long count) {
  for (long i = 0; i < count; ++i) weft::spawn([] {}).join();
}

// Each round one goroutine parks and another makes it ready: two of each per step.
static void park_ready(long count) {
  struct Turn {
    weft::event mine;
  } ping, pong;
  auto other = weft::spawn([&] {
    for (long i = 0; i < count; ++i) {
      ping.mine.wait();
      ping.mine.reset();
      pong.mine.set();
    }
  });
  for (long i = 0; i < count; ++i) {
    ping.mine.set();
    pong.mine.wait();
    pong.mine.reset();
  }
  other.join();
}

static void mutex(long count) {
  weft::mutex mutex;
  for (long i = 0; i < count; ++i) std::lock_guard lock(mutex);
}

static void blocking(long count) {
  for (long i = 0; i < count; ++i) weft::blocking([] {});
}

int main(int argc, char** argv) {
  const Paths paths = {
      {"yield_alone", yield_alone}, {"yield_two", yield_two}, {"spawn", spawn},      {"spawn_join", spawn_join},
      {"park_ready", park_ready},   {"mutex", mutex},         {"blocking", blocking}};
  return run_path(argc, argv, paths, [](void (*path)(long), long count) { weft::run({.maxprocs = 1}, [&] { path(count); }); });
}
