// SPDX-License-Identifier: MIT
#include "api/testing_run.h"

#include <cxxabi.h>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <typeinfo>

#include "api/start.h"
#include "api/testing_signals.h"
#include "os/symbolizer.h"
#include "sched/core/arrivals.h"
#include "sched/core/dispatch.h"
#include "sched/core/preempt.h"
#include "sched/frames/foreign_frames.h"
#include "sched/state/scheduler.h"
#include "sched/state/spawn.h"
#include "sched/wait/sleep.h"
#include "sched/world/world.h"
#include "weft/error.h"
#include "weft/go.h"
#include "weft/mutex.h"

namespace weft::api {
namespace {

using policy::Member;
using policy::Oracle;
using policy::Team;
using sched::Goroutine;

struct Run {
  Team* team = nullptr;
  Outcome outcome;
  bool root_done = false;
  std::vector<Goroutine*> settling;
};
constinit Run* run = nullptr;  // the driver's and the team's, one at a time
constinit weft::mutex one_bubble("weft::testing: one bubble at a time");

// --- what is asked of a controlled goroutine ---

void at_point() noexcept {
  if (sched::regain_processor() == nullptr || os::current_g()->no_preempt != 0) return;
  if (run->team->oracle.wants_points()) policy::controlled().at_point(Oracle::Moment::kPoint);
}
void at_check() noexcept {
  if (!run->team->oracle.wants_checks()) return;
  const sched::FramesOnStack frames = sched::look_at_frames(os::current_g());
  if (frames.may_give_way() && !frames.foreign) policy::controlled().at_point(Oracle::Moment::kCheck);
}
std::uint32_t choose(std::uint32_t bound) noexcept {
  return bound < 2 ? 0 : static_cast<std::uint32_t>(run->team->oracle.choose(bound));
}
std::int64_t virtual_now() noexcept { return run->team->now_ns.load_relaxed(); }

void note_failure(std::string message, std::exception_ptr error = nullptr) {
  if (run->outcome.failed) return;
  run->outcome.failed = true;
  run->outcome.message = std::move(message);
  run->outcome.error = std::move(error);
}

[[noreturn]] void park_for_ever() noexcept {
  run->team->over = true;
  for (;;) {
    sched::begin_wait(os::current_g(), sched::WaitReason::kSleep, nullptr);
    sched::park();
  }
}

std::string text_of(const std::exception_ptr& error) {
  const auto name_of = [](const std::type_info& type) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                      std::free);
    return status == 0 ? std::string(name.get()) : std::string(type.name());
  };
  try {
    std::rethrow_exception(error);
  } catch (const testing::failure& failed) {
    return failed.what();
  } catch (const std::exception& thrown) {
    return name_of(typeid(thrown)) + ": " + thrown.what();
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return type != nullptr ? "an exception of type " + name_of(*type) : "an exception";
  }
}

// The calling goroutine cannot go on.
void die(const char* how) noexcept {
  if (sched::regain_processor() == nullptr || run == nullptr || os::current_g() != run->team->holder) return;
  const std::exception_ptr error = how == nullptr ? std::current_exception() : nullptr;
  const std::string who = describe_member(run->team->holder_member);
  if (error != nullptr) {
    note_failure(text_of(error) + ", thrown out of " + who, error);
  } else {
    note_failure(who + ": " + (how != nullptr ? how : "std::terminate was called"));
  }
  park_for_ever();
}

void admit(Goroutine* g) noexcept { policy::controlled().admit_from_outside(g); }

constinit sched::Control hooks{at_point, at_check, choose, virtual_now, die, admit, nullptr};

// --- the driver ---

std::string list_left_over(const Team& team) {
  std::string text;
  for (const Member& member : team.members)
    if (member.started && !member.ended) {
      const bool waits = member.g->status.load_relaxed() == sched::GStatus::kWaiting;
      text += "\n  " + describe_member(&member) +
              (waits ? ", waiting: " + std::string(sched::name_of(member.g->wait_reason)) : std::string(", runnable"));
    }
  return text;
}

// Runs what is due first. False: there are no timers.
bool move_clock(Team& team) {
  const std::int64_t next = team.timers.next_ns();
  if (next == sched::TimerHeap::kNever) return false;
  team.now_ns.store_relaxed(std::max(team.now_ns.load_relaxed(), next));
  sched::DueSleepers sleepers;
  os::current_g()->habits.controlled = sched::kControlled;  // a timer's channel asks for the time
  team.timers.run_due(team.now_ns.load_relaxed(), false, sleepers);
  os::current_g()->habits.controlled = 0;
  for (std::uint32_t i = 0; i < sleepers.count; ++i) sched::ready(sleepers.goroutines[i]);
  return true;
}

// The goroutines of the bubble only yield to each other. They may wait for the clock.
constexpr std::uint32_t kFruitless = 10'000;

