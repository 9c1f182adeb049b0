// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "support/runtime_test.h"

// Goroutines that share channels or locks closely come together on one P: a second one would take twice the CPU time for the same work. Those that compute
// for long enough in between use all Ps. Both are judged by where steps are made, which a busy machine does not change.
namespace {

using namespace weft::test;

class Sharing : public RuntimeTest {};
INSTANTIATE_TEST_SUITE_P(P, Sharing,
                         ::testing::Values(Configuration{2, weft::policy_kind::classic}, Configuration{4, weft::policy_kind::classic}),
                         configuration_name);

// Counts steps by the thread that makes them.
class Steps {
 public:
  void count() noexcept { by_thread_[this_thread()].fetch_add(1, std::memory_order_relaxed); }
  // For a while: of all steps, those that were not made by the busiest thread of the moment. Moments are short, so that goroutines
  // that move together from one thread to another are not taken for goroutines that run side by side.
  double share_of_others() {
    long all = 0, beside = 0;
    for (int moment = 0; moment < 60; ++moment) {
      for (auto& steps : by_thread_) steps = 0;
      weft::this_goroutine::sleep_for(5ms);
      long sum = 0, most = 0;
      for (const auto& counted : by_thread_) {
        const long steps = counted.load();
        sum += steps;
        most = std::max(most, steps);
      }
      all += sum;
      beside += sum - most;
    }
    EXPECT_GT(all, 100);
    return static_cast<double>(beside) / static_cast<double>(std::max(all, 1L));
  }

 private:
  // Never inlined: a goroutine may be on another thread after a wait.
  __attribute__((noinline)) static std::size_t this_thread() noexcept {
    static std::atomic<std::size_t> next{0};
    thread_local const std::size_t number = next++;
    asm volatile("");
    return number % 256;
  }

  struct alignas(64) Counter : std::atomic<long> {
    using std::atomic<long>::operator=;
  };
  std::array<Counter, 256> by_thread_{};
};

// `work` goes on in goroutines until told to stop. What share of its steps is made beside the busiest thread, when it has gone on for a while?
template <class Work>
double share_of_others(Work work) {
  Steps steps;
  std::atomic<bool> stop{false};
  weft::wait_group group;
  work(group, stop, steps);
  weft::this_goroutine::sleep_for(100ms);
  const double share = steps.share_of_others();
  stop = true;
  group.wait();
  return share;
}

// On a busy machine a goroutine may be preempted and go on elsewhere: the least, or the most, of some tries.
template <class Work>
void expect_one_processor(Work work) {
  if (kSanitized) GTEST_SKIP() << "sharing does not cost what it costs without a sanitizer";
  if (is_seam_test()) GTEST_SKIP() << "that policy moves goroutines all the time";
  weft::run([&] {
    double least = 1;
    for (int attempt = 0; attempt < 5 && least > 0.2; ++attempt) least = std::min(least, share_of_others(work));
    EXPECT_LT(least, 0.2);
    EXPECT_GT(weft::runtime::read_stats().retreats, 0u);
  });
}
template <class Work>
void expect_several_processors(Work work) {
  weft::run([&] {
    double most = 0;
    for (int attempt = 0; attempt < 5 && most < 0.3; ++attempt) most = std::max(most, share_of_others(work));
    EXPECT_GT(most, 0.3);
  });
}

void compute_for(std::chrono::microseconds time) {
  for (const auto end = Clock::now() + time; Clock::now() < end;) {
  }
}

TEST_P(Sharing, a_producer_and_its_consumer_use_one_processor) {
  expect_one_processor([](weft::wait_group& group, std::atomic<bool>& stop, Steps& steps) {
    weft::chan<long> mailbox(1024);
    group.go([mailbox, &steps] {
      while (mailbox.recv()) steps.count();
    });
    group.go([mailbox, &stop, &steps] {
      while (!stop) {
        mailbox.send(1);
        steps.count();
      }
      mailbox.close();
    });
  });
}

TEST_P(Sharing, a_ring_with_several_tokens_uses_one_processor) {
  expect_one_processor([](weft::wait_group& group, std::atomic<bool>& stop, Steps& steps) {
    std::vector<weft::chan<int>> links(64);
    for (std::size_t i = 0; i < links.size(); ++i) {
      group.go([in = links[i], out = links[(i + 1) % links.size()], &stop, &steps] {
        while (in.recv()) {
          steps.count();
          if (stop) break;
          out.send(1);
        }
        out.close();
        while (in.recv()) {
        }
      });
    }
    for (std::size_t i = 0; i < 4; ++i) links[i * 16].send(1);
  });
}

// How much they share depends on how the kernel runs the threads, so only that it is noticed.
TEST_P(Sharing, processors_retreat_from_a_mutex_that_all_want) {
  if (kSanitized) GTEST_SKIP() << "sharing does not cost what it costs without a sanitizer";
  if (is_seam_test()) GTEST_SKIP() << "that policy moves goroutines all the time";
  weft::run([] {
    const auto start = Clock::now();
    do {
      weft::mutex mutex;
      long sum = 0;
      weft::wait_group group;
      for (int i = 0; i < 8; ++i) {
        group.go([&] {
          for (int round = 0; round < 200'000; ++round) {
            std::lock_guard lock(mutex);
            ++sum;
          }
        });
      }
      group.wait();
      EXPECT_EQ(sum, 8 * 200'000);
    } while (weft::runtime::read_stats().retreats == 0 && Clock::now() - start < 20s);
    EXPECT_GT(weft::runtime::read_stats().retreats, 0u);
  });
}

TEST_P(Sharing, those_who_compute_between_messages_use_more) {
  expect_several_processors([](weft::wait_group& group, std::atomic<bool>& stop, Steps& steps) {
    for (int i = 0; i < 8; ++i) {
      weft::chan<int> link;
      group.go([link, &stop, &steps] {
        while (!stop) {
          compute_for(20us);
          steps.count();
          link.send(1);
        }
        link.close();
      });
      group.go([link, &steps] {
        while (link.recv()) {
          compute_for(20us);
          steps.count();
        }
      });
    }
  });
}

// The second P is back soon.
TEST_P(Sharing, computing_that_follows_it_uses_more) {
  expect_several_processors([](weft::wait_group& group, std::atomic<bool>& stop, Steps& steps) {
    weft::chan<long> mailbox(1024);
    weft::wait_group before;
    before.go([mailbox] {
      while (mailbox.recv()) {
      }
    });
    for (const auto end = Clock::now() + 100ms; Clock::now() < end;)
      for (int i = 0; i < 100; ++i) mailbox.send(1);
    mailbox.close();
    before.wait();
    for (int i = 0; i < 8; ++i) {
      group.go([&] {
        while (!stop) {
          compute_for(200us);
          steps.count();
          weft::this_goroutine::yield();
        }
      });
    }
  });
}

}  // namespace
