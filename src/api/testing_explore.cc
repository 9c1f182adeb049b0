// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "api/testing_run.h"
#include "api/testing_schedule.h"
#include "api/testing_steps.h"
#include "base/check.h"
#include "os/clock.h"
#include "weft/error.h"
#include "weft/testing.h"

// Exploration.
//   Run        Each schedule is a run of its own in the same process. What goes on after a failure is not shared with
//              the next run, unless the test itself keeps it (in globals, say).
//   Shorter    The first failing schedule is made shorter: chunks of its entries are left out, ever smaller ones, as
//              long as the run still fails. What a run has really decided replaces what was planned.
//   Dying      If a signal ends the process all the same (a stack overflow), the schedule so far is printed first.
namespace weft::testing {
namespace {

using api::Chooser;
using api::Follower;
using api::Outcome;
using api::Schedule;

constexpr std::uint64_t kMostDecisions = 2'000'000;
constexpr int kMostShorterRuns = 400;

int (*count_assertions)() = nullptr;
constinit Chooser* current = nullptr;               // of the run that goes on; by the driver and the team
std::map<std::string, bool>* conditions = nullptr;  // of sometimes(): whether it ever held

void print_dying_words() noexcept {
  if (current == nullptr) return;
  const std::string text =
      "weft::testing: the process dies in this schedule: WEFT_REPLAY=" + current->noted().text() + "\n";
  base::write_stderr(text.data(), text.size());
}

struct Test {
  detail::function call;
  void* f;
};

Outcome run_once(Chooser& chooser, const Test& test) {
  const int before = count_assertions != nullptr ? count_assertions() : 0;
  current = &chooser;
  Outcome outcome = api::drive(chooser, test.call, test.f);
  current = nullptr;
  if (!outcome.failed && count_assertions != nullptr && count_assertions() != before) {
    outcome.failed = true;
    outcome.message = "an assertion of the test framework has failed";
  }
  return outcome;
}

class Exploration {
 public:
  Exploration(const explore_options& options, const Test& test)
      : options_(options), test_(test), end_ns_(deadline(options.budget)) {}

  explore_result run() {
    const api::ControlScope control(options_.at == switch_points::user_code);
    std::map<std::string, bool> held;
    conditions = &held;
    api::set_dying_words(print_dying_words);
    for (std::uint64_t number = 0; number < options_.schedules; ++number) {
      if (number > 0 && os::now_ns() >= end_ns_) break;
      const auto chooser = api::make_chooser(options_, number, experience_, kMostDecisions);
      if (experience_.exhausted) break;
      const Outcome outcome = run_once(*chooser, test_);
      ++result_.schedules;
      learn(*chooser);
      if (!outcome.failed) continue;
      if (++result_.failures == 1) explain(outcome, chooser->noted());
      if (options_.stop_at_first) break;
    }
    api::set_dying_words(nullptr);
    conditions = nullptr;
    if (result_.failures == 0) look_at_conditions(held);
    return std::move(result_);
  }

 private:
  static std::int64_t deadline(std::chrono::nanoseconds budget) {
    const std::int64_t now = os::now_ns();
    return budget.count() > os::kForever - now ? os::kForever : now + std::max<std::int64_t>(budget.count(), 0);
  }

  void learn(const Chooser& chooser) {
    experience_.decisions = std::max(experience_.decisions, chooser.decisions());
    for (const auto& [number, count] : chooser.events()) {
      std::uint64_t& most = experience_.events[number];
      most = std::max(most, count);
    }
  }

  // False: the run does not fail. Otherwise the schedule becomes what the run has decided.
  bool still_fails(Schedule& schedule, Outcome& outcome) {
    Follower follower(schedule, kMostDecisions);
    Outcome again = run_once(follower, test_);
    if (!again.failed) return false;
    outcome = std::move(again);
    schedule = follower.noted();
    return true;
  }

  void make_shorter(Schedule& schedule, Outcome& outcome) {
    int left = kMostShorterRuns;
    const std::int64_t until = os::now_ns() + 2'000'000'000;
    for (std::size_t chunk = schedule.entries.size(); chunk > 0 && left > 0; chunk /= 2) {
      for (std::size_t at = 0; at < schedule.entries.size() && left > 0 && os::now_ns() < until; --left) {
        Schedule shorter = schedule;
        const auto first = shorter.entries.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t end = std::min(at + chunk, shorter.entries.size());
        shorter.entries.erase(first, shorter.entries.begin() + static_cast<std::ptrdiff_t>(end));
        if (still_fails(shorter, outcome) && shorter.entries.size() < schedule.entries.size()) {
          schedule = std::move(shorter);
        } else {
          at += chunk;
        }
      }
    }
  }

