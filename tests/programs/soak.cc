// SPDX-License-Identifier: MIT
// Mixed load on the netpoller under bad conditions: signals without SA_RESTART rain on every thread, connections are reset, descriptors
// run out, readers are slow, deadlines pass. Every byte is checked; afterwards nothing may be left: descriptors, threads, memory.
//   soak [--seconds=N | --long]      --long: ten minutes
// test-timeout: 180
// check: run --seconds=4
// check: stdout ^all is well:
// check: within 90
// check: run WEFT_MAXPROCS=1 --seconds=3
// check: stdout ^all is well:
// check: within 90
// check: run --long
// check: long
// check: stdout ^all is well:
// check: within 900
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <weft/io.h>
#include <weft/net.h>
#include <weft/weft.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/expect.h"
#include "support/process.h"

namespace {

using namespace std::chrono_literals;
using namespace weft::test;
namespace net = weft::net;
namespace io = weft::io;
using Clock = std::chrono::steady_clock;

constexpr rlim_t kDescriptors = 160;
constexpr int kClients = 100;  // each with two descriptors: they cannot all be served at once

std::atomic<bool> ending{false};
std::atomic<long> signals_seen{0}, bytes_checked{0}, refused{0};

enum Kind { kEcho, kSlowReader, kReset, kDeadline, kUnix, kDatagram, kFile, kChild, kCancel, kKinds };
constexpr const char* kNames[kKinds] = {"echoes",    "slow readers", "resets",   "deadlines",    "unix sockets",
                                        "datagrams", "files",        "children", "cancellations"};
std::array<std::atomic<long>, kKinds> done{};

std::byte pattern(std::size_t seed, std::size_t at) { return static_cast<std::byte>((at * 31 + seed) ^ (at >> 8)); }

void fill(std::span<std::byte> data, std::size_t seed, std::size_t from) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = pattern(seed, from + i);
}
void check(std::span<const std::byte> data, std::size_t seed, std::size_t from) {
  for (std::size_t i = 0; i < data.size(); ++i) WEFT_EXPECT(data[i] == pattern(seed, from + i));
  bytes_checked.fetch_add(static_cast<long>(data.size()), std::memory_order_relaxed);
}

