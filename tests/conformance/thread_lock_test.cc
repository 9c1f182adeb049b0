// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// lock_os_thread: one goroutine, one thread, and what becomes of the thread (SC01, SC02, SC05, SC22, SC23).
namespace {

using namespace weft::test;

class ThreadLock : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(ThreadLock);

// One hand-over to the other side and back.
struct Baton {
  weft::event there, back;
};

TEST_P(ThreadLock, a_locked_goroutine_stays_on_its_thread) {
  weft::run([] {
    weft::lock_os_thread();
    const pid_t mine = gettid();
    for (int i = 0; i < 20; ++i) {
      weft::this_goroutine::yield();
      EXPECT_EQ(gettid(), mine);
      weft::this_goroutine::sleep_for(50us);
      EXPECT_EQ(gettid(), mine);
      EXPECT_EQ(weft::spawn([] { return gettid(); }).join() == mine, false) << "another goroutine ran on the locked thread";
      EXPECT_EQ(gettid(), mine);
      weft::blocking([] { usleep(50); });
      EXPECT_EQ(gettid(), mine);
    }
    weft::unlock_os_thread();
  });
}

TEST_P(ThreadLock, nobody_else_runs_on_a_locked_thread) {
  std::atomic<bool> stop{false};
  std::mutex lock;
  std::set<pid_t> locked, others;
  weft::wait_group group;
  weft::run([&] {
    for (int i = 0; i < 3; ++i) {
      group.go([&] {
        const weft::os_thread_lock wired;
        const pid_t mine = gettid();
        {
          const std::lock_guard guard(lock);
          EXPECT_TRUE(locked.insert(mine).second) << "two goroutines locked to one thread";
        }
        while (!stop) {
          weft::this_goroutine::sleep_for(200us);
          EXPECT_EQ(gettid(), mine);
        }
      });
    }
    EXPECT_TRUE(spin_until([&] {
      const std::lock_guard guard(lock);
      return locked.size() == 3;
    }));
    weft::wait_group unlocked;
    for (int i = 0; i < 500; ++i) {
      unlocked.go([&] {
        weft::this_goroutine::yield();
        const std::lock_guard guard(lock);
        others.insert(gettid());
      });
      if (i % 50 == 0) weft::this_goroutine::sleep_for(500us);
    }
    unlocked.wait();  // before the threads are anybody's again
    stop = true;
    group.wait();
    for (const pid_t tid : others) EXPECT_EQ(locked.count(tid), 0u);
  });
}

TEST_P(ThreadLock, nests) {
  weft::run([] {
    weft::lock_os_thread();
    weft::lock_os_thread();
    {
      const weft::os_thread_lock third;
    }
    const pid_t mine = gettid();
    weft::unlock_os_thread();
    for (int i = 0; i < 10; ++i) {
      weft::this_goroutine::sleep_for(100us);
      EXPECT_EQ(gettid(), mine) << "still locked once";
    }
    weft::unlock_os_thread();
    EXPECT_THROW(weft::unlock_os_thread(), weft::logic_error);
    weft::this_goroutine::sleep_for(100us);
  });
}

TEST_P(ThreadLock, is_released_by_an_exception) {
  weft::run([] {
    try {
      const weft::os_thread_lock wired;
      weft::this_goroutine::yield();
      throw 1;
    } catch (int) {
    }
    EXPECT_THROW(weft::unlock_os_thread(), weft::logic_error);
  });
}

TEST_P(ThreadLock, needs_a_goroutine) {
  EXPECT_THROW(weft::lock_os_thread(), weft::logic_error);
  EXPECT_THROW(weft::unlock_os_thread(), weft::logic_error);
}

TEST_P(ThreadLock, the_thread_ends_with_a_goroutine_that_ends_locked) {
  const auto end_locked = [](auto how) {
    pid_t tid = 0;
    weft::wait_group group;
    group.go([&] {
      weft::lock_os_thread();
      weft::lock_os_thread();
      weft::unlock_os_thread();  // still locked once
      tid = gettid();
      how();
    });
    group.wait();
    EXPECT_TRUE(spin_until([&] { return !thread_exists(tid); }, 5s)) << tid;
  };
  end_locked([] {});
  end_locked([] { weft::this_goroutine::sleep_for(1ms); });
  end_locked([] { weft::this_goroutine::exit(); });
  end_locked([] { weft::blocking([] { usleep(1000); }); });
  EXPECT_EQ(weft::spawn([] { return 1; }).join(), 1);
}

TEST_P(ThreadLock, no_goroutine_inherits_the_state_of_an_ended_thread) {
  constexpr char kName[] = "weft-tainted";
  for (int i = 0; i < 5; ++i) {
    weft::wait_group group;
    group.go([&] {
      weft::lock_os_thread();
      pthread_setname_np(pthread_self(), kName);
    });
    group.wait();
    std::atomic<int> tainted{0};
    for (int k = 0; k < 100; ++k) {
      group.go([&] {
        char name[16] = {};
        pthread_getname_np(pthread_self(), name, sizeof name);
        if (std::string(name) == kName) ++tainted;
      });
    }
    group.wait();
    EXPECT_EQ(tainted, 0);
  }
}

TEST_P(ThreadLock, threads_started_meanwhile_do_not_take_after_a_locked_one) {
  // A thread gets its signal mask, CPUs and name from the one that starts it.
  constexpr char kName[] = "weft-odd-one";
  weft::wait_group group;
  std::atomic<int> alike{0}, started{0};
  group.go([&] {
    weft::lock_os_thread();
    pthread_setname_np(pthread_self(), kName);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &mask, nullptr);
    constexpr int kCalls = 30;  // more than there are threads
    for (int i = 0; i < kCalls; ++i) {
      group.go([&] {
        sigset_t own;
        pthread_sigmask(SIG_BLOCK, nullptr, &own);
        if (sigismember(&own, SIGUSR1) == 1) ++alike;
        weft::blocking([&] {
          ++started;
          while (started < kCalls) usleep(100);
        });
      });
    }
    EXPECT_TRUE(spin_until([&] { return started == kCalls; }, 20s)) << started;
  });
  group.wait();
  EXPECT_EQ(alike, 0);
}