// False: the bubble has ended.
bool go_on(Run& r, std::uint32_t& fruitless) {
  Team& team = *r.team;
  if (r.outcome.failed) return false;
  if (team.crossing != nullptr) {
    note_failure(std::string("uncontrolled access: ") + team.crossing);
    return false;
  }
  if (team.exhausted) {
    note_failure("no end in sight: the goroutines of the bubble go on and on (livelock?)" + list_left_over(team));
    return false;
  }
  if (policy::controlled().waiting() > 0) {
    if (++fruitless < kFruitless) return true;
    fruitless = 0;
    if (!move_clock(team)) team.exhausted = true;
    return true;
  }
  fruitless = 0;
  if (!r.settling.empty()) {
    sched::ready(r.settling.front());
    r.settling.erase(r.settling.begin());
    return true;
  }
  if (team.alive == 0) return false;
  if (!r.root_done && move_clock(team)) return true;
  note_failure((r.root_done ? "goroutines are left over after the function has returned:"
                            : "deadlock: all goroutines of the bubble wait:") +
               list_left_over(team));
  return false;
}

struct Root {
  testing::detail::function call;
  void* f;
};

void run_root(const Root& root) {
  struct Done {
    ~Done() { run->root_done = true; }
  } done;
  try {
    root.call(root.f);
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    note_failure(text_of(error), error);
  }
}

// What the timers of an ended bubble point to may be gone, or in use.
sched::TimerHeap& graveyard() {
  static auto& heap = *new sched::TimerHeap;
  return heap;
}

}  // namespace

std::string describe_member(const Member* member) {
  if (member == nullptr) return "a goroutine";
  std::string text = member->number == 1 ? std::string("goroutine 1 (the function itself")
                                         : "goroutine " + std::to_string(member->number);
  if (member->number == 1) return text + ")";
  if (member->site == 0) return text;
  const os::Symbol symbol = os::symbolize(sched::code_address(member->site));
  if (symbol.file.empty()) return text + " (started in " + symbol.function + ")";
  return text + " (started at " + symbol.file.substr(symbol.file.rfind('/') + 1) + ":" + std::to_string(symbol.line) +
         ")";
}

ControlScope::ControlScope(bool wants_checks) {
  sched::stop_the_world();
  policy::controlled().install();
  if (wants_checks) sched::scheduler.guard_distance = 0;  // every check fires
  sched::start_the_world();
  catch_fatal_signals();
}
ControlScope::~ControlScope() {
  release_fatal_signals();
  sched::stop_the_world();
  policy::controlled().remove();
  sched::start_the_world();
}

Outcome drive(Oracle& oracle, testing::detail::function call, void* f) {
  auto team = std::make_unique<Team>(oracle);
  Run this_run;
  this_run.team = team.get();
  run = &this_run;
  hooks.timers = &team->timers;
  policy::controlled().begin(*team);
  sched::control.store_release(&hooks);  // pairs: control
  policy::adopt_children(*team);
  const Root root{call, f};
  weft::go([&root] { run_root(root); });
  policy::disown_children();
  std::uint32_t fruitless = 0;
  do policy::controlled().let_run();
  while (go_on(this_run, fruitless));
  policy::controlled().end(*team);
  sched::control.store_release(nullptr);  // pairs: control
  const bool keeps = team->alive != 0 || team->timers.size() != 0;
  if (team->timers.size() != 0) graveyard().adopt(team->timers);
  run = nullptr;
  if (keeps) static_cast<void>(team.release());  // goroutines and timers that are left over point into it
  return std::move(this_run.outcome);
}

void as_driver(testing::detail::function body, void* argument) {
  if (testing::active()) throw logic_error("weft::testing: a bubble inside a bubble");
  api::ensure_started();
  std::exception_ptr error;
  one_bubble.lock();
  weft::spawn([&] {
    try {
      body(argument);
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  one_bubble.unlock();
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace weft::api

namespace weft::testing {
namespace {

void require_active(const char* what) {
  if (!active()) throw logic_error(std::string("weft::testing::") + what + ": only inside a bubble");
}

}  // namespace

bool active() noexcept { return sched::own_control() != nullptr; }

time_point now() {
  require_active("now");
  return time_point(std::chrono::nanoseconds(sched::caller_now_ns()));
}

void fail(std::string_view text) {
  if (active()) {
    api::note_failure(std::string(text));
    sched::regain_processor();
    api::park_for_ever();
  }
  throw failure(std::string(text));
}

namespace detail {

void settle() {
  require_active("settle");
  sched::regain_processor();
  sched::Goroutine* g = os::current_g();
  sched::begin_wait(g, sched::WaitReason::kSleep, nullptr);
  api::run->settling.push_back(g);
  sched::park();
}

void sleep_and_settle(std::int64_t ns) {
  require_active("advance");
  sched::sleep_for(ns);
  settle();
}

}  // namespace detail
}  // namespace weft::testing