// What a program may meet here; anything else is a fault of ours. EINTR must never be seen.
bool expected(const std::error_code& error) {
  WEFT_EXPECT(error != std::errc::interrupted);
  return error == std::errc::too_many_files_open || error == std::errc::connection_reset ||
         error == std::errc::broken_pipe || error == std::errc::connection_aborted ||
         error == std::errc::not_enough_memory || error == std::errc::connection_refused ||
         error == std::errc::timed_out || error == std::errc::operation_canceled ||
         error == std::errc::resource_unavailable_try_again;
}
bool failed(const std::error_code& error) {
  if (!error) return false;
  if (!expected(error)) std::printf("unexpected error: %s\n", error.message().c_str());
  WEFT_EXPECT(expected(error));
  refused.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// --- the server: echoes, whatever comes ---

void echo(net::conn connection) {
  std::vector<std::byte> buffer(16384);
  std::error_code error;
  while (const std::size_t size = connection.read(buffer, error)) {
    connection.write_all(std::span(buffer).first(size), error);
    if (error) break;
  }
  failed(error);
}

void accept_all(net::listener& listener, weft::wait_group& open) {
  for (;;) {
    std::error_code error;
    net::conn connection = listener.accept(error);
    if (error == std::errc::bad_file_descriptor) return;
    if (failed(error)) {
      weft::this_goroutine::sleep_for(1ms);
      continue;
    }
    open.go([connection = std::move(connection)]() mutable { echo(std::move(connection)); });
  }
}

// --- the clients ---

struct Client {
  std::mt19937 random;
  std::string tcp, local, directory;
  int number;

  std::size_t pick(std::size_t from, std::size_t to) { return from + random() % (to - from + 1); }

  net::conn connect(const char* network, const std::string& where) {
    std::error_code error;
    net::conn connection = net::dial(network, where, 30s, error);
    failed(error);
    return connection;
  }

  // Sends and checks what comes back, in rounds; false: the connection failed in a way that may happen.
  bool exchange(net::conn& connection, int rounds, std::size_t most) {
    std::vector<std::byte> out, in;
    const std::size_t seed = random();
    std::size_t at = 0;
    for (int i = 0; i < rounds; ++i) {
      out.resize(pick(1, most));
      in.assign(out.size(), std::byte{0});
      fill(out, seed, at);
      std::error_code error;
      connection.write_all(out, error);
      if (failed(error)) return false;
      const std::size_t size = connection.read_full(in, error);
      if (failed(error)) return false;
      WEFT_EXPECT(size == in.size());
      check(in, seed, at);
      at += out.size();
    }
    return true;
  }

  void run_echo(const char* network, const std::string& where, Kind kind) {
    net::conn connection = connect(network, where);
    if (connection && exchange(connection, static_cast<int>(pick(1, 20)), 8192)) ++done[kind];
  }

  void run_slow_reader() {
    net::conn connection = connect("tcp", tcp);
    if (!connection) return;
    const std::size_t seed = random(), total = pick(100'000, 3'000'000);
    weft::wait_group writer;
    writer.go([&] {
      std::vector<std::byte> out(total);
      fill(out, seed, 0);
      std::error_code error;
      connection.write_all(out, error);
      if (!failed(error)) connection.close_write();
    });
    std::vector<std::byte> in(pick(500, 30'000));
    std::size_t at = 0;
    std::error_code error;
    while (const std::size_t size = connection.read(in, error)) {
      check(std::span(in).first(size), seed, at);
      at += size;
      if (random() % 8 == 0) weft::this_goroutine::sleep_for(std::chrono::microseconds(pick(0, 1500)));
    }
    writer.wait();
    if (failed(error)) return;
    WEFT_EXPECT(at == total);
    ++done[kSlowReader];
  }

  void run_reset() {
    net::conn connection = connect("tcp", tcp);
    if (!connection) return;
    std::vector<std::byte> out(pick(0, 100'000));
    std::error_code error;
    connection.set_write_deadline(Clock::now() + 2ms);
    connection.write_all(out, error);
    failed(error);
    connection.set_linger(0s);
    ++done[kReset];
  }

  void run_deadline() {
    net::conn connection = connect("tcp", tcp);
    if (!connection) return;
    std::array<std::byte, 8> in;
    for (int i = 0; i < 5; ++i) {
      std::error_code error;
      connection.set_read_deadline(Clock::now() + std::chrono::microseconds(pick(0, 3000)));
      WEFT_EXPECT(connection.read(in, error) == 0);
      WEFT_EXPECT(error == std::errc::timed_out || failed(error));
      if (error != std::errc::timed_out) return;
      connection.set_read_deadline(Clock::time_point::max());
      if (!exchange(connection, 1, 1000)) return;
    }
    ++done[kDeadline];
  }

  void run_cancel() {
    net::conn connection = connect("tcp", tcp);
    if (!connection) return;
    const auto [ctx, cancel] =
        weft::with_timeout(weft::context::background(), std::chrono::microseconds(pick(0, 3000)));
    std::array<std::byte, 8> in;
    std::error_code error;
    WEFT_EXPECT(connection.read(ctx, in, error) == 0);
    cancel();
    WEFT_EXPECT(error == std::errc::timed_out || failed(error));
    if (error == std::errc::timed_out && exchange(connection, 2, 1000)) ++done[kCancel];
  }

  void run_datagram() {
    std::error_code error;
    net::packet_conn one = net::listen_packet("udp", "127.0.0.1:0", error);
    if (failed(error)) return;
    net::packet_conn other = net::listen_packet("udp", "127.0.0.1:0", error);
    if (failed(error)) return;
    std::vector<std::byte> out(pick(0, 1400)), in(2000);
    for (int i = 0; i < 10; ++i) {
      const std::size_t seed = random();
      fill(out, seed, 0);
      one.write_to(out, other.local_address(), error);
      if (failed(error)) return;
      net::address from;
      other.set_read_deadline(Clock::now() + 30s);
      const std::size_t size = other.read_from(in, from, error);
      if (failed(error)) return;
      WEFT_EXPECT(size == out.size() && from == one.local_address());
      check(std::span(in).first(size), seed, 0);
    }
    ++done[kDatagram];
  }

  void run_file() {
    std::error_code error;
    const std::string path = directory + "/" + std::to_string(number);
    io::file file = io::open(path, io::mode::read_write, 0600, error);
    if (failed(error)) return;
    const std::size_t seed = random();
    std::vector<std::byte> out(pick(1, 200'000)), in(out.size());
    fill(out, seed, 0);
    file.write_at(0, out, error);
    if (failed(error)) return;
    for (std::size_t at = 0; at < in.size();) {
      const std::size_t size = file.read_at(at, std::span(in).subspan(at), error);
      if (failed(error)) return;
      WEFT_EXPECT(size > 0);
      at += size;
    }
    check(in, seed, 0);
    ++done[kFile];
  }

  void run_child() {
    try {
      io::process child = io::start({"true"});
      WEFT_EXPECT(child.wait() == 0);
      ++done[kChild];
    } catch (const std::system_error& error) {
      failed(error.code());
    }
  }

  void run() {
    while (!ending) {
      switch (pick(0, 20)) {
        case 0:
        case 1:  run_slow_reader(); break;
        case 2:
        case 3:
        case 4:  run_reset(); break;
        case 5:
        case 6:  run_deadline(); break;
        case 7:
        case 8:  run_cancel(); break;
        case 9:
        case 10: run_echo("unix", local, kUnix); break;
        case 11:
        case 12: run_datagram(); break;
        case 13:
        case 14: run_file(); break;
        case 15:
          if (number % 10 == 0) run_child();
          break;
        default: run_echo("tcp", tcp, kEcho); break;
      }
      weft::this_goroutine::sleep_for(std::chrono::microseconds(pick(0, 2000)));
    }
  }
};

// --- the weather ---

void on_signal(int) { signals_seen.fetch_add(1, std::memory_order_relaxed); }

void install_handlers() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;  // not SA_RESTART: every interrupted call says so
  for (const int number : {SIGALRM, SIGUSR1, SIGWINCH}) sigaction(number, &action, nullptr);
}

void rain_on_all_threads() {
  std::mt19937 random(7);
  while (!ending) {
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error))
      if (random() % 2 == 0)
        syscall(SYS_tgkill, getpid(), std::atoi(task.path().filename().c_str()),
                random() % 2 == 0 ? SIGUSR1 : SIGWINCH);
    std::this_thread::sleep_for(1ms);
  }
}

// Both need a descriptor, and may have to wait for one.
template <class Function>
auto ask_the_system(Function ask) {
  for (;; weft::this_goroutine::sleep_for(1ms))
    if (const auto answer = ask(); answer > 0) return answer;
}
long resident_kib() {
  return ask_the_system([] { return static_cast<long>(resident_bytes() / 1024); });
}
int threads() {
  return ask_the_system([] { return count_threads(); });
}

// A run that stands still is a lost wake-up: say who waits for what.
void watch(std::chrono::seconds patience) {
  long last = -1;
  auto since = Clock::now();
  while (!ending) {
    std::this_thread::sleep_for(100ms);
    const long now = bytes_checked;
    if (now != last) {
      last = now;
      since = Clock::now();
    } else if (Clock::now() - since > patience) {
      std::puts("nothing has moved for long");
      std::fflush(stdout);
      raise(SIGQUIT);
    }
  }
}

int soak(std::chrono::seconds length, const std::string& directory) {
  rlimit limit{kDescriptors, kDescriptors};
  WEFT_EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  install_handlers();
  const int descriptors_before = count_descriptors();
  long resident_early = 0;
  int threads_early = 0, threads_late = 0;
  const auto start = Clock::now();
  std::thread rain(rain_on_all_threads), watcher(watch, 60s);
  const itimerval often{{0, 500}, {0, 500}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  weft::run([&] {
    net::listener tcp = net::listen("tcp", "127.0.0.1:0");
    net::listener local = net::listen("unix", "@weft-soak-" + std::to_string(getpid()));
    weft::wait_group servers, clients;
    servers.go([&] { accept_all(tcp, servers); });
    servers.go([&] { accept_all(local, servers); });
    for (int i = 0; i < kClients; ++i)
      clients.go([&, i] {
        Client{std::mt19937(static_cast<unsigned>(i)), tcp.address().to_string(), local.address().to_string(),
               directory, i}
            .run();
      });
    weft::this_goroutine::sleep_for(length / 3);
    resident_early = resident_kib();
    threads_early = threads();
    weft::this_goroutine::sleep_until(start + length);
    threads_late = threads();
    ending = true;
    clients.wait();
    tcp.close();
    local.close();
    servers.wait();
    return 0;
  });
  setitimer(ITIMER_REAL, &never, nullptr);
  rain.join();
  watcher.join();
  const long resident_late = resident_kib();
  for (int kind = 0; kind < kKinds; ++kind) {
    std::printf("%-14s %ld\n", kNames[kind], done[static_cast<std::size_t>(kind)].load());
    WEFT_EXPECT(done[static_cast<std::size_t>(kind)] > 0);
  }
  std::printf("%-14s %ld\n%-14s %ld\n%-14s %ld\n", "signals", signals_seen.load(), "errors", refused.load(), "bytes",
              bytes_checked.load());
  std::printf("threads %d, later %d; resident %ld KiB, later %ld KiB\n", threads_early, threads_late, resident_early,
              resident_late);
  WEFT_EXPECT(signals_seen > 100);
  WEFT_EXPECT(refused > 0);
  WEFT_EXPECT(count_descriptors() <= descriptors_before + 2);  // the poller and its bell
  WEFT_EXPECT(threads_late <= threads_early + 16);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  WEFT_EXPECT(resident_late <= resident_early + 32 * 1024);
#endif
  std::printf("all is well: %lld s\n",
              static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::chrono::seconds length = 4s;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--long") {
      length = 600s;
    } else if (word.starts_with("--seconds=") && std::atoi(word.c_str() + 10) > 0) {
      length = std::chrono::seconds(std::atoi(word.c_str() + 10));
    } else {
      std::fprintf(stderr, "usage: soak [--seconds=N | --long]\n");
      return 64;
    }
  }
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("weft-soak-" + std::to_string(getpid()));
  std::filesystem::create_directory(directory);
  const int result = soak(length, directory.string());
  std::filesystem::remove_all(directory);
  return result;
}
