// SPDX-License-Identifier: MIT
// The netpoller where the system refuses, runs out, forks or has nothing to wake anybody.
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/io.h>
#include <weft/net.h>
#include <weft/weft.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "support/cases.h"
#include "support/seccomp.h"

namespace {

using namespace std::chrono_literals;
using namespace weft::test;
namespace net = weft::net;

// Echo, a time limit and a close: what every other way of waiting must be able to do too.
int exercise() {
  return weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    weft::go([&] {
      for (;;) {
        std::error_code error;
        net::conn connection = listener.accept(error);
        if (error) return;
        weft::go([connection = std::move(connection)]() mutable {
          std::array<std::byte, 256> buffer;
          std::error_code ignored;
          while (const std::size_t size = connection.read(buffer, ignored))
            connection.write_all(std::span(buffer).first(size), ignored);
        });
      }
    });
    weft::wait_group all;
    for (int i = 0; i < 8; ++i)
      all.go([&] {
        net::conn connection = net::dial("tcp", listener.address().to_string());
        for (int round = 0; round < 100; ++round) {
          std::string text = "message " + std::to_string(round), back(text.size(), ' ');
          connection.write(text);
          WEFT_EXPECT(connection.read_full(std::as_writable_bytes(std::span(back))) == text.size());
          WEFT_EXPECT(back == text);
          if (round % 10 == 0) weft::this_goroutine::sleep_for(100us);
        }
        std::array<std::byte, 1> one;
        std::error_code error;
        const auto start = std::chrono::steady_clock::now();
        connection.set_read_deadline(start + 3ms);
        connection.read(one, error);
        WEFT_EXPECT(error == std::errc::timed_out);
        WEFT_EXPECT(std::chrono::steady_clock::now() - start >= 3ms);
      });
    all.wait();
    listener.close();
    say("all messages came back");
    return 0;
  });
}

// check: run --case=without_epoll_pwait2
// check: stdout all messages came back
// check: run WEFT_MAXPROCS=1 --case=without_epoll_pwait2
// check: stdout all messages came back
WEFT_CASE(without_epoll_pwait2) {
  if (!deny({{441, ENOSYS}})) skip("no seccomp filters here");
  return exercise();
}

// check: run --case=without_eventfd
// check: stdout all messages came back
WEFT_CASE(without_eventfd) {
  if (!deny({{SYS_eventfd2, EPERM}})) skip("no seccomp filters here");
  return exercise();
}

// check: run WEFT_MAXPROCS=4 --case=without_either
// check: stdout all messages came back
WEFT_CASE(without_either) {
  if (!deny({{SYS_eventfd2, EPERM}, {441, EPERM}})) skip("no seccomp filters here");
  return exercise();
}

// check: run --case=without_epoll
// check: stdout Function not implemented
WEFT_CASE(without_epoll) {
  if (!deny({{SYS_epoll_create1, ENOSYS}})) skip("no seccomp filters here");
  return weft::run([] {
    try {
      net::listen("tcp", "127.0.0.1:0");
    } catch (const std::system_error& error) {
      say(error.what());
      return 0;
    }
    return 1;
  });
}

// check: run --case=without_descriptors
// check: stdout a connection again
WEFT_CASE(without_descriptors) {
  return weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    net::conn first = net::dial("tcp", listener.address().to_string());
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit old = limit;
    limit.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &limit);
    std::error_code error;
    listener.accept(error);
    WEFT_EXPECT(error == std::errc::too_many_files_open);
    net::dial("tcp", listener.address().to_string(), error);
    WEFT_EXPECT(error == std::errc::too_many_files_open);
    setrlimit(RLIMIT_NOFILE, &old);
    net::conn accepted = listener.accept();
    WEFT_EXPECT(accepted.is_open());
    say("a connection again");
    return 0;
  });
}

// Nobody can wake them but the world outside: that is no deadlock. The alarm ends the program.
// check: run --case=waiting_is_no_deadlock
// check: exit SIGALRM
// check: not-stderr deadlock
WEFT_CASE(waiting_is_no_deadlock) {
  alarm(2);
  weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    listener.accept();
  });
  return 1;
}

// check: run --case=an_open_socket_hides_no_deadlock
// check: exit 2
// check: stderr all goroutines are asleep - deadlock!
WEFT_CASE(an_open_socket_hides_no_deadlock) {
  weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    weft::chan<int>().recv();
  });
  return 1;
}

// Whoever is still counted as waiting for the network when nobody is would hide the deadlock. (NP18)
// check: run --case=nobody_is_counted_after_a_load
// check: exit 2
// check: stdout all messages came back
// check: stderr deadlock
WEFT_CASE(nobody_is_counted_after_a_load) {
  return weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    auto accepting = weft::spawn([&] {
      std::error_code error;
      while (net::conn connection = listener.accept(error))
        weft::go([connection = std::move(connection)]() mutable {
          std::array<std::byte, 64> buffer;
          std::error_code ended;
          while (const std::size_t size = connection.read(buffer, ended))
            connection.write_all(std::span(buffer).first(size), ended);
        });
    });
    weft::wait_group all;
    for (int i = 0; i < 50; ++i)
      all.go([&, i] {
        net::conn connection = net::dial("tcp", listener.address().to_string());
        std::array<std::byte, 8> buffer{};
        std::error_code error;
        for (int round = 0; round < 20; ++round) {
          connection.write_all(buffer);
          WEFT_EXPECT(connection.read_full(buffer) == buffer.size());
          connection.set_read_deadline(std::chrono::steady_clock::now() + std::chrono::microseconds(round * 20));
          connection.read(buffer, error);
          WEFT_EXPECT(error == std::errc::timed_out);
          connection.set_read_deadline(std::chrono::steady_clock::time_point::max());
        }
        if (i % 2 == 0) connection.set_linger(0s);
      });
    all.wait();
    listener.close();
    accepting.join();
    say("all messages came back");
    weft::chan<int>(0).recv();
    return 0;
  });
}

// check: run --case=waiting_for_a_signal
// check: stdout got the signal
WEFT_CASE(waiting_for_a_signal) {
  return weft::run([] {
    weft::chan<int> signals = weft::io::signals({SIGTERM});
    if (fork() == 0) {
      usleep(50'000);
      kill(getppid(), SIGTERM);
      _exit(0);
    }
    WEFT_EXPECT(signals.recv() == SIGTERM);
    say("got the signal");
    return 0;
  });
}

// A forked child closes what it has inherited; the parent's connections do not notice.
// check: run --case=forked_child_leaves_the_poller_alone
// check: stdout still connected
WEFT_CASE(forked_child_leaves_the_poller_alone) {
  return weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    net::conn client = net::dial("tcp", listener.address().to_string());
    net::conn server = listener.accept();
    for (int i = 0; i < 20; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        server.close();
        client.close();
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      WEFT_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      auto reader = weft::spawn([&] {
        std::array<std::byte, 1> one;
        return server.read(one);
      });
      weft::this_goroutine::yield();
      client.write("x");
      WEFT_EXPECT(reader.join() == 1);
    }
    say("still connected");
    return 0;
  });
}

// check: run --case=closed_standard_streams
// check: exit 0
WEFT_CASE(closed_standard_streams) {
  for (int fd = 0; fd < 3; ++fd) close(fd);
  return weft::run([] {
    int ends[2];
    if (pipe(ends) != 0) return 5;
    weft::go([&] {
      weft::this_goroutine::sleep_for(2ms);
      if (write(ends[1], "x", 1) != 1) _exit(4);
    });
    return weft::io::wait_readable(ends[0]) ? 0 : 3;
  });
}

}  // namespace