  void explain(Outcome outcome, Schedule schedule) {
    Schedule same = schedule;
    const bool repeats = still_fails(same, outcome);
    if (repeats) {
      schedule = std::move(same);
      make_shorter(schedule, outcome);
    }
    std::vector<api::Step> steps;
    std::string list;
    Follower logged(schedule, kMostDecisions);
    logged.log_into(&steps);
    const Outcome last = run_once(logged, test_);
    if (last.failed) outcome = last;
    list = api::describe_steps(steps);
    if (!repeats)
      list =
          "the same schedule did not fail again: the test depends on something that no schedule decides "
          "(a global that a run changes, a real clock, a thread, a random number)\n" +
          list;
    result_.message = outcome.message;
    result_.replay = schedule.text();
    result_.schedule = list;
    const std::string text = "weft::testing: schedule " + std::to_string(result_.schedules) +
                             " failed: " + result_.message + "\n  again: WEFT_REPLAY=" + result_.replay + "\n" + list;
    base::write_stderr(text.data(), text.size());
  }

  void look_at_conditions(const std::map<std::string, bool>& held) {
    for (const auto& [text, ever] : held) {
      if (ever) continue;
      ++result_.failures;
      if (result_.message.empty())
        result_.message =
            "sometimes: '" + text + "' held in none of " + std::to_string(result_.schedules) + " schedules";
    }
    if (!result_.message.empty()) std::fprintf(stderr, "weft::testing: %s\n", result_.message.c_str());
  }

  const explore_options& options_;
  const Test& test_;
  const std::int64_t end_ns_;
  api::Experience experience_;
  explore_result result_;
};

Outcome run_schedule(std::string_view text, const Test& test) {
  Follower follower(Schedule::parse(text), kMostDecisions);
  const api::ControlScope control(follower.wants_checks());
  std::map<std::string, bool> held;
  conditions = &held;
  Outcome outcome = run_once(follower, test);
  conditions = nullptr;
  return outcome;
}

// Runs what needs a driver, on one.
template <class Body>
void on_driver(Body body) {
  api::as_driver([](void* f) { (*static_cast<Body*>(f))(); }, &body);
}

}  // namespace

namespace detail {

bool count_assertions_by(int (*count)()) noexcept {
  count_assertions = count;
  return true;
}

explore_result run_explore(const explore_options& options, function call, void* f) {
  const Test test{call, f};
  explore_result result;
  const char* wanted = std::getenv("WEFT_REPLAY");
  if (wanted == nullptr || *wanted == 0) {
    on_driver([&] { result = Exploration(options, test).run(); });
    return result;
  }
  Outcome outcome;
  on_driver([&] { outcome = run_schedule(wanted, test); });
  result.schedules = 1;
  result.replay = wanted;
  result.failures = outcome.failed ? 1 : 0;
  result.message = outcome.message;
  std::fprintf(stderr, "weft::testing: WEFT_REPLAY=%s: %s\n", wanted,
               outcome.failed ? outcome.message.c_str() : "no failure");
  return result;
}

void run_replay(std::string_view schedule, function call, void* f) {
  const Test test{call, f};
  Outcome outcome;
  on_driver([&] { outcome = run_schedule(schedule, test); });
  if (outcome.error != nullptr) std::rethrow_exception(outcome.error);
  if (outcome.failed) throw failure(outcome.message);
}

}  // namespace detail

std::size_t choose(std::size_t n) {
  if (n == 0) throw logic_error("weft::testing::choose: out of no choices");
  const sched::Control* own = sched::own_control();
  return own != nullptr ? own->choose(static_cast<std::uint32_t>(std::min<std::size_t>(n, UINT32_MAX))) : 0;
}

bool buggify(const char* name) {
  if (!active() || current == nullptr) return false;
  const auto [fault, is_new] = current->faults().try_emplace(name, false);
  if (is_new) fault->second = choose(2) == 1;
  return fault->second && choose(4) == 1;
}

void sometimes(bool condition, const char* text) {
  if (!active() || conditions == nullptr) return;
  bool& held = (*conditions)[text];
  held = held || condition;
}
void always(bool condition, const char* text) {
  if (!condition) fail(std::string("always: ") + text);
}
void reachable(const char* text) { sometimes(true, text); }

}  // namespace weft::testing
