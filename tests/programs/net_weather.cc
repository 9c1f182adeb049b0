// SPDX-License-Identifier: MIT
// test-timeout: 180
// Sockets, files and children while signals rain, the process stands still, and others are started (F03, F09, F13, F14).
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/io.h>
#include <weft/net.h>
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "support/cases.h"
#include "support/sanitizers.h"
#include "support/waiting.h"

namespace {

using namespace weft::test;
namespace net = weft::net;
namespace io = weft::io;

std::atomic<long> handled{0};

void count_signals(std::initializer_list<int> signals) {
  struct sigaction action{};
  action.sa_handler = [](int) { ++handled; };
  action.sa_flags = SA_ONSTACK;  // not SA_RESTART: every interrupted call says so
  for (const int signal : signals) WEFT_EXPECT(sigaction(signal, &action, nullptr) == 0);
}

void set_alarm_every(int us) {
  const itimerval every{{0, us}, {0, us}};
  WEFT_EXPECT(setitimer(ITIMER_REAL, &every, nullptr) == 0);
}

// Signals for every thread of the process, at random.
class Rain {
 public:
  Rain() : sender_([this] { run(); }) {}
  ~Rain() {
    stop_ = true;
    sender_.join();
  }

 private:
  void run() {
    unsigned random = 1;
    while (!stop_) {
      DIR* const directory = opendir("/proc/self/task");
      while (const dirent* entry = directory != nullptr ? readdir(directory) : nullptr) {
        const pid_t thread = std::atoi(entry->d_name);
        random = random * 1664525 + 1013904223;
        if (thread > 0 && thread != gettid() && random >> 31 != 0)
          syscall(SYS_tgkill, getpid(), thread, random >> 30 & 1 ? SIGURG : SIGWINCH);
      }
      if (directory != nullptr) closedir(directory);
      usleep(2000);
    }
  }
  std::atomic<bool> stop_{false};
  std::thread sender_;
};

std::span<std::byte> room(std::string& text) { return std::as_writable_bytes(std::span(text)); }

// Servers that echo, and clients that count what came back right. Errors of any kind end the program.
class Echoes {
 public:
  Echoes() : listener_(net::listen("tcp", "127.0.0.1:0")) {
    servers_.go([this] {
      std::error_code error;
      while (net::conn connection = listener_.accept(error))
        servers_.go([connection = std::move(connection)]() mutable {
          std::string buffer(512, ' ');
          while (const std::size_t size = connection.read(room(buffer))) connection.write(buffer.substr(0, size));
        });
      WEFT_EXPECT(error == std::errc::bad_file_descriptor);
    });
    for (int i = 0; i < 8; ++i)
      clients_.go([this] {
        net::conn connection = net::dial("tcp", listener_.address().to_string());
        const std::string text(300, 'e');
        std::string back(text.size(), ' ');
        while (!stop_) {
          connection.write(text);
          WEFT_EXPECT(connection.read_full(room(back)) == text.size() && back == text);
          ++count_;
        }
      });
  }
  ~Echoes() {
    stop_ = true;
    clients_.wait();
    listener_.close();
    servers_.wait();
  }
  long in(Clock::duration length) {
    const long before = count_;
    weft::this_goroutine::sleep_for(length);
    return count_ - before;
  }

 private:
  net::listener listener_;
  weft::wait_group servers_, clients_;
  std::atomic<bool> stop_{false};
  std::atomic<long> count_{0};
};

}  // namespace

