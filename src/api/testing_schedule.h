// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "policy/controlled.h"
#include "weft/testing.h"

// Schedules, and who makes them.
//   Decision   Whatever has two answers or more is a decision, and has a number. Answer 0 is the plain one: the running
//              goroutine goes on, or else the one that has waited longest; the first case; no fault.
//   Schedule   The decisions with another answer. So the empty schedule is the plain run, and to leave an entry out
//              makes a schedule plainer, whatever the rest then means: it is run to see.
//   Text       w1:MODE.ENTRY.ENTRY... MODE: o, decisions at operations only; u, at checks in user code as well. ENTRY:
//              the distance from the entry before (36 digits), and ~answer unless the answer is 1.
namespace weft::api {

struct Schedule {
  struct Entry {
    std::uint64_t at;
    std::uint32_t answer;
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> entries;
  bool checks = true;
  std::string text() const;
  static Schedule parse(std::string_view text);  // throws std::invalid_argument
};

// One switch of a logged run.
struct Step {
  std::uint32_t from, to;
  bool stopped;  // it could have gone on
  void* at[24];  // the stack of `from`, if it was stopped
  std::size_t frames;
};

// Numbers and notes the decisions; the answers come from answer().
class Chooser : public policy::Oracle {
 public:
  Chooser(bool checks, std::uint64_t most) noexcept : checks_(checks), most_(most) { noted_.checks = checks; }
  std::size_t next(const std::uint32_t* candidates, std::size_t count, Moment moment) noexcept final;
  std::size_t choose(std::size_t count) noexcept final;
  bool wants_points() const noexcept final { return true; }
  bool wants_checks() const noexcept final { return checks_; }

  const Schedule& noted() const noexcept { return noted_; }
  std::uint64_t decisions() const noexcept { return decisions_; }
  const std::unordered_map<std::uint32_t, std::uint64_t>& events() const noexcept { return events_; }
  void log_into(std::vector<Step>* steps) noexcept { steps_ = steps; }
  std::unordered_map<std::string, bool>& faults() noexcept { return faults_; }

 protected:
  // Which of the candidates goes on. last(): who ran before.
  virtual std::size_t answer(const std::uint32_t* candidates, std::size_t count, Moment moment) = 0;
  virtual std::size_t answer_choice(std::size_t count) = 0;
  std::uint32_t last() const noexcept { return last_; }
  std::uint64_t at() const noexcept { return decisions_; }

 private:
  void note(std::size_t answer);
  const bool checks_;
  const std::uint64_t most_;
  Schedule noted_;
  std::uint64_t decisions_ = 0, alone_ = 0;
  std::uint32_t last_ = 0;
  std::unordered_map<std::uint32_t, std::uint64_t> events_;  // of each goroutine
  std::unordered_map<std::string, bool> faults_;             // active in this schedule?
  std::vector<Step>* steps_ = nullptr;
};

// Follows a schedule.
class Follower final : public Chooser {
 public:
  Follower(Schedule schedule, std::uint64_t most) : Chooser(schedule.checks, most), schedule_(std::move(schedule)) {}

 private:
  std::size_t planned(std::size_t count) noexcept;
  std::size_t answer(const std::uint32_t*, std::size_t count, Moment) override { return planned(count); }
  std::size_t answer_choice(std::size_t count) override { return planned(count); }
  const Schedule schedule_;
  std::size_t index_ = 0;
};

// What earlier schedules have shown.
struct Experience {
  std::uint64_t decisions = 0;  // of the longest one
  std::unordered_map<std::uint32_t, std::uint64_t> events;
  // dfs: the answers to try next, and how many answers each had.
  struct Branch {
    std::uint32_t answer, count;
    bool is_preemption;
  };
  std::vector<Branch> path;
  bool exhausted = false;
};

// The number-th schedule of an exploration.
std::unique_ptr<Chooser> make_chooser(const testing::explore_options& options, std::uint64_t number,
                                      Experience& experience, std::uint64_t most);

}  // namespace weft::api
