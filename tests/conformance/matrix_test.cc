// SPDX-License-Identifier: MIT
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// policy_kind::matrix: task forces run together, in turns with each other and with all that is in none.
namespace {

using namespace weft::test;
using weft::policy_kind;

class Matrix : public RuntimeTest {};
INSTANTIATE_TEST_SUITE_P(P, Matrix,
                         ::testing::Values(Configuration{1, policy_kind::matrix}, Configuration{2, policy_kind::matrix},
                                           Configuration{3, policy_kind::matrix}),
                         configuration_name);

constexpr auto kLimit = 30s;

// Members that compute until they are told to stop.
class Hogs {
 public:
  void start(weft::task_force& force, int count) {
    for (int i = 0; i < count; ++i) force.go([this] { run(); });
  }
  void start_ungrouped(int count) {
    for (int i = 0; i < count; ++i) others_.go([this] { run(); });
  }
  void stop() {
    over_ = true;
    others_.wait();
  }
  std::uint64_t rounds() const { return rounds_; }

 private:
  void run() {
    while (!over_) {
      ++rounds_;
      weft::preempt_point();
    }
  }
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> rounds_{0};
  weft::wait_group others_;
};

TEST_P(Matrix, is_what_was_chosen) { EXPECT_EQ(weft::runtime::policy(), policy_kind::matrix); }

// Two members on two Ps, beside goroutines that are in no task force and compute as well: there are again and again time
// slices in which both members run.
TEST_P(Matrix, members_run_together) {
  if (procs() < 2) return;
  weft::run([] {
    const std::uint64_t before = weft::runtime::read_stats().corun_ns;
    Hogs members, others;
    weft::task_force force("together");
    members.start(force, 2);
    others.start_ungrouped(4);
    EXPECT_TRUE(spin_until([&] { return weft::runtime::read_stats().corun_ns >= before + 20'000'000; }, kLimit));
    members.stop();
    others.stop();
    force.wait();
  });
}

TEST_P(Matrix, task_forces_that_compute_leave_turns_to_each_other_and_to_all_others) {
  weft::run([] {
    Hogs first, second, others;
    weft::task_force one("one"), two("two");
    first.start(one, procs());
    second.start(two, procs());
    others.start_ungrouped(2 * procs());
    for (int turn = 0; turn < 3; ++turn)
      for (const Hogs* hogs : {&first, &second, &others}) {
        const std::uint64_t before = hogs->rounds();
        EXPECT_TRUE(spin_until([&] { return hogs->rounds() > before; }, kLimit)) << turn;
      }
    first.stop();
    second.stop();
    others.stop();
    one.wait();
    two.wait();
  });
}

TEST_P(Matrix, a_task_force_larger_than_a_row_runs_all_its_members) {
  weft::run([] {
    weft::task_force force("large");
    weft::barrier meet(50);
    std::atomic<int> rounds{0};
    for (int i = 0; i < 50; ++i)
      force.go([&] {
        for (int round = 0; round < 10; ++round) {
          meet.arrive_and_wait();
          ++rounds;
        }
      });
    force.wait();
    EXPECT_EQ(rounds, 500);
  });
}

TEST_P(Matrix, members_can_block_sleep_lock_their_thread_and_leave) {
  weft::run([] {
    std::atomic<int> done{0};
    weft::task_force force;
    for (int i = 0; i < 60; ++i)
      force.go([&, i] {
        if (i % 5 == 0) weft::blocking([] { std::this_thread::sleep_for(1ms); });
        if (i % 5 == 1) weft::this_goroutine::sleep_for(1ms);
        if (i % 5 == 2) {
          const weft::os_thread_lock locked;
          weft::this_goroutine::yield();
        }
        if (i % 5 == 3) force.go([&] { ++done; });
        ++done;
        if (i % 5 == 4) weft::this_goroutine::exit();
      });
    force.wait();
    EXPECT_EQ(done, 72);
  });
}

// The world changes under task forces that talk, compute and sleep: all messages arrive.
TEST_P(Matrix, changes_of_policy_and_maxprocs_lose_no_member) {
  weft::run([] {
    constexpr int kForces = 4, kMembers = 5, kMessages = 400;
    std::atomic<int> received{0};
    weft::wait_group forces;
    for (int f = 0; f < kForces; ++f)
      forces.go([&] {
        weft::chan<int> ring[kMembers] = {weft::chan<int>(1), weft::chan<int>(1), weft::chan<int>(1),
                                          weft::chan<int>(1), weft::chan<int>(1)};
        weft::task_force force("ring");
        for (int m = 0; m < kMembers; ++m)
          force.go([&, m] {
            for (int i = 0; i < kMessages; ++i) {
              if (m == 0) ring[1].send(i);
              EXPECT_EQ(ring[m].recv(), i);
              ++received;
              if (m != 0) ring[(m + 1) % kMembers].send(i);
              if (i % 64 == 0) weft::this_goroutine::sleep_for(100us);
            }
          });
        force.wait();
      });
    constexpr policy_kind kPolicies[] = {policy_kind::classic, policy_kind::matrix, policy_kind::global,
                                         policy_kind::matrix};
    for (int i = 0; i < 60; ++i) {
      weft::runtime::set_policy(kPolicies[i % 4]);
      weft::runtime::set_maxprocs(1 + i * 5 % 8);
      weft::this_goroutine::sleep_for(500us);
    }
    forces.wait();
    EXPECT_EQ(received, kForces * kMembers * kMessages);
    weft::runtime::set_policy(policy_kind::matrix);
    weft::runtime::set_maxprocs(procs());
  });
}

}  // namespace
