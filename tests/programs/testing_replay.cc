// SPDX-License-Identifier: MIT
// test-labels: no-asan no-tsan
// The stories of docs/testing.md: a cache whose entries expire by a clock that nobody waits for, and two transfers that block each
// other, found, repeated by their string, and by WEFT_REPLAY in an unmodified program.
#include <weft/testing.h>
#include <weft/weft.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "support/cases.h"

namespace {

using namespace std::chrono_literals;
namespace wt = weft::testing;

class cache {
 public:
  explicit cache(std::chrono::seconds age) : age_(age) {}
  void put(const std::string& key, int value) {
    std::lock_guard guard(lock_);
    values_[key] = {value, std::chrono::steady_clock::now() + age_};
  }
  std::optional<int> get(const std::string& key) {
    std::lock_guard guard(lock_);
    const auto found = values_.find(key);
    if (found == values_.end() || std::chrono::steady_clock::now() >= found->second.until) return std::nullopt;
    return found->second.value;
  }

 private:
  struct entry {
    int value;
    std::chrono::steady_clock::time_point until;
  };
  std::chrono::seconds age_;
  weft::mutex lock_;
  std::map<std::string, entry> values_;
};

struct account {
  weft::mutex lock;
  int balance = 100;
};
void transfer(account& from, account& to, int amount) {
  std::lock_guard one(from.lock);
  std::lock_guard other(to.lock);
  from.balance -= amount;
  to.balance += amount;
}
void two_transfers() {
  account a, b;
  auto there = weft::spawn([&] { transfer(a, b, 10); });
  auto back = weft::spawn([&] { transfer(b, a, 10); });
  there.join();
  back.join();
}

// check: run --case=fake_time
// check: stdout ^young, old$
WEFT_CASE(fake_time) {
  std::string seen;
  wt::bubble([&] {
    cache entries(300s);
    entries.put("k", 1);
    wt::advance(299s);
    seen += entries.get("k") ? "young" : "gone";
    wt::advance(1s);
    seen += entries.get("k") ? ", kept" : ", old";
  });
  std::puts(seen.c_str());
  return 0;
}

// check: run --case=race_found
// check: stdout ^found, again$
WEFT_CASE(race_found) {
  const wt::explore_result found = wt::explore({.schedules = 2000, .seed = 1}, two_transfers);
  bool again = false;
  try {
    wt::replay(found.replay, two_transfers);
  } catch (const wt::failure&) {
    again = true;
  }
  std::printf("%s, %s\n", found ? "not found" : "found", again ? "again" : "not again");
  return 0;
}

// check: run WEFT_REPLAY=w1:o.3 --case=replayed
// check: stdout ^1 of 1 failed$
WEFT_CASE(replayed) {
  const wt::explore_result found = wt::explore({.schedules = 2000}, two_transfers);
  std::printf("%zu of %zu failed\n", found.failures, found.schedules);
  return 0;
}

}  // namespace
