// A tour of weft in half a minute: what goroutines cost, how work spreads, what happens when one blocks, how they talk.
//   ./weft run examples/tour.cpp
// test-labels: no-asan no-tsan no-trace
// test-timeout: 180
// check: stdout ^   all woken and finished, sum 4999950000$
// check: stdout ^   after 100 naps it is still on the thread it locked; its neighbour yielded 1000 times meanwhile$
// check: stdout ^   a joined goroutine returned 42$
// check: stdout shared a mutex: 10001 increments$
// check: stdout ^   sieve of 500 goroutines in a row: the last found 3571, .*$
// check: stdout ^   four producers, one select: 400000 items, none lost
// check: stdout ^   10000 sleepers of 20 ms: all awake, none early
// check: stdout ^   200 clients, 20000 messages echoed, none wrong, by [0-9]+ threads
// check: stdout ^   a deadline ended a read that nobody would have answered
// check: stdout ^   (24 orders through five goroutines, recorded: weft trace .*|this run is being traced as a whole)$
// check: not-stdout NOT
// check: within 60
// check: run WEFT_POLICY=classic WEFT_MAXPROCS=2
// check: run WEFT_POLICY=global WEFT_MAXPROCS=4
#include <sys/resource.h>
#include <unistd.h>

#include <weft/net.h>
#include <weft/trace.h>
#include <weft/weft.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

double seconds_since(steady::time_point start) { return std::chrono::duration<double>(steady::now() - start).count(); }

void compute_for(std::chrono::microseconds time) {
  for (const auto end = steady::now() + time; steady::now() < end;) {
  }
}

double resident_mib() {
  long pages = 0, ignored = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
    std::fclose(file);
  }
  return static_cast<double>(pages) * 4096 / (1 << 20);
}

void heading(const char* text) { std::printf(isatty(STDOUT_FILENO) ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text); }

// --- 1 ---
void a_hundred_thousand_goroutines() {
  heading("1. A hundred thousand goroutines at once");
  constexpr int kCount = 100'000;
  const double before = resident_mib();
  weft::wait_group started, finished;
  weft::event go_on;
  std::atomic<long> sum{0};
  started.add(kCount);
  const auto start = steady::now();
  for (int i = 0; i < kCount; ++i)
    finished.go([&, i] {
      started.done();
      go_on.wait();  // parked: this goroutine holds a stack, but no thread
      sum += i;
    });
  started.wait();
  const double created = seconds_since(start);
  const double used = resident_mib() - before;
  const auto stats = weft::runtime::read_stats();
  go_on.set();
  finished.wait();
  std::printf("   %d goroutines parked at once on %llu threads\n", kCount,
              static_cast<unsigned long long>(stats.threads));
  std::printf("   %.2f us each to start and park, %.1f KiB of memory each\n", created / kCount * 1e6,
              used * 1024 / kCount);
  std::printf("   all woken and finished, sum %ld\n", sum.load());
}

// --- 2 ---
void work_spreads() {
  const int procs = weft::runtime::maxprocs();
  heading("2. Work spreads over the processors by stealing");
  constexpr int kTasks = 2000;
  constexpr auto kLength = 100us;
  const auto before = weft::runtime::read_stats();
  const auto start = steady::now();
  weft::wait_group group;
  for (int i = 0; i < kTasks; ++i) group.go([&] { compute_for(kLength); });
  group.wait();
  const double parallel = seconds_since(start);
  const auto after = weft::runtime::read_stats();
  const double serial = kTasks * std::chrono::duration<double>(kLength).count();
  std::printf("   %d tasks of 100 us, all started on one P: %.0f ms instead of %.0f (%.2f x on %d Ps)\n", kTasks,
              parallel * 1e3, serial * 1e3, serial / parallel, procs);
  std::printf("   %llu steals moved %llu goroutines; %llu came through the global queue\n",
              static_cast<unsigned long long>(after.steals_won - before.steals_won),
              static_cast<unsigned long long>(after.goroutines_stolen - before.goroutines_stolen),
              static_cast<unsigned long long>(after.global_gets - before.global_gets));
}

