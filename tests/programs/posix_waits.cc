// SPDX-License-Identifier: MIT
// weft::posix: poll, select, epoll, sleeps, pipes, files, children and names; fork in the middle.
// test-labels: posix no-tsan no-asan
// test-timeout: 180
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <weft/weft.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <mutex>
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

struct Pipe {
  Pipe() {
    int both[2];
    WEFT_EXPECT(pipe(both) == 0);
    out = both[0], in = both[1];
  }
  ~Pipe() {
    close(out);
    close(in);
  }
  Pipe(const Pipe&) = delete;
  int out, in;
};

}  // namespace

// check: run WEFT_MAXPROCS=1 --case=poll_and_its_kin_park
// check: stdout ^done$
// check: run WEFT_MAXPROCS=2 --case=poll_and_its_kin_park
// check: stdout ^done$
WEFT_CASE(poll_and_its_kin_park) {
  weft::run([] {
    constexpr int kCount = 100;
    std::vector<std::unique_ptr<Pipe>> pipes;
    weft::wait_group group;
    for (int i = 0; i < kCount; ++i) {
      pipes.push_back(std::make_unique<Pipe>());
      group.go([fd = pipes.back()->out, how = i % 5, &other = *pipes.front()] {
        pollfd both[] = {{other.in, POLLIN, 0}, {fd, POLLIN, 0}};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(fd, &set);
        const timespec long_enough{100, 0};
        timeval limit{100, 0};
        if (how == 0) {
          WEFT_EXPECT(poll(both, 2, -1) == 1 && both[1].revents == POLLIN && both[0].revents == 0);
        } else if (how == 1) {
          WEFT_EXPECT(ppoll(both, 2, &long_enough, nullptr) == 1 && both[1].revents == POLLIN);
        } else if (how == 2) {
          WEFT_EXPECT(select(fd + 1, &set, nullptr, nullptr, &limit) == 1 && FD_ISSET(fd, &set) && limit.tv_sec >= 1);
        } else if (how == 3) {
          WEFT_EXPECT(pselect(fd + 1, &set, nullptr, nullptr, &long_enough, nullptr) == 1 && FD_ISSET(fd, &set));
        } else {
          const int own = epoll_create1(0);  // a library's own epoll set
          epoll_event event{EPOLLIN, {.u64 = 77}}, found{};
          WEFT_EXPECT(epoll_ctl(own, EPOLL_CTL_ADD, fd, &event) == 0);
          WEFT_EXPECT(epoll_wait(own, &found, 1, -1) == 1 && found.data.u64 == 77);
          close(own);
        }
        char byte = 0;
        WEFT_EXPECT(read(fd, &byte, 1) == 1 && byte == '!');
      });
    }
    until_parked(kCount);
    WEFT_EXPECT(count_threads() < kFewThreads);
    for (const auto& each : pipes) WEFT_EXPECT(write(each->in, "!", 1) == 1);
    group.wait();
    WEFT_EXPECT(count_threads() < kFewThreads);
    return 0;
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=limits_end_waits
// check: stdout ^done$
WEFT_CASE(limits_end_waits) {
  weft::run([] {
    Pipe quiet;
    pollfd one{quiet.out, POLLIN, 0}, none{-1, POLLIN, 0};
    const auto takes = [](auto call) {
      const Stopwatch watch;
      WEFT_EXPECT(call() == 0);
      return watch.elapsed();
    };
    WEFT_EXPECT(takes([&] { return poll(&one, 1, 0); }) < 5s);
    WEFT_EXPECT(takes([&] { return poll(&one, 1, 20); }) >= 20ms);
    WEFT_EXPECT(takes([&] { return poll(&none, 1, 20); }) >= 20ms);
    WEFT_EXPECT(takes([&] { return poll(nullptr, 0, 20); }) >= 20ms);
    timeval limit{0, 20'000};
    WEFT_EXPECT(takes([&] { return select(0, nullptr, nullptr, nullptr, &limit); }) >= 20ms && limit.tv_usec == 0);
    const int own = epoll_create1(0);
    epoll_event found{};
    WEFT_EXPECT(takes([&] { return epoll_wait(own, &found, 1, 20); }) >= 20ms);
    close(own);
    WEFT_EXPECT(poll(&one, 1, 5) == 0 && poll(&one, 1, -5 + 10) == 0);
    pollfd closed{own, POLLIN, 0};
    WEFT_EXPECT(poll(&closed, 1, 1000) == 1 && closed.revents == POLLNVAL);
    errno = 0;
    WEFT_EXPECT(epoll_wait(own, &found, 1, 1000) == -1 && errno == EBADF);
    // Closed while it is waited for.
    Pipe other;
    auto woken = weft::spawn([&] {
      pollfd waits{other.out, POLLIN, 0};
      return poll(&waits, 1, -1) == 1 ? waits.revents : 0;
    });
    until_parked(1);
    close(other.out);
    WEFT_EXPECT(woken.join() == POLLNVAL);
    other.out = -1;
    // More than one wait can hold: handed off.
    std::vector<pollfd> many(100, pollfd{quiet.out, POLLIN, 0});
    WEFT_EXPECT(takes([&] { return poll(many.data(), many.size(), 10); }) >= 10ms);
    // A file on a disk is always ready.
    const int file = open("/proc/self/exe", O_RDONLY);
    pollfd disk{file, POLLIN, 0};
    WEFT_EXPECT(poll(&disk, 1, -1) == 1);
    close(file);
    return 0;
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=sleeps_park
// check: stdout ^done$
WEFT_CASE(sleeps_park) {
  weft::run([] {
    weft::wait_group group;
    for (int i = 0; i < 100; ++i) {
      group.go([i] {
        const auto before = std::chrono::steady_clock::now();
        const timespec time{0, 20'000'000};
        timespec until{};
        clock_gettime(i % 2 == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &until);
        until.tv_nsec += 20'000'000;
        if (until.tv_nsec >= 1'000'000'000) until.tv_nsec -= 1'000'000'000, ++until.tv_sec;
        switch (i % 5) {
          case 0: WEFT_EXPECT(usleep(20'000) == 0); break;
          case 1: WEFT_EXPECT(nanosleep(&time, nullptr) == 0); break;
          case 2: WEFT_EXPECT(clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr) == 0); break;
          case 3: WEFT_EXPECT(clock_nanosleep(i % 2 == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == 0); break;
          case 4: std::this_thread::sleep_for(20ms); break;
        }
        WEFT_EXPECT(std::chrono::steady_clock::now() - before >= 19ms);  // the realtime clock is another one
      });
    }
    group.wait();
    WEFT_EXPECT(count_threads() < kFewThreads);
    const timespec wrong{0, 1'000'000'000};
    errno = 0;
    WEFT_EXPECT(nanosleep(&wrong, nullptr) == -1 && errno == EINVAL);
    WEFT_EXPECT(clock_nanosleep(99, 0, &wrong, nullptr) == EINVAL);
    return 0;
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=pipes_and_other_descriptors_park
// check: stdout ^done$
WEFT_CASE(pipes_and_other_descriptors_park) {
  weft::run([] {
    Pipe tube;
    const std::string much(1'000'000, 'm');
    auto written = weft::spawn([&] { return write(tube.in, much.data(), much.size()); });  // more than a pipe holds
    std::size_t got = 0;
    std::vector<char> buffer(65536);
    while (got < much.size()) {
      const ssize_t some = read(tube.out, buffer.data(), buffer.size());
      WEFT_EXPECT(some > 0);
      got += static_cast<std::size_t>(some);
    }
    WEFT_EXPECT(written.join() == static_cast<ssize_t>(much.size()));
    const int counter = eventfd(0, 0);
    auto counted = weft::spawn([&] {
      std::uint64_t value = 0;
      WEFT_EXPECT(read(counter, &value, sizeof value) == sizeof value);
      return value;
    });
    until_parked(1);
    const std::uint64_t five = 5;
    WEFT_EXPECT(write(counter, &five, sizeof five) == sizeof five && counted.join() == 5);
    close(counter);
    int records[2];
    WEFT_EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, records) == 0);
    auto record = weft::spawn([&] {
      char text[16];
      return read(records[0], text, sizeof text);
    });
    until_parked(1);
    WEFT_EXPECT(write(records[1], "abc", 3) == 3 && record.join() == 3);
    close(records[0]);
    close(records[1]);
    return 0;
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=other_waits_stop_nobody
// check: stdout ^done$
// check: run WEFT_MAXPROCS=2 --case=other_waits_stop_nobody
// check: stdout ^done$
WEFT_CASE(other_waits_stop_nobody) {
  char path[] = "/tmp/weft-posix-XXXXXX";
  const int held = mkstemp(path), wanted = open(path, O_RDWR);
  WEFT_EXPECT(held >= 0 && wanted >= 0 && flock(held, LOCK_EX) == 0);
  weft::run([&] {
    std::atomic<int> steps{0};
    auto locked = weft::spawn([&] {
      steps = 1;
      return flock(wanted, LOCK_EX);
    });
    WEFT_EXPECT(spin_until([&] { return steps == 1; }));
    for (int i = 0; i < 100; ++i) weft::this_goroutine::yield();  // at P = 1: the P was given up
    WEFT_EXPECT(flock(wanted, LOCK_EX | LOCK_NB) == -1);
    WEFT_EXPECT(flock(held, LOCK_UN) == 0 && locked.join() == 0);
    char text[8] = {};
    WEFT_EXPECT(pwrite(held, "weft", 4, 0) == 4 && fsync(held) == 0 && fdatasync(held) == 0);
    WEFT_EXPECT(pread(wanted, text, sizeof text, 0) == 4 && std::string(text) == "weft" && read(wanted, text, 8) == 4);
    errno = 0;
    WEFT_EXPECT(fsync(-1) == -1 && errno == EBADF);

    // Children: one parks, any is handed off.
    weft::wait_group group;
    std::vector<pid_t> children;
    Pipe hold;
    for (int i = 0; i < 30; ++i) {
      const pid_t pid = fork();
      if (pid == 0) {
        char byte = 0;
        close(hold.in);  // after a fork these are the C library's functions
        WEFT_EXPECT(read(hold.out, &byte, 1) == 0);
        pollfd none{-1, 0, 0};
        poll(&none, 1, 1);
        _exit(i);
      }
      children.push_back(pid);
    }
    for (int i = 0; i < 30; ++i) {
      group.go([&, i] {
        int status = 0;
        const pid_t pid = children[static_cast<std::size_t>(i)];
        WEFT_EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == i);
      });
    }
    until_parked(30);
    WEFT_EXPECT(count_threads() < kFewThreads);
    close(hold.in);
    hold.in = -1;
    group.wait();
    errno = 0;
    WEFT_EXPECT(waitpid(children[0], nullptr, 0) == -1 && errno == ECHILD);
    errno = 0;
    WEFT_EXPECT(wait(nullptr) == -1 && errno == ECHILD);

    addrinfo* found = nullptr;
    WEFT_EXPECT(getaddrinfo("127.0.0.1", "80", nullptr, &found) == 0 && found != nullptr);
    freeaddrinfo(found);
    WEFT_EXPECT(getaddrinfo("no such name", nullptr, nullptr, &found) != 0);
    WEFT_EXPECT(gethostbyname("127.0.0.1") != nullptr);
    return 0;
  });
  unlink(path);
  say("done");
  return 0;
}

// A child of vfork is in the same memory, with descriptors of its own.
// check: run WEFT_MAXPROCS=2 --case=vfork_leaves_the_parents_waits_alone
// check: stdout ^done$
WEFT_CASE(vfork_leaves_the_parents_waits_alone) {
  weft::run([] {
    for (int round = 0; round < 10; ++round) {
      Pipe tube;
      auto got = weft::spawn([&] {
        char byte = 0;
        return read(tube.out, &byte, 1) == 1 ? byte : 0;
      });
      until_parked(1);
      const pid_t pid = vfork();
      if (pid == 0) {
        close(tube.out);
        close(tube.in);
        _exit(0);
      }
      WEFT_EXPECT(waitpid(pid, nullptr, 0) == pid);
      WEFT_EXPECT(write(tube.in, "v", 1) == 1 && got.join() == 'v');
    }
    return 0;
  });
  say("done");
  return 0;
}

// Everybody at once: goroutines and plain threads pass bytes around rings of pipes and sockets, while descriptors are opened
// and closed beside them.
// check: run WEFT_MAXPROCS=4 --case=storm
// check: stdout ^done$
// check: within 60
WEFT_CASE(storm) {
  weft::run([] {
    constexpr int kRings = 8, kHops = 6, kRounds = 300;
    weft::wait_group group;
    std::atomic<bool> stop{false};
    group.go([&] {
      while (!stop) {
        Pipe brief;
        auto waits = weft::spawn([&] {
          pollfd one{brief.out, POLLIN, 0};
          return poll(&one, 1, 1000);
        });
        weft::this_goroutine::yield();
        WEFT_EXPECT(write(brief.in, "b", 1) == 1 && waits.join() == 1);
      }
    });
    weft::wait_group rings;
    for (int ring = 0; ring < kRings; ++ring) {
      rings.go([ring] {
        std::vector<int> in, out;
        for (int hop = 0; hop < kHops; ++hop) {
          int both[2];
          WEFT_EXPECT((ring % 2 == 0 ? pipe(both) : socketpair(AF_UNIX, SOCK_STREAM, 0, both)) == 0);
          out.push_back(both[0]);
          in.push_back(both[1]);
        }
        const auto pass = [&](int hop) {
          for (int i = 0; i < kRounds; ++i) {
            char byte = 0;
            if (i % 3 == 0) {
              pollfd one{out[static_cast<std::size_t>(hop)], POLLIN, 0};
              WEFT_EXPECT(poll(&one, 1, -1) == 1);
            }
            WEFT_EXPECT(read(out[static_cast<std::size_t>(hop)], &byte, 1) == 1);
            ++byte;
            WEFT_EXPECT(write(in[static_cast<std::size_t>((hop + 1) % kHops)], &byte, 1) == 1);
          }
        };
        weft::wait_group hops;
        for (int hop = 1; hop < kHops - 1; ++hop) hops.go([&, hop] { pass(hop); });
        std::thread plain([&] { pass(kHops - 1); });
        for (int i = 0; i < kRounds; ++i) {
          char byte = 0;
          WEFT_EXPECT(write(in[1], &byte, 1) == 1);
          WEFT_EXPECT(read(out[0], &byte, 1) == 1 && byte == kHops - 1);
        }
        hops.wait();
        plain.join();
        for (const int fd : in) close(fd);
        for (const int fd : out) close(fd);
      });
    }
    rings.wait();
    stop = true;
    group.wait();
    return 0;
  });
  say("done");
  return 0;
}

// Locks that know their owner belong to a thread, and goroutines change theirs wherever they wait.
// check: run WEFT_MAXPROCS=1 --case=owned_locks_keep_the_thread
// check: stdout ^done$
// check: run WEFT_MAXPROCS=4 --case=owned_locks_keep_the_thread
// check: stdout ^done$
WEFT_CASE(owned_locks_keep_the_thread) {
  weft::run([] {
    for (const int type : {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_NORMAL}) {
      pthread_mutexattr_t attributes;
      pthread_mutex_t mutex;
      pthread_mutexattr_init(&attributes);
      pthread_mutexattr_settype(&attributes, type);
      pthread_mutex_init(&mutex, &attributes);
      int shared = 0;
      weft::wait_group group;
      for (int i = 0; i < 20; ++i) {
        group.go([&] {
          for (int round = 0; round < 5; ++round) {
            WEFT_EXPECT(pthread_mutex_lock(&mutex) == 0);
            if (type == PTHREAD_MUTEX_RECURSIVE) WEFT_EXPECT(pthread_mutex_trylock(&mutex) == 0);
            if (type == PTHREAD_MUTEX_ERRORCHECK) WEFT_EXPECT(pthread_mutex_lock(&mutex) == EDEADLK);
            const int before = shared;
            usleep(200);  // parks with the lock held
            shared = before + 1;
            if (type == PTHREAD_MUTEX_RECURSIVE) WEFT_EXPECT(pthread_mutex_unlock(&mutex) == 0);
            WEFT_EXPECT(pthread_mutex_unlock(&mutex) == 0);
          }
        });
      }
      group.wait();
      WEFT_EXPECT(shared == 100);
      pthread_mutex_destroy(&mutex);
      pthread_mutexattr_destroy(&attributes);
    }
    return 0;
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=waits_of_threads_stop_nobody
// check: stdout ^done$
// check: run WEFT_MAXPROCS=2 --case=waits_of_threads_stop_nobody
// check: stdout ^done$
WEFT_CASE(waits_of_threads_stop_nobody) {
  weft::run([] {
    std::mutex mutex;
    std::condition_variable changed;
    int turn = 0;
    weft::wait_group group;
    for (int i = 0; i < 20; ++i) {
      group.go([&, i] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return turn == i; });
        ++turn;
        changed.notify_all();
      });
    }
    group.wait();
    WEFT_EXPECT(turn == 20);
    {
      std::unique_lock lock(mutex);
      WEFT_EXPECT(changed.wait_for(lock, 10ms) == std::cv_status::timeout);
    }
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    auto posted = weft::spawn([&] { return sem_wait(&semaphore); });
    for (int i = 0; i < 100; ++i) weft::this_goroutine::yield();
    WEFT_EXPECT(sem_post(&semaphore) == 0 && posted.join() == 0);
    timespec past{};
    errno = 0;
    WEFT_EXPECT(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT);
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    WEFT_EXPECT(pthread_rwlock_rdlock(&lock) == 0);
    auto written = weft::spawn([&] {
      const int result = pthread_rwlock_wrlock(&lock);
      pthread_rwlock_unlock(&lock);
      return result;
    });
    for (int i = 0; i < 100; ++i) weft::this_goroutine::yield();
    WEFT_EXPECT(pthread_rwlock_unlock(&lock) == 0 && written.join() == 0);
    std::atomic<bool> go{false};
    std::thread plain([&] {
      while (!go) usleep(100);
    });
    auto joined = weft::spawn([&] { plain.join(); });
    for (int i = 0; i < 100; ++i) weft::this_goroutine::yield();
    go = true;
    joined.join();
    return 0;
  });
  say("done");
  return 0;
}
