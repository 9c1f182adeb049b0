// SPDX-License-Identifier: MIT
// Every goroutine is treated as one that blocks its thread: it goes back to the user's code without its P after each wait, and gets one again at its next
// call (src/sched/core/lease.h). Whatever waits must cope with that.
// test-timeout: 120
// check: run WEFT_DEBUG=leases=always WEFT_MAXPROCS=1
// check: stdout ^all sums are right
// check: within 60
// check: run WEFT_DEBUG=leases=always WEFT_MAXPROCS=2
// check: stdout ^all sums are right
// check: within 60
// check: run WEFT_DEBUG=leases=always WEFT_MAXPROCS=4 WEFT_POLICY=global
// check: stdout ^all sums are right
// check: within 60
// check: run WEFT_DEBUG=leases=off WEFT_MAXPROCS=2
// check: stdout ^all sums are right, no leases
// check: within 60
#include <sys/syscall.h>
#include <unistd.h>
#include <weft/io.h>
#include <weft/net.h>
#include <weft/weft.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <string_view>

#include "support/workload.h"

namespace {

using namespace std::chrono_literals;

void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  std::fflush(stdout);
  std::_Exit(1);
}

// A lock of the user's own, whose unlock() waits: the condition variable calls it in the middle of a wait.
class SlowLock {
 public:
  void lock() { inner_.lock(); }
  void unlock() {
    inner_.unlock();
    weft::this_goroutine::sleep_for(20us);
  }

 private:
  weft::mutex inner_;
};

void channels_and_select() {
  weft::chan<int> plain, buffered(4), stop;
  long sum = 0;
  weft::wait_group group;
  for (int i = 0; i < 4; ++i) {
    group.go([&] {
      for (int k = 0; k < 500; ++k) (k % 2 == 0 ? plain : buffered).send(k);
    });
  }
  group.go([&] {
    weft::ticker tick(200us);
    for (int received = 0; received < 2000;) {
      weft::select(weft::on_recv(plain, [&](std::optional<int> v) { sum += *v, ++received; }),
                   weft::on_recv(buffered, [&](std::optional<int> v) { sum += *v, ++received; }),
                   weft::on_recv(tick.chan(), [](const auto&) {}), weft::on_timeout(1ms, [] {}));
    }
  });
  group.wait();
  expect(sum == 4L * 499 * 500 / 2, "channels");
}

void conditions() {
  SlowLock lock;
  weft::condition_variable_any changed;
  int turn = 0;
  weft::wait_group group;
  for (int i = 0; i < 3; ++i) {
    group.go([&, i] {
      for (int round = 0; round < 100; ++round) {
        std::unique_lock guard(lock);
        changed.wait(guard, [&] { return turn % 3 == i; });
        ++turn;
        changed.notify_all();
      }
    });
  }
  group.wait();
  expect(turn == 300, "condition variables");
}

void sockets() {
  weft::net::listener listener = weft::net::listen("tcp", "127.0.0.1:0");
  weft::wait_group group;
  group.go([&] {
    for (int i = 0; i < 8; ++i) {
      weft::go([conn = listener.accept()]() mutable {
        std::byte buffer[64];
        while (const std::size_t n = conn.read(buffer)) conn.write_all(std::span<const std::byte>(buffer, n));
      });
    }
  });
  std::atomic<int> echoes{0};
  for (int i = 0; i < 8; ++i) {
    group.go([&] {
      weft::net::conn conn = weft::net::dial("tcp", listener.address().to_string(), 5s);
      std::byte buffer[8] = {};
      for (int k = 0; k < 100; ++k) {
        conn.write_all(std::span<const std::byte>(buffer));
        std::size_t got = 0;
        while (got < sizeof buffer) got += conn.read(std::span(buffer).subspan(got));
        ++echoes;
      }
    });
  }
  group.wait();
  expect(echoes == 800, "sockets");
}

// A library calls back, and what it calls uses the runtime, for which it needs a P again: the library goes on on the thread it was called on.
int compare_with_runtime(const void* left, const void* right) {
  const auto thread = syscall(SYS_gettid);
  weft::this_goroutine::set_name("sorts");
  expect(syscall(SYS_gettid) == thread, "a callback stays on its thread");
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}
void callbacks() {
  weft::wait_group group;
  for (int i = 0; i < 8; ++i) {
    group.go([] {
      for (int round = 0; round < 50; ++round) {
        int numbers[] = {5, 2, 4, 1, 3, 6};
        weft::this_goroutine::yield();
        std::qsort(numbers, std::size(numbers), sizeof(int), compare_with_runtime);
        expect(numbers[0] == 1 && numbers[5] == 6, "the order");
      }
    });
  }
  group.wait();
}

void worlds() {
  std::atomic<bool> stop{false};
  std::atomic<long> runs{0};
  weft::wait_group group;
  for (int i = 0; i < 3; ++i) {
    group.go([&] {
      while (!stop) {
        ++runs;
        weft::this_goroutine::yield();
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    weft::runtime::set_maxprocs(1 + i % 4);
    weft::this_goroutine::sleep_for(100us);
  }
  stop = true;
  group.wait();
  expect(runs > 0, "changes of maxprocs");
}

}  // namespace

int main() {
  weft::run([] {
    expect(weft::test::mixed_workload(2), "a mixed workload");
    channels_and_select();
    conditions();
    sockets();
    callbacks();
    worlds();
  });
  const bool leases = weft::runtime::read_stats().leases > 0;
  const char* wanted = std::getenv("WEFT_DEBUG");
  expect(leases == (wanted != nullptr && std::string_view(wanted) == "leases=always"), "the number of leases");
  std::printf("all sums are right%s\n", leases ? "" : ", no leases");
}