// --- 3 ---
void a_blocked_call_stops_nobody() {
  heading("3. A blocked system call stops nobody else");
  const int old = weft::runtime::set_maxprocs(1);  // one processor: if the call kept it, nothing else could run
  const auto before = weft::runtime::read_stats();
  std::atomic<bool> returned{false};
  std::atomic<long> rounds{0};
  weft::wait_group group;
  group.go([&] {
    weft::blocking([] { usleep(200'000); });
    returned = true;
  });
  group.go([&] {
    while (!returned) {
      ++rounds;
      weft::this_goroutine::yield();
    }
  });
  group.wait();
  const auto after = weft::runtime::read_stats();
  std::printf("   while one goroutine sat in a 200 ms sleep of the kernel, another ran %ld rounds on the same P\n",
              rounds.load());
  std::printf("   the P changed hands %llu times (%llu taken back by the monitor)\n",
              static_cast<unsigned long long>(after.handoffs - before.handoffs),
              static_cast<unsigned long long>(after.retakes - before.retakes));
  weft::runtime::set_maxprocs(old);
}

// --- 4 ---
void a_goroutine_with_its_own_thread() {
  heading("4. A goroutine can keep its thread");
  bool stayed = true;
  int visited = 0;
  weft::wait_group group;
  group.go([&] {
    weft::os_thread_lock lock;
    const pid_t mine = gettid();
    for (int i = 0; i < 100; ++i) {
      weft::this_goroutine::sleep_for(100us);
      stayed = stayed && gettid() == mine;
    }
  });
  group.go([&] {
    for (; visited < 1000; ++visited) weft::this_goroutine::yield();
  });
  group.wait();
  std::printf("   after 100 naps it is %s on the thread it locked; its neighbour yielded %d times meanwhile\n",
              stayed ? "still" : "NOT", visited);
}

// --- 5 ---
void a_million_spawns() {
  heading("5. A million goroutines, spawned and run");
  constexpr int kCount = 1'000'000;
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    weft::wait_group group;
    group.add(kCount);
    const auto start = steady::now();
    for (int i = 0; i < kCount; ++i) weft::go([&group] { group.done(); });
    group.wait();
    best = std::min(best, seconds_since(start));
  }
  std::printf("   %.0f ns each (a thread costs about 50,000)\n", best / kCount * 1e9);

  const auto start = steady::now();
  constexpr int kYields = 1'000'000;
  weft::wait_group pair;
  for (int i = 0; i < 2; ++i)
    pair.go([] {
      for (int k = 0; k < kYields / 2; ++k) weft::this_goroutine::yield();
    });
  pair.wait();
  std::printf("   %.0f ns for a yield between two of them\n", seconds_since(start) / kYields * 1e9);
}

// --- 6 ---
void results_and_errors() {
  heading("6. Results and errors come back to who asked");
  auto sum = weft::spawn([](int a, int b) { return a + b; }, 40, 2);
  auto failure = weft::spawn([]() -> int { throw std::runtime_error("no such file"); });
  std::printf("   a joined goroutine returned %d\n", sum.join());
  try {
    failure.join();
  } catch (const std::exception& error) {
    std::printf("   another threw, and join() delivered it: %s\n", error.what());
  }
  weft::mutex mutex;
  long shared = 0;
  weft::wait_group group;
  for (int i = 0; i < 100; ++i)
    group.go([&] {
      for (int k = 0; k < 100; ++k) {
        const std::lock_guard guard(mutex);
        ++shared;
      }
    });
  std::thread plain([&] {  // plain threads use the same primitives
    const std::lock_guard guard(mutex);
    ++shared;
  });
  group.wait();
  weft::blocking([&] { plain.join(); });
  std::printf("   100 goroutines and a plain thread shared a mutex: %ld increments\n", shared);
}

// --- 7 ---
template <class F>
double nanoseconds_each(int count, F&& f) {  // best of three: the machine may have other work
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const auto start = steady::now();
    f();
    best = std::min(best, seconds_since(start));
  }
  return best / count * 1e9;
}

void stream(weft::chan<int> out, int count) {
  for (int i = 0; i < count; ++i) out.send(i);
  out.close();
}

void filter(weft::chan<int> in, weft::chan<int> out, int prime) {
  for (int n : in)
    if (n % prime != 0) out.send(n);
  out.close();
}

int prime_by_sieve(int which) {
  weft::chan<int> numbers, rest = numbers;
  weft::chan<std::monostate> enough;
  weft::go([numbers, enough] {
    for (int n = 2; weft::select(weft::on_send(numbers, n), weft::on_recv(enough)) == 0;) ++n;
    numbers.close();  // the end runs through the filters, and they end too
  });
  int prime = 0;
  for (int i = 0; i < which; ++i) {
    prime = *rest.recv();
    weft::chan<int> next;
    weft::go(filter, rest, next, prime);
    rest = next;
  }
  enough.close();
  while (rest.recv()) {
  }
  return prime;
}

long fan_in(int each) {
  weft::chan<int> north(16), east(16), south(16), west(16);
  for (const auto& source : {north, east, south, west}) weft::go(stream, source, each);
  long count = 0;
  for (int open = 4; open > 0;) {
    const auto take = [&](weft::chan<int>& from) {
      return [&](std::optional<int> item) {
        if (item) {
          ++count;
        } else {
          from = weft::chan<int>::nil();  // ended: a nil channel is never ready
          --open;
        }
      };
    };
    weft::select(weft::on_recv(north, take(north)), weft::on_recv(east, take(east)), weft::on_recv(south, take(south)),
                 weft::on_recv(west, take(west)));
  }
  return count;
}

void channels_and_select() {
  heading("7. Goroutines talk over channels");
  static constexpr int kRounds = 200'000;
  const double ping_pong = nanoseconds_each(kRounds, [] {
    weft::chan<int> ping, pong;
    weft::go([ping, pong] {
      for (int ball : ping) pong.send(ball);
    });
    for (int i = 0; i < kRounds; ++i) {
      ping.send(i);
      pong.recv();
    }
    ping.close();
  });
  const double buffered = nanoseconds_each(kRounds, [] {
    weft::chan<int> line(128);
    weft::go(stream, line, kRounds);
    while (line.recv()) {
    }
  });
  std::printf("   %.0f ns there and back without a buffer, %.0f ns an item through a buffer of 128\n", ping_pong,
              buffered);

  constexpr int kEach = 100'000;
  long received = 0;
  const double chosen = nanoseconds_each(4 * kEach, [&] { received = fan_in(kEach); });
  std::printf("   four producers, one select: %ld items, none lost, %.0f ns each\n", received, chosen);

  int prime = 0;
  const double sieve = nanoseconds_each(1, [&] { prime = prime_by_sieve(500); });
  std::printf("   sieve of 500 goroutines in a row: the last found %d, after %.0f ms\n", prime, sieve / 1e6);
}

// --- 8 ---
void locks_and_clocks() {
  heading("8. Locks and clocks, without a thread that waits");
  constexpr int kLocks = 400'000;
  weft::mutex mutex;
  const double alone = nanoseconds_each(kLocks, [&] {
    for (int i = 0; i < kLocks; ++i) const std::lock_guard guard(mutex);
  });
  const double contended = nanoseconds_each(kLocks, [&] {
    weft::wait_group group;
    for (int i = 0; i < 100; ++i)
      group.go([&] {
        for (int k = 0; k < kLocks / 100; ++k) const std::lock_guard guard(mutex);
      });
    group.wait();
  });
  std::printf("   a mutex: %.0f ns alone, %.0f ns with a hundred goroutines at it\n", alone, contended);

  constexpr int kSleepers = 10'000;
  constexpr auto kNap = 20ms;
  std::atomic<int> early{0};
  weft::wait_group group;
  const auto start = steady::now();
  for (int i = 0; i < kSleepers; ++i)
    group.go([&] {
      const auto before = steady::now();
      weft::this_goroutine::sleep_for(kNap);
      if (steady::now() < before + kNap) ++early;
    });
  group.wait();
  std::printf("   %d sleepers of 20 ms: all awake, %s early, after %.0f ms\n", kSleepers,
              early == 0 ? "none" : "some TOO", seconds_since(start) * 1e3);

  const auto asked = steady::now();
  const auto [limited, cancel] = weft::with_timeout(weft::context::background(), 10ms);
  weft::group workers(limited);
  for (int i = 0; i < 1000; ++i) workers.go([](const weft::context& ctx) { ctx.done().recv(); });
  workers.wait();
  std::printf("   1000 goroutines with a time limit of 10 ms: all back after %.1f ms\n", seconds_since(asked) * 1e3);
}

// --- 9 ---
void sockets() {
  heading("9. Sockets: blocking code, no thread that blocks");
  constexpr int kClients = 200, kMessages = 100;
  weft::net::listener listener = weft::net::listen("tcp", "127.0.0.1:0");
  auto accepting = weft::spawn([&] {
    std::error_code error;
    while (weft::net::conn connection = listener.accept(error))
      weft::go([connection = std::move(connection)]() mutable {
        std::array<std::byte, 256> buffer;
        std::error_code ended;
        while (const std::size_t size = connection.read(buffer, ended))
          connection.write_all(std::span(buffer).first(size), ended);
      });
  });
  std::atomic<int> wrong{0};
  weft::wait_group clients;
  const auto start = steady::now();
  for (int i = 0; i < kClients; ++i)
    clients.go([&] {
      weft::net::conn connection = weft::net::dial("tcp", listener.address().to_string());
      for (int k = 0; k < kMessages; ++k) {
        const std::string text = "message " + std::to_string(k);
        std::string back(text.size(), ' ');
        connection.write(text);
        connection.read_full(std::as_writable_bytes(std::span(back)));
        if (back != text) ++wrong;
      }
    });
  clients.wait();
  std::printf("   %d clients, %d messages echoed, %s wrong, by %llu threads in %.0f ms\n", kClients,
              kClients * kMessages, wrong == 0 ? "none" : "some",
              static_cast<unsigned long long>(weft::runtime::read_stats().threads_created), seconds_since(start) * 1e3);
  weft::net::conn silent = weft::net::dial("tcp", listener.address().to_string());
  silent.set_read_deadline(steady::now() + 5ms);
  std::array<std::byte, 1> one;
  std::error_code error;
  silent.read(one, error);
  std::printf("   a deadline %s a read that nobody would have answered\n",
              error == std::errc::timed_out ? "ended" : "did NOT end");
  listener.close();
  accepting.join();
}

// --- 10 ---
void a_picture_of_it() {
  heading("10. What the scheduler did, as a picture");
  if (weft::trace::enabled()) {
    std::printf("   this run is being traced as a whole\n");
    return;
  }
  const std::string path = std::filesystem::temp_directory_path() / "weft-tour.trace";
  weft::trace::start(path);
  weft::chan<int> orders(2), meals(2);
  weft::wait_group cooks, all;
  all.add(5);
  weft::go({.name = "guests"}, [&] {
    for (int i = 0; i < 24; ++i) {
      orders.send(i);
      weft::this_goroutine::sleep_for(200us);
    }
    orders.close();
    all.done();
  });
  cooks.add(2);
  for (const char* name : {"cook", "second cook"})
    weft::go({.name = name}, [&] {
      for ([[maybe_unused]] int order : orders) {
        const weft::trace::region region("cooking");
        compute_for(400us);
        meals.send(order);
      }
      cooks.done();
      all.done();
    });
  weft::go({.name = "waiter"}, [&] {
    for ([[maybe_unused]] int meal : meals) weft::blocking([] { usleep(150); });  // a call: the P goes on without it
    all.done();
  });
  weft::go({.name = "accountant"}, [&] {
    compute_for(5ms);  // asks nobody and lets nobody in; loses its P when others wait
    cooks.wait();
    meals.close();
    all.done();
  });
  all.wait();
  weft::trace::stop();
  std::printf("   24 orders through five goroutines, recorded: weft trace %s\n", path.c_str());
}

}  // namespace

int main() {
  return weft::run([] {
    std::printf("weft on %d processor%s\n", weft::runtime::maxprocs(), weft::runtime::maxprocs() == 1 ? "" : "s");
    a_hundred_thousand_goroutines();
    work_spreads();
    a_blocked_call_stops_nobody();
    a_goroutine_with_its_own_thread();
    a_million_spawns();
    results_and_errors();
    channels_and_select();
    locks_and_clocks();
    sockets();
    a_picture_of_it();
    const auto stats = weft::runtime::read_stats();
    std::printf("\n%llu goroutines were run by %llu threads; %llu switches, %llu futex sleeps\n",
                static_cast<unsigned long long>(stats.spawns), static_cast<unsigned long long>(stats.threads_created),
                static_cast<unsigned long long>(stats.switches), static_cast<unsigned long long>(stats.parks));
    return 0;
  });
}