TEST_P(ThreadLock, spinning_with_yield_sees_what_others_do) {
  for (const bool locked : {false, true}) {
    std::atomic<bool> message{false};
    weft::wait_group group;
    group.go([&] {
      if (locked) weft::lock_os_thread();
      const Stopwatch watch;
      while (!message && watch.elapsed() < 20s) weft::this_goroutine::yield();
      EXPECT_TRUE(message);
      if (locked) weft::unlock_os_thread();
    });
    group.go([&] { message = true; });
    group.wait();
  }
}

TEST_P(ThreadLock, yield_and_sleep_while_locked) {
  weft::wait_group group;
  for (int i = 0; i < 4; ++i) {
    group.go([] {
      const weft::os_thread_lock wired;
      for (int round = 0; round < 10; ++round) {
        weft::this_goroutine::yield();
        weft::this_goroutine::sleep_for(100us);
      }
    });
  }
  group.wait();
}

TEST_P(ThreadLock, a_locked_and_an_unlocked_goroutine_take_turns) {
  weft::run([] {
    Baton batons[10];
    weft::wait_group group;
    group.go([&] {
      const weft::os_thread_lock wired;
      for (Baton& baton : batons) {
        baton.there.set();
        baton.back.wait();
      }
    });
    for (Baton& baton : batons) {
      baton.there.wait();
      baton.back.set();
    }
    group.wait();
  });
}

TEST_P(ThreadLock, two_locked_goroutines_take_turns) {
  Baton batons[20];
  weft::wait_group group;
  group.go([&] {
    const weft::os_thread_lock wired;
    for (Baton& baton : batons) {
      baton.there.set();
      baton.back.wait();
    }
  });
  group.go([&] {
    const weft::os_thread_lock wired;
    for (Baton& baton : batons) {
      baton.there.wait();
      baton.back.set();
    }
  });
  group.wait();
}

TEST_P(ThreadLock, many_more_locked_goroutines_than_processors_all_finish) {
  const int count = kTsan ? 10 : 60;
  std::atomic<int> sum{0};
  weft::wait_group group;
  weft::mutex lock;
  for (int i = 0; i < count; ++i) {
    group.go([&] {
      const weft::os_thread_lock wired;
      const pid_t mine = gettid();
      for (int round = 0; round < 10; ++round) {
        {
          const std::lock_guard guard(lock);
          ++sum;
        }
        if (round % 3 == 0) weft::this_goroutine::yield();
        EXPECT_EQ(gettid(), mine);
      }
    });
  }
  group.wait();
  EXPECT_EQ(sum, 10 * count);
}

TEST_P(ThreadLock, ends_of_locked_goroutines_and_stops_of_the_world_interleave) {
  weft::run([] {
    weft::wait_group group;
    group.go([] {
      for (int i = 0; i < scaled(100); ++i) {
        weft::runtime::stop_the_world([] {});
        weft::this_goroutine::yield();
      }
    });
    for (int i = 0; i < scaled(100); ++i) {
      group.go([] {
        weft::lock_os_thread();
        weft::this_goroutine::yield();
      });
      weft::this_goroutine::yield();
    }
    group.wait();
  });
}

TEST_P(ThreadLock, locked_goroutines_survive_changes_of_maxprocs_and_policy) {
  weft::run([] {
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int i = 0; i < 3; ++i) {
      group.go([&] {
        const weft::os_thread_lock wired;
        const pid_t mine = gettid();
        while (!stop) {
          weft::this_goroutine::yield();
          EXPECT_EQ(gettid(), mine);
          weft::this_goroutine::sleep_for(50us);
          EXPECT_EQ(gettid(), mine);
        }
      });
    }
    const weft::policy_kind policy = weft::runtime::policy();
    {
      const weft::os_thread_lock wired;  // the one who changes is locked too
      const pid_t mine = gettid();
      for (int i = 0; i < scaled(100); ++i) {
        weft::runtime::set_maxprocs(1 + i % 5);
        EXPECT_EQ(gettid(), mine);
        weft::runtime::set_policy(i % 2 == 0 ? weft::policy_kind::global : weft::policy_kind::classic);
        EXPECT_EQ(gettid(), mine);
        weft::this_goroutine::yield();
      }
      weft::runtime::set_maxprocs(procs());
      weft::runtime::set_policy(policy);
    }
    stop = true;
    group.wait();
  });
}

}  // namespace
