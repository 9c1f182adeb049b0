// SPDX-License-Identifier: MIT
// weft::posix: the C library's calls for sockets park goroutines, and end as the C library says.
// test-labels: posix no-tsan no-asan
// test-timeout: 180
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <weft/weft.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support/cases.h"
#include "support/parked.h"
#include "support/process.h"
#include "support/waiting.h"

namespace {

using namespace weft::test;

// Far fewer than the goroutines that wait. On a busy machine some compute on with a thread of their own for a while.
constexpr int kFewThreads = 25;

struct Ends {
  explicit Ends(int type = SOCK_STREAM) {
    int both[2];
    WEFT_EXPECT(socketpair(AF_UNIX, type, 0, both) == 0);
    one = both[0], other = both[1];
  }
  ~Ends() {
    close(one);
    close(other);
  }
  Ends(const Ends&) = delete;
  int one, other;
};

int listen_on(sockaddr_in& address) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  WEFT_EXPECT(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(fd, 128) == 0);
  WEFT_EXPECT(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return fd;
}

void set_limit(int fd, int option, long ms) {
  const timeval limit{ms / 1000, ms % 1000 * 1000};
  WEFT_EXPECT(setsockopt(fd, SOL_SOCKET, option, &limit, sizeof limit) == 0);
}

#define WEFT_EXPECT_FAILS(call, error)  \
  do {                                  \
    errno = 0;                          \
    WEFT_EXPECT((call) == -1);          \
    const int weft_found = errno;       \
    WEFT_EXPECT(weft_found == (error)); \
  } while (false)

}  // namespace

