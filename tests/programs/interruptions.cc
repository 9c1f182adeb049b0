// SPDX-License-Identifier: MIT
// test-labels: qemu
// Goroutines that wait in system calls without saying so, under slices of a millisecond: others run meanwhile, and the signal by
// which they lose their P is never seen: no EINTR, no wait that ends too early.
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

#include <weft/weft.h>

#include "support/cases.h"

namespace {

using namespace weft::test;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr auto kWait = 100ms;

void expect(bool true_one, const char* what) {
  if (true_one) return;
  say((std::string(what) + ": " + std::strerror(errno)).c_str());
  _exit(1);
}

// Waits so long, on a goroutine that keeps its P, beside one that shows that others run.
template <class F>
void beside_others(const char* name, F&& wait) {
  std::atomic<bool> ended{false};
  int ran = 0;
  auto waiting = weft::spawn([&] {
    for (int i = 0; i < 3; ++i) {
      const auto began = steady::now();
      errno = 0;
      wait();
      expect(steady::now() - began >= kWait - 2ms, (std::string(name) + " ended too early").c_str());
    }
    ended = true;
  });
  while (!ended) {
    weft::this_goroutine::sleep_for(1ms);
    ++ran;
  }
  expect(ran >= 5, (std::string(name) + ": others hardly ran").c_str());
  waiting.join();
}

}  // namespace

// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 --case=are_not_seen
// check: stdout ^undisturbed$
// check: within 60
// check: run WEFT_MAXPROCS=2 WEFT_SLICE=1 --case=are_not_seen
// check: stdout ^undisturbed$
// check: within 60
WEFT_CASE(are_not_seen) {
  weft::run([] {
    std::array<int, 2> ends{};
    expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "socketpair");
    const timeval limit{0, std::chrono::microseconds(kWait).count()};
    expect(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0, "SO_RCVTIMEO");
    const timespec span{0, std::chrono::nanoseconds(kWait).count()};
    constexpr int kMs = static_cast<int>(kWait.count());

    beside_others("nanosleep", [&] { expect(nanosleep(&span, nullptr) == 0, "nanosleep"); });
    beside_others("nanosleep with a rest", [&] {
      timespec rest{};
      expect(nanosleep(&span, &rest) == 0, "nanosleep with a rest");
    });
    beside_others("clock_nanosleep",
                  [&] { expect(clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr) == 0, "clock_nanosleep"); });
    beside_others("usleep", [&] { expect(usleep(kMs * 1000) == 0, "usleep"); });
    beside_others("poll", [&] {
      pollfd one{ends[0], POLLIN, 0};
      expect(poll(&one, 1, kMs) == 0, "poll");
    });
    beside_others("ppoll", [&] {
      pollfd one{ends[0], POLLIN, 0};
      expect(ppoll(&one, 1, &span, nullptr) == 0, "ppoll");
    });
    beside_others("select", [&] {
      timeval time = limit;
      fd_set set;
      FD_ZERO(&set);
      FD_SET(ends[0], &set);
      expect(select(ends[0] + 1, &set, nullptr, nullptr, &time) == 0, "select");
    });
    beside_others("pselect", [&] {
      fd_set set;
      FD_ZERO(&set);
      FD_SET(ends[0], &set);
      expect(pselect(ends[0] + 1, &set, nullptr, nullptr, &span, nullptr) == 0, "pselect");
    });
    const int epoll = epoll_create1(0);
    beside_others("epoll_wait", [&] {
      epoll_event event{};
      expect(epoll_wait(epoll, &event, 1, kMs) == 0, "epoll_wait");
    });
    beside_others("recv with a time limit", [&] {
      char byte;
      expect(recv(ends[0], &byte, 1, 0) == -1 && errno == EAGAIN, "recv with a time limit");
    });
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    beside_others("sem_timedwait", [&] {
      timespec until{};
      clock_gettime(CLOCK_REALTIME, &until);
      until.tv_nsec += span.tv_nsec;
      if (until.tv_nsec >= 1'000'000'000) ++until.tv_sec, until.tv_nsec -= 1'000'000'000;
      expect(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT, "sem_timedwait");
    });
#ifndef __aarch64__  // whose C library overwrites the call's first argument: nobody can make it again (docs/preemption.md)
    const int old = semget(IPC_PRIVATE, 1, 0600);
    if (old >= 0) {
      beside_others("semtimedop", [&] {
        sembuf take{0, -1, 0};
        expect(semtimedop(old, &take, 1, &span) == -1 && errno == EAGAIN, "semtimedop");
      });
      semctl(old, 0, IPC_RMID);
    }
#endif
    expect(weft::runtime::read_stats().exiles > 0, "nobody was interrupted");
    say("undisturbed");
  });
  return 0;
}

// A signal of the user's own interrupts as ever.
// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 --case=of_the_user_are_seen
// check: stdout ^interrupted$
WEFT_CASE(of_the_user_are_seen) {
  struct sigaction action{};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, nullptr);
  weft::run([] {
    std::atomic<pid_t> thread{0};
    auto waiting = weft::spawn([&] {
      thread = gettid();
      errno = 0;
      return poll(nullptr, 0, 20'000) == -1 && errno == EINTR;
    });
    while (thread == 0) weft::this_goroutine::sleep_for(1ms);
    weft::this_goroutine::sleep_for(50ms);  // it is an exile by now
    expect(tgkill(getpid(), thread, SIGUSR1) == 0, "tgkill");
    say(waiting.join() ? "interrupted" : "not interrupted");
  });
  return 0;
}