// No call says EINTR, all bytes are right, and half of the speed is left (the best of several pairs of windows: others use the
// machine too).
// check: run WEFT_MAXPROCS=2 --case=a_storm_of_signals_is_not_seen
// check: stdout ^undisturbed$
// check: within 60
// check: run WEFT_MAXPROCS=1 --case=a_storm_of_signals_is_not_seen
// check: stdout ^undisturbed$
// check: within 60
WEFT_CASE(a_storm_of_signals_is_not_seen) {
  count_signals({SIGALRM, SIGURG, SIGWINCH});
  weft::run([] {
    {
      Echoes echoes;
      double best = 0;
      for (int attempt = 0; attempt < 12 && best <= 0.5; ++attempt) {
        const long calm = echoes.in(150ms);
        set_alarm_every(100);
        long stormy;
        {
          const Rain rain;
          stormy = echoes.in(150ms);
        }
        set_alarm_every(0);
        WEFT_EXPECT(calm > 0);
        best = std::max(best, static_cast<double>(stormy) / static_cast<double>(calm));
      }
      std::printf("left: %.2f, signals: %ld\n", best, handled.load());
      WEFT_EXPECT(best > 0.5);
    }
    const Rain rain;
    set_alarm_every(200);
    int ends[2];
    WEFT_EXPECT(pipe2(ends, O_CLOEXEC) == 0);
    char path[] = "/tmp/weft-weather-XXXXXX";
    io::file file(mkostemp(path, O_CLOEXEC));
    unlink(path);
    weft::wait_group group;
    group.go([&] {  // a thread that waits in read(2), again and again
      io::file in(ends[0]);
      std::byte one;
      for (int i = 0; i < 50; ++i) WEFT_EXPECT(in.read(std::span(&one, 1)) == 1);
    });
    group.go([&] {
      for (int i = 0; i < 50; ++i) {
        weft::this_goroutine::sleep_for(1ms);
        WEFT_EXPECT(write(ends[1], "x", 1) == 1 || errno == EINTR);
      }
    });
    group.go([&] {
      std::string text(100'000, 'f'), back(text.size(), ' ');
      for (int i = 0; i < 20; ++i) {
        file.write_at(0, std::as_bytes(std::span(text)));
        WEFT_EXPECT(file.read_at(0, room(back)) == text.size());
        file.sync();
      }
    });
    group.go([] {
      for (int i = 0; i < 5; ++i) WEFT_EXPECT(io::start({"sleep", "0.01"}).wait() == 0);
    });
    group.go([] {
      WEFT_EXPECT(!net::lookup_host("localhost").empty());
      int pair[2];
      WEFT_EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
      for (int i = 0; i < 20; ++i) WEFT_EXPECT(!io::wait_readable(pair[0], Clock::now() + 1ms));
      close(pair[0]);
      close(pair[1]);
    });
    group.wait();
    set_alarm_every(0);
    close(ends[1]);
  });
  WEFT_EXPECT(handled > 100);
  say("undisturbed");
  return 0;
}

// Time passes while nothing runs: what has become due is due once, and what came meanwhile is there.
// check: run --case=a_process_that_stood_still_goes_on
// check: stdout ^goes on$
// check: not-stderr .
WEFT_CASE(a_process_that_stood_still_goes_on) {
  int question[2], answer[2];
  WEFT_EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, question) == 0 && pipe(answer) == 0);
  const pid_t child = fork();
  if (child == 0) {
    close(question[0]);
    const int result = weft::run({.maxprocs = 2}, [&] {
      net::conn outside = net::conn::from_fd(question[1]);
      net::listener listener = net::listen("tcp", "127.0.0.1:0");
      net::conn silent = net::dial("tcp", listener.address().to_string());
      net::conn accepted = listener.accept();
      std::atomic<int> expired{0}, ticks{0}, burst{-1'000'000};
      std::atomic<bool> stop{false};
      weft::wait_group group;
      group.go([&] {
        std::error_code error;
        std::byte one;
        accepted.set_read_deadline(Clock::now() + 700ms);
        accepted.read(std::span(&one, 1), error);
        if (error == std::errc::timed_out) ++expired;
      });
      group.go([&] {
        weft::ticker ticker(10ms);
        auto last = Clock::now();
        while (!stop) {
          ticker.chan().recv();
          const auto now = Clock::now();
          if (now - last > 800ms) {
            burst = 0;
          } else if (now - last < 2ms) {
            ++burst;
          }
          last = now;
          ++ticks;
        }
      });
      if (!spin_until([&] { return ticks > 0; })) return 9;  // it has a time to compare with
      const auto start = Clock::now();
      if (write(answer[1], "r", 1) != 1) return 10;
      std::string text(5, ' ');
      if (outside.read_full(room(text)) != 5 || text != "hello") return 11;
      const auto away = Clock::now() - start;
      if (away < 900ms) return 12;
      if (!spin_until([&] { return expired == 1; })) return 13;
      const int late = ticks;
      silent.write("x");  // the connection itself has not suffered
      accepted.set_read_deadline(weft::time_point::max());
      std::byte one;
      if (accepted.read(std::span(&one, 1)) != 1) return 15;
      if (!spin_until([&] { return ticks > late + 3; })) return 16;
      if (burst < 0 || burst > 50) return 17;  // one for all that were missed: a hundred
      stop = true;
      group.wait();
      return 0;
    });
    _exit(result);
  }
  close(question[1]);
  char ready;
  WEFT_EXPECT(read(answer[0], &ready, 1) == 1);
  kill(child, SIGSTOP);
  int stopped = 0;
  WEFT_EXPECT(waitpid(child, &stopped, WUNTRACED) == child && WIFSTOPPED(stopped));
  WEFT_EXPECT(write(question[0], "hello", 5) == 5);
  usleep(1'000'000);
  kill(child, SIGCONT);
  int status = 0;
  WEFT_EXPECT(waitpid(child, &status, 0) == child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) std::printf("the child ended with %d\n", status);
  WEFT_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  say("goes on");
  return 0;
}

