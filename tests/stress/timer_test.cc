// SPDX-License-Identifier: MIT
// test-timeout: 240
#include <array>
#include <thread>
#include <vector>

#include "support/stress.h"

// Function timers that goroutines and threads copy, stop, reset and drop all at once.
namespace {

using namespace weft::test;

class TimerStress : public StressTest {};
WEFT_AT_ALL_CONFIGURATIONS(TimerStress);

struct Account {
  std::atomic<long> starts{0}, runs{0}, cancelled{0}, alive{0};
};

struct Counted {
  explicit Counted(Account& a) : account(&a) { ++account->alive; }
  Counted(const Counted& other) : account(other.account) { ++account->alive; }
  ~Counted() { --account->alive; }
  Account* account;
};

// One that never comes only where somebody will stop it.
std::chrono::nanoseconds some_time(Random& random, bool stopped_at_the_end) {
  switch (random.below(stopped_at_the_end ? 6 : 4)) {
    case 0:  return 0ns;
    case 4:  return 1h;
    case 5:  return std::chrono::nanoseconds::max();
    default: return std::chrono::microseconds(random.below(200));
  }
}

void use(weft::timer timer, Account& account, std::uint64_t seed, bool stopped_at_the_end) {
  Random random(seed);
  for (int i = scaled(60); i > 0; --i) {
    switch (random.below(3)) {
      case 0: account.cancelled += timer.stop(); break;
      case 1:
        ++account.starts;
        account.cancelled += timer.reset(some_time(random, stopped_at_the_end));
        break;
      default: {
        weft::timer copy = timer;
        timer = std::move(copy);
      }
    }
    if (random.below(16) == 0) weft::this_goroutine::sleep_for(std::chrono::microseconds(random.below(64)));
  }
}

// Each start ends in a run or in a stop or reset that says it had not fired; the function is destroyed once, by the last one out.
TEST_P(TimerStress, each_start_ends_in_a_run_or_a_stop) {
  const Budget budget(600ms);
  std::uint64_t seed = 1;
  do {
    const bool stopped_at_the_end = seed % 2 == 0;
    std::array<Account, 4> accounts;
    weft::run([&] {
      std::vector<std::thread> threads;
      std::vector<weft::timer> kept;
      weft::wait_group group;
      for (Account& account : accounts) {
        ++account.starts;
        const weft::timer timer = weft::after_func(50us, [counted = Counted(account)] { ++counted.account->runs; });
        for (int user = 0; user < 3; ++user)
          group.go([timer, &account, stopped_at_the_end, seed] { use(timer, account, seed, stopped_at_the_end); }),
              ++seed;
        threads.emplace_back(
            [timer, &account, stopped_at_the_end, seed] { use(timer, account, seed, stopped_at_the_end); });
        if (stopped_at_the_end) kept.push_back(timer);
      }
      group.wait();
      weft::blocking([&] {
        for (std::thread& thread : threads) thread.join();
      });
      for (std::size_t i = 0; i < kept.size(); ++i) accounts[i].cancelled += kept[i].stop();
    });
    for (Account& account : accounts) {
      EXPECT_TRUE(spin_until([&] { return account.alive == 0; })) << account.alive << " functions are left";
      EXPECT_EQ(account.starts, account.runs + account.cancelled);
    }
    ++seed;
  } while (budget.is_left() && !HasFailure());
}

}  // namespace