// check: run WEFT_MAXPROCS=1 --case=receivers_keep_no_threads
// check: stdout ^done$
// check: run WEFT_MAXPROCS=2 --case=receivers_keep_no_threads
// check: stdout ^done$
WEFT_CASE(receivers_keep_no_threads) {
  weft::run([] {
    constexpr int kCount = 200;
    std::vector<std::unique_ptr<Ends>> ends;
    std::atomic<int> sum{0};
    weft::wait_group group;
    for (int i = 0; i < kCount; ++i) {
      ends.push_back(std::make_unique<Ends>());
      group.go([&, fd = ends.back()->one, how = i % 4] {
        char byte = 0;
        iovec part{&byte, 1};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        const ssize_t got = how == 0   ? recv(fd, &byte, 1, 0)
                            : how == 1 ? read(fd, &byte, 1)
                            : how == 2 ? readv(fd, &part, 1)
                                       : recvmsg(fd, &message, 0);
        WEFT_EXPECT(got == 1);
        sum += byte;
      });
    }
    until_parked(kCount);
    WEFT_EXPECT(count_threads() < kFewThreads);
    std::thread writer([&] {  // a plain thread, by the same functions
      for (const auto& each : ends) WEFT_EXPECT(write(each->other, "\1", 1) == 1);
    });
    group.wait();
    writer.join();
    WEFT_EXPECT(sum == kCount && count_threads() < kFewThreads);
    return 0;
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=whole_sends_arrive_whole
// check: stdout ^done$
// check: run WEFT_MAXPROCS=4 --case=whole_sends_arrive_whole
// check: stdout ^done$
WEFT_CASE(whole_sends_arrive_whole) {
  weft::run([] {
    constexpr std::size_t kSize = 3'000'000;
    std::string text(kSize, 0);
    for (std::size_t i = 0; i < kSize; ++i) text[i] = static_cast<char>(i * 31 % 251);
    for (int how = 0; how < 5; ++how) {
      Ends ends;
      auto sent = weft::spawn([&, fd = ends.one] {
        iovec parts[] = {{text.data(), 1000}, {text.data() + 1000, 0}, {text.data() + 1000, kSize - 1000}};
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = 3;
        switch (how) {
          case 0: return send(fd, text.data(), kSize, 0);
          case 1: return write(fd, text.data(), kSize);
          case 2: return writev(fd, parts, 3);
          case 3: return sendmsg(fd, &message, 0);
          default: return sendto(fd, text.data(), kSize, 0, nullptr, 0);
        }
      });
      std::string got(kSize, 0);
      WEFT_EXPECT(recv(ends.other, got.data(), kSize / 2, MSG_WAITALL) == static_cast<ssize_t>(kSize / 2));
      WEFT_EXPECT(recv(ends.other, got.data() + kSize / 2, kSize / 2, MSG_WAITALL) == static_cast<ssize_t>(kSize / 2));
      WEFT_EXPECT(sent.join() == static_cast<ssize_t>(kSize) && got == text);
    }
    return 0;
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=errors_are_the_c_librarys
// check: stdout ^done$
// check: run WEFT_MAXPROCS=2 --case=errors_are_the_c_librarys
// check: stdout ^done$
WEFT_CASE(errors_are_the_c_librarys) {
  weft::run([] {
    char byte = 0;
    WEFT_EXPECT_FAILS(recv(-1, &byte, 1, 0), EBADF);
    WEFT_EXPECT_FAILS(read(1'000'000, &byte, 1), EBADF);
    WEFT_EXPECT_FAILS(send(999, &byte, 1, 0), EBADF);
    int pipe_ends[2];
    WEFT_EXPECT(pipe(pipe_ends) == 0);
    WEFT_EXPECT_FAILS(recv(pipe_ends[0], &byte, 1, 0), ENOTSOCK);
    WEFT_EXPECT_FAILS(accept(pipe_ends[0], nullptr, nullptr), ENOTSOCK);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    WEFT_EXPECT_FAILS(read(pipe_ends[0], &byte, 1), EBADF);
    {
      Ends ends;  // non-blocking in each of the ways that libraries use
      const int on = 1, flags = fcntl(ends.one, F_GETFL);
      fcntl(ends.one, F_SETFL, flags | O_NONBLOCK);
      WEFT_EXPECT_FAILS(recv(ends.one, &byte, 1, 0), EAGAIN);
      WEFT_EXPECT_FAILS(read(ends.one, &byte, 1), EAGAIN);
      const int copy = dup(ends.one);
      WEFT_EXPECT_FAILS(recv(copy, &byte, 1, 0), EAGAIN);
      ioctl(ends.other, FIONBIO, &on);
      WEFT_EXPECT_FAILS(read(ends.other, &byte, 1), EAGAIN);
      close(copy);
    }
    {
      Ends ends;  // time limits
      set_limit(ends.one, SO_RCVTIMEO, 30);
      const Stopwatch watch;
      WEFT_EXPECT_FAILS(recv(ends.one, &byte, 1, 0), EAGAIN);
      WEFT_EXPECT_FAILS(read(ends.one, &byte, 1), EAGAIN);
      WEFT_EXPECT(watch.elapsed() >= 60ms);
      set_limit(ends.one, SO_SNDTIMEO, 30);
      const std::string much(4'000'000, 'x');
      const ssize_t some = send(ends.one, much.data(), much.size(), 0);
      WEFT_EXPECT(some > 0 && some < 4'000'000);
      WEFT_EXPECT_FAILS(send(ends.one, much.data(), much.size(), 0), EAGAIN);
    }
    {
      Ends ends;  // ends
      WEFT_EXPECT(shutdown(ends.other, SHUT_WR) == 0 && recv(ends.one, &byte, 1, 0) == 0);
      close(ends.other);
      WEFT_EXPECT_FAILS(send(ends.one, &byte, 1, MSG_NOSIGNAL), EPIPE);
      ends.other = -1;
    }
    const int udp = socket(AF_INET, SOCK_DGRAM, 0);
    WEFT_EXPECT_FAILS(accept(udp, nullptr, nullptr), EOPNOTSUPP);
    WEFT_EXPECT_FAILS(recv(udp, &byte, 1, MSG_ERRQUEUE), EAGAIN);
    close(udp);
    const int unconnected = socket(AF_INET, SOCK_STREAM, 0);
    WEFT_EXPECT_FAILS(recv(unconnected, &byte, 1, 0), ENOTCONN);
    sockaddr_in address;
    close(listen_on(address));
    WEFT_EXPECT_FAILS(connect(unconnected, reinterpret_cast<sockaddr*>(&address), sizeof address), ECONNREFUSED);
    WEFT_EXPECT((fcntl(unconnected, F_GETFL) & O_NONBLOCK) == 0);
    close(unconnected);
    return 0;
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=close_and_shutdown_wake
// check: stdout ^done$
// check: run WEFT_MAXPROCS=2 --case=close_and_shutdown_wake
// check: stdout ^done$
WEFT_CASE(close_and_shutdown_wake) {
  weft::run([] {
    for (int round = 0; round < 50; ++round) {
      Ends ends;
      const int copy = dup(ends.one);
      const auto receive = [](int fd) {
        char byte = 0;
        const ssize_t got = recv(fd, &byte, 1, 0);
        return got < 0 ? -errno : static_cast<int>(got);
      };
      auto closed = weft::spawn([&] { return receive(ends.one); });
      auto kept = weft::spawn([&] { return receive(copy); });
      until_parked(2);
      switch (round % 3) {
        case 0: close(ends.one); break;
        case 1: WEFT_EXPECT(dup2(ends.other, ends.one) == ends.one); break;
        case 2: std::thread([&] { close(ends.one); }).join(); break;
      }
      WEFT_EXPECT(closed.join() == -EBADF);
      if (round % 3 != 1) WEFT_EXPECT(write(ends.other, "x", 1) == 1);  // the copy is open, and still waited for
      if (round % 3 == 1) shutdown(ends.other, SHUT_RDWR);
      WEFT_EXPECT(kept.join() == (round % 3 == 1 ? 0 : 1));
      close(copy);
      if (round % 3 != 1) ends.one = -1;
    }
    Ends ends;
    auto woken = weft::spawn([&] {
      char byte = 0;
      return recv(ends.one, &byte, 1, 0);
    });
    until_parked(1);
    shutdown(ends.one, SHUT_RDWR);
    WEFT_EXPECT(woken.join() == 0);
    return 0;
  });
  say("done");
  return 0;
}

// A number that was closed behind the library's back, and means another socket by now.
// check: run WEFT_MAXPROCS=2 --case=numbers_are_used_again
// check: stdout ^done$
WEFT_CASE(numbers_are_used_again) {
  weft::run([] {
    for (int round = 0; round < 200; ++round) {
      Ends ends;
      auto got = weft::spawn([fd = ends.one] {
        char byte = 0;
        return recv(fd, &byte, 1, 0) == 1 ? byte : 0;
      });
      if (round % 2 == 0) until_parked(1);
      WEFT_EXPECT(send(ends.other, "y", 1, 0) == 1 && got.join() == 'y');
      const int copy = round % 3 == 0 ? dup(ends.one) : -1;  // keeps the old registration alive
      syscall(SYS_close, ends.one);
      syscall(SYS_close, ends.other);
      ends.one = ends.other = -1;
      if (round % 3 == 1) {  // a pipe where a socket was
        int both[2];
        WEFT_EXPECT(pipe(both) == 0);
        auto read_it = weft::spawn([&] {
          char byte = 0;
          return read(both[0], &byte, 1) == 1 ? byte : 0;
        });
        if (round % 2 == 0) until_parked(1);
        WEFT_EXPECT(write(both[1], "z", 1) == 1 && read_it.join() == 'z');
        syscall(SYS_close, both[0]);
        syscall(SYS_close, both[1]);
      }
      if (copy >= 0) close(copy);
    }
    return 0;
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=connections
// check: stdout ^done$
// check: run WEFT_MAXPROCS=2 --case=connections
// check: stdout ^done$
WEFT_CASE(connections) {
  weft::run([] {
    sockaddr_in address;
    const int listener = listen_on(address);
    constexpr int kClients = 100;
    std::atomic<int> answered{0};
    weft::wait_group servers, clients;
    for (int i = 0; i < 4; ++i) {
      servers.go([&, i] {
        for (;;) {
          const int fd = i % 2 == 0 ? accept(listener, nullptr, nullptr) : accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
          if (fd < 0) {
            WEFT_EXPECT(errno == EBADF || errno == EINVAL);
            return;
          }
          servers.go([fd] {
            char text[64];
            ssize_t got;
            while ((got = read(fd, text, sizeof text)) > 0) WEFT_EXPECT(write(fd, text, static_cast<std::size_t>(got)) == got);
            close(fd);
          });
        }
      });
    }
    until_parked(4);
    for (int i = 0; i < kClients; ++i) {
      clients.go([&, i] {
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        WEFT_EXPECT(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        for (int round = 0; round < 5; ++round) {
          const std::string text = std::to_string(i) + " " + std::to_string(round);
          std::string back(text.size(), 0);
          WEFT_EXPECT(send(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
          WEFT_EXPECT(recv(fd, back.data(), back.size(), MSG_WAITALL) == static_cast<ssize_t>(text.size()) && back == text);
        }
        close(fd);
        ++answered;
      });
    }
    clients.wait();
    WEFT_EXPECT(answered == kClients && count_threads() < kFewThreads);
    shutdown(listener, SHUT_RDWR);  // a thread that has lost the race for a connection sleeps in the kernel's accept
    close(listener);
    servers.wait();
    return 0;
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=2 --case=descriptors_run_out
// check: stdout ^done$
WEFT_CASE(descriptors_run_out) {
  weft::run([] {
    sockaddr_in address;
    const int listener = listen_on(address), client = socket(AF_INET, SOCK_STREAM, 0);
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    auto accepted = weft::spawn([&] {
      const int fd = accept(listener, nullptr, nullptr);
      return fd < 0 ? errno : 0;
    });
    until_parked(1);
    rlimit none = before;
    none.rlim_cur = static_cast<rlim_t>(client) + 1;
    setrlimit(RLIMIT_NOFILE, &none);
    std::vector<int> filled;
    for (int fd; (fd = dup(0)) >= 0;) filled.push_back(fd);
    WEFT_EXPECT(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    WEFT_EXPECT(accepted.join() == EMFILE);
    setrlimit(RLIMIT_NOFILE, &before);
    for (const int fd : filled) close(fd);
    close(listener);
    close(client);
    return 0;
  });
  say("done");
  return 0;
}

namespace {
std::atomic<int> handled{0};
void on_signal(int) {
  // On the goroutine's own stack: a call that waits here must not park. It waits for longer than the others need.
  const pid_t before = gettid();
  pollfd none{-1, POLLIN, 0};
  const int saved = errno;
  poll(&none, 1, 2);
  usleep(1000);
  errno = saved;
  WEFT_EXPECT(gettid() == before);
  ++handled;
}
}  // namespace

// check: run WEFT_MAXPROCS=1 --case=handlers_of_signals_wait_as_threads
// check: stdout ^done$
// check: run WEFT_MAXPROCS=2 --case=handlers_of_signals_wait_as_threads
// check: stdout ^done$
WEFT_CASE(handlers_of_signals_wait_as_threads) {
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  weft::run([] {
    Ends ends;
    std::atomic<bool> stop{false};
    weft::wait_group others;
    for (int i = 0; i < 3; ++i) {
      others.go([&] {
        while (!stop) weft::this_goroutine::yield();
      });
    }
    others.go([&] {
      char byte = 0;
      while (recv(ends.one, &byte, 1, 0) == 1 && byte != 0) {
      }
    });
    for (int i = 0; i < 20; ++i) {
      raise(SIGUSR1);
      WEFT_EXPECT(send(ends.other, "x", 1, 0) == 1);
      kill(getpid(), SIGUSR1);
      usleep(500);
    }
    WEFT_EXPECT(spin_until([] { return handled >= 20; }));
    stop = true;
    WEFT_EXPECT(send(ends.other, "", 1, 0) == 1);
    others.wait();
    return 0;
  });
  say("done");
  return 0;
}