namespace {

int open_descriptors() {
  int count = 0;
  for (int fd = 0; fd < 200; ++fd) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

}  // namespace

// check: run --case=has_standard_streams_only
WEFT_CASE(has_standard_streams_only) { return open_descriptors() == 3 ? 0 : 1; }

// check: run --case=started_programs_inherit_no_sockets
// check: stdout ^nothing$
WEFT_CASE(started_programs_inherit_no_sockets) {
  for (int fd = 3; fd < 200; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);  // what this program itself was given
  char path[4096] = {};
  WEFT_EXPECT(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  weft::run([&] {
    weft::chan<int> signals = io::signals({SIGUSR2});
    net::listener listener = net::listen("tcp", "127.0.0.1:0"),
                  local = net::listen("unix", "@weft-weather-" + std::to_string(getpid()));
    net::packet_conn datagrams = net::listen_packet("udp", "127.0.0.1:0");
    net::conn client = net::dial("tcp", listener.address().to_string()), server = listener.accept();
    io::file file = io::open(path);
    WEFT_EXPECT(open_descriptors() > 9);
    weft::wait_group group;
    for (int i = 0; i < 4; ++i)
      group.go([&] { WEFT_EXPECT(io::start({path, "--case=has_standard_streams_only"}).wait() == 0); });
    group.wait();
    const int status =
        weft::blocking([&] { return std::system((std::string(path) + " --case=has_standard_streams_only").c_str()); });
    WEFT_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    io::stop_signals(signals);
  });
  say("nothing");
  return 0;
}

// Children of the program's own are its own: waiting for others takes neither their end nor the signal that tells of it.
// check: run WEFT_MAXPROCS=2 --case=children_of_others_are_left_alone
// check: stdout ^left alone$
// check: within 60
WEFT_CASE(children_of_others_are_left_alone) {
  count_signals({SIGCHLD});
  weft::run([] {
    std::vector<pid_t> own;
    weft::wait_group group;
    for (int i = 0; i < 40 / kSlowdown; ++i) {
      group.go([i] { WEFT_EXPECT(io::start({"sh", "-c", "exit " + std::to_string(i % 5)}).wait() == i % 5); });
      group.go([i] {
        const int status = weft::blocking([i] { return std::system(("exit " + std::to_string(i % 5)).c_str()); });
        WEFT_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == i % 5);
      });
      const pid_t child = fork();
      if (child == 0) _exit(10 + i);
      WEFT_EXPECT(child > 0);
      own.push_back(child);
    }
    group.wait();
    for (std::size_t i = 0; i < own.size(); ++i) {
      int status = 0;
      pid_t got;
      while ((got = waitpid(own[i], &status, 0)) < 0 && errno == EINTR) {
      }
      WEFT_EXPECT(got == own[i] && WIFEXITED(status) && WEXITSTATUS(status) == 10 + static_cast<int>(i));
    }
    WEFT_EXPECT(waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD);  // and nobody is left over
  });
  WEFT_EXPECT(handled > 0);
  say("left alone");
  return 0;
}
