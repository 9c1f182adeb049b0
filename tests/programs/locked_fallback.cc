// SPDX-License-Identifier: MIT
// test-timeout: 120
// WEFT_LOCKED_FALLBACK: many goroutines that are locked to their threads make the runtime go to the global policy, few let
// it come back, and nothing is lost meanwhile.
#include <weft/weft.h>

#include <atomic>
#include <string>

#include "support/cases.h"
#include "support/waiting.h"

namespace {

using namespace weft::test;
using namespace std::chrono_literals;

constexpr auto kLimit = 30s;

// Goroutines, locked to their threads if need be, that pass numbers around until they are told to stop.
class Talkers {
 public:
  Talkers(int pairs, bool locked) {
    for (int i = 0; i < pairs; ++i) {
      weft::chan<int> there(0), back(0);
      goroutines_.go([=, this] { ask(there, back, locked); });
      goroutines_.go([=, this] { answer(there, back, locked); });
    }
  }
  void stop() {
    over_ = true;
    goroutines_.wait();
    WEFT_EXPECT(asked_ == answered_);
    WEFT_EXPECT(asked_ > 0);
  }

 private:
  void ask(weft::chan<int> there, weft::chan<int> back, bool locked) {
    if (locked) weft::lock_os_thread();
    do {
      there.send(1);
      ++asked_;
      WEFT_EXPECT(back.recv() == 2);
    } while (!over_);
    there.close();
    if (locked) weft::unlock_os_thread();
  }
  // Ends without an unlock, and its thread with it.
  void answer(weft::chan<int> there, weft::chan<int> back, bool locked) {
    if (locked) weft::lock_os_thread();
    while (there.recv()) {
      ++answered_;
      back.send(2);
    }
  }

  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> asked_{0}, answered_{0};
  weft::wait_group goroutines_;
};

bool policy_becomes(weft::policy_kind kind) {
  return spin_until([=] { return weft::runtime::policy() == kind; }, kLimit);
}

}  // namespace

// check: run WEFT_LOCKED_FALLBACK=8 --case=goes_there_and_comes_back
// check: run WEFT_LOCKED_FALLBACK=8 WEFT_POLICY=matrix WEFT_MAXPROCS=3 --case=goes_there_and_comes_back
WEFT_CASE(goes_there_and_comes_back) {
  return weft::run([] {
    const weft::policy_kind chosen = weft::runtime::policy();
    Talkers others(4, false);
    for (std::uint64_t round = 1; round <= 3; ++round) {
      Talkers locked(10, true);
      WEFT_EXPECT(policy_becomes(weft::policy_kind::global));
      WEFT_EXPECT(weft::runtime::read_stats().fallbacks == round);
      locked.stop();
      WEFT_EXPECT(policy_becomes(chosen));
    }
    others.stop();
    return 0;
  });
}

// check: run WEFT_LOCKED_FALLBACK=8 --case=a_choice_of_the_user_ends_it
WEFT_CASE(a_choice_of_the_user_ends_it) {
  return weft::run([] {
    Talkers locked(10, true);
    WEFT_EXPECT(policy_becomes(weft::policy_kind::global));
    weft::runtime::set_policy(weft::policy_kind::global);
    locked.stop();
    weft::this_goroutine::sleep_for(300ms);  // far longer than it takes to come back
    WEFT_EXPECT(weft::runtime::policy() == weft::policy_kind::global);
    WEFT_EXPECT(weft::runtime::read_stats().fallbacks == 1);
    return 0;
  });
}

// check: run --case=is_off_by_default
// check: run WEFT_LOCKED_FALLBACK=off --case=is_off_by_default
// check: run WEFT_LOCKED_FALLBACK=40 --case=is_off_by_default
WEFT_CASE(is_off_by_default) {
  return weft::run([] {
    Talkers locked(10, true);
    weft::this_goroutine::sleep_for(100ms);
    WEFT_EXPECT(weft::runtime::policy() == weft::policy_kind::classic);
    locked.stop();
    WEFT_EXPECT(weft::runtime::read_stats().fallbacks == 0);
    return 0;
  });
}

// check: run WEFT_LOCKED_FALLBACK=none --case=is_off_by_default
// check: exit 2
// check: first-stderr weft: WEFT_LOCKED_FALLBACK="none" cannot be used; accepted: off, or a number from 1 to 1000000, .*
