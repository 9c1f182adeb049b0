// SPDX-License-Identifier: MIT
#include "trace_reader/scheduler_state.h"

#include <algorithm>

namespace weft::tools {
namespace {

namespace format = trace::format;
using format::kNone;

constexpr std::uint64_t kLargestId = kNone >> 1;  // Go's readers take ids as signed numbers

std::string number(std::uint64_t value) { return value == kNone ? "none" : std::to_string(value); }
std::string name(std::string_view kind, std::uint64_t id) { return std::string(kind) + " " + number(id); }
std::string goroutine(std::uint64_t id) { return name("goroutine", id); }
std::string status_name(format::GoStatus status) {
  return std::string(format::kGoStatusNames[static_cast<std::size_t>(status)]);
}
std::string status_name(format::ProcStatus status) {
  return std::string(format::kProcStatusNames[static_cast<std::size_t>(status)]);
}

}  // namespace

SchedulerState::Verdict SchedulerState::broken(std::string reason) {
  *why_ = std::move(reason);
  return Verdict::kBroken;
}

SchedulerState::Verdict SchedulerState::wait(std::string (SchedulerState::*explain)(const OrderedEvent&) const,
                                             const OrderedEvent& event) {
  if (explain_waits_) *why_ = (this->*explain)(event);
  return Verdict::kWait;
}

std::string SchedulerState::explain_p(const OrderedEvent& event) const {
  const auto it = ps_.find(event.args[0]);
  if (it == ps_.end()) return name("P", event.args[0]) + " was never mentioned before";
  if (event.type == Event::kProcStart && event.context.p != kNone) {
    return name("M", event.context.m) + " still has " + name("P", event.context.p);
  }
  const Sequence& last = it->second.sequence;
  if (last.generation != generation_->number) return name("P", event.args[0]) + " has no status in this generation";
  return name("P", event.args[0]) + " is " + status_name(it->second.status) + " at sequence number " +
         number(last.number) + ", the event has " + number(event.args[1]);
}

std::string SchedulerState::explain_g(const OrderedEvent& event) const {
  const auto it = gs_.find(event.args[0]);
  if (it == gs_.end()) return goroutine(event.args[0]) + " does not exist";
  const Sequence& last = it->second.sequence;
  if (last.generation != generation_->number) return goroutine(event.args[0]) + " has no status in this generation";
  return goroutine(event.args[0]) + " is " + status_name(it->second.status) + " at sequence number " +
         number(last.number) + ", the event has " + number(event.args[1]);
}

std::string SchedulerState::explain_call_end(const OrderedEvent& event) const {
  return name("M", event.context.m) + " still has " + name("P", event.context.p) + ", which nobody took";
}

std::string SchedulerState::explain_gc(const OrderedEvent& event) const {
  return "the event has sequence number " + number(event.args[0]) + ", the last one was " + number(gc_sequence_);
}

std::string SchedulerState::unmet_need(const OrderedEvent& event) const {
  using format::Needs;
  const Needs needs = format::spec(event.type).needs;
  if (needs == Needs::kNothing) return {};
  const Context& has = event.context;
  const std::string m = name("M", has.m);
  if (has.m == kNone) return "no M wrote it";
  if ((needs == Needs::kMP || needs == Needs::kMPG || needs == Needs::kMPNoG) && has.p == kNone) return m + " has no P";
  if (needs == Needs::kMNoP && has.p != kNone) return m + " has " + name("P", has.p) + " already";
  if ((needs == Needs::kMPG || needs == Needs::kMG) && has.g == kNone) return m + " runs no goroutine";
  if ((needs == Needs::kMNoG || needs == Needs::kMPNoG) && has.g != kNone)
    return m + " has " + goroutine(has.g) + " already";
  if (has.g != kNone && (needs == Needs::kMPG || needs == Needs::kMG) && !gs_.contains(has.g)) {
    return goroutine(has.g) + " does not exist";
  }
  return {};
}

void SchedulerState::bind_p(std::uint64_t m, std::uint64_t p) {
  ps_[p].m = m;
  if (m != kNone) ms_[m].p = p;
}

void SchedulerState::drop_p(std::uint64_t m) {
  MState& machine = ms_[m];
  const auto it = ps_.find(machine.p);
  if (it != ps_.end()) it->second.m = kNone;
  machine.p = kNone;
}

SchedulerState::Verdict SchedulerState::advance(OrderedEvent event, std::uint64_t m, std::string* why) {
  why_ = why;
  event.context.m = m;
  if (m != kNone) {
    const MState& machine = ms_[m];
    event.context.p = machine.p;
    event.context.g = machine.g;
  }
  switch (event.type) {
    case Event::kProcStatus:          return proc_status(event);
    case Event::kProcStart:           return proc_start(event);
    case Event::kProcStop:            return proc_stop(event);
    case Event::kProcSteal:           return proc_steal(event);
    case Event::kGoStatus:
    case Event::kGoStatusStack:       return go_status(event);
    case Event::kGoCreate:
    case Event::kGoCreateBlocked:     return go_create(event);
    case Event::kGoCreateSyscall:     return go_create_in_call(event);
    case Event::kGoDestroySyscall:    return go_destroy_in_call(event);
    case Event::kGoStart:             return go_start(event);
    case Event::kGoDestroy:
    case Event::kGoStop:
    case Event::kGoBlock:             return go_leave(event);
    case Event::kGoUnblock:           return go_unblock(event);
    case Event::kGoSwitch:
    case Event::kGoSwitchDestroy:     return go_switch(event);
    case Event::kGoSyscallBegin:      return call_begin(event);
    case Event::kGoSyscallEnd:        return call_end(event);
    case Event::kGoSyscallEndBlocked: return call_end_blocked(event);
    case Event::kStwBegin:
    case Event::kStwEnd:
    case Event::kGcMarkAssistActive:
    case Event::kGcMarkAssistBegin:
    case Event::kGcMarkAssistEnd:     return range_of_current_g(event);
    case Event::kGcActive:
    case Event::kGcBegin:
    case Event::kGcEnd:               return gc(event);
    case Event::kGcSweepActive:
    case Event::kGcSweepBegin:
    case Event::kGcSweepEnd:          return sweep(event);
    case Event::kUserTaskBegin:
    case Event::kUserTaskEnd:         return task(event);
    case Event::kUserRegionBegin:
    case Event::kUserRegionEnd:       return region(event);
    default:                          return plain(event);
  }
}

SchedulerState::Verdict SchedulerState::proc_status(OrderedEvent& event) {
  const std::uint64_t p = event.args[0];
  const auto status = static_cast<ProcStatus>(event.args[1]);
  if (p > kLargestId) return broken(name("P", p) + " is no number of a P");
  if (event.args[1] == 0 || event.args[1] >= format::kProcStatusNames.size()) {
    return broken(name("P", p) + " has the unknown status " + number(event.args[1]));
  }
  const auto [it, fresh] = ps_.try_emplace(p);
  PState& state = it->second;
  if (fresh) {
    state.status = status;
  } else if (status == ProcStatus::kSyscallAbandoned && state.status == ProcStatus::kSyscall) {
    // About to be stolen from a call that is known; said by the thief, so it is about the M that holds it.
    if (state.m == kNone) return broken(name("P", p) + " is about to be stolen, but no M has it");
    event.args[1] = static_cast<std::uint64_t>(ProcStatus::kSyscall);
    event.context = {state.m, p, ms_[state.m].g};
  } else if (state.status != status) {
    return broken(name("P", p) + " is " + status_name(state.status) + ", not " + status_name(status));
  }
  state.sequence = {generation_->number, 0};
  const bool held = status == ProcStatus::kRunning || status == ProcStatus::kSyscall;
  if (held && event.context.m != kNone) {
    if (event.context.p != kNone && event.context.p != p) {
      return broken(name("M", event.context.m) + " has " + name("P", event.context.p) + " and " + name("P", p));
    }
    if (state.m != kNone && state.m != event.context.m) {
      return broken(name("P", p) + " is on " + name("M", state.m) + " and on " + name("M", event.context.m));
    }
    bind_p(event.context.m, p);
  }
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::proc_start(OrderedEvent& event) {
  const std::uint64_t p = event.args[0];
  const auto it = ps_.find(p);
  // An M that still has a P is in a call and will lose it: the thief's event has not come yet.
  if (it == ps_.end() || it->second.status != ProcStatus::kIdle || !succeeds(it->second.sequence, event.args[1]) ||
      event.context.p != kNone) {
    return wait(&SchedulerState::explain_p, event);
  }
  if (event.context.m == kNone) return broken("no M wrote it");
  it->second.status = ProcStatus::kRunning;
  it->second.sequence.number = event.args[1];
  bind_p(event.context.m, p);
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::proc_stop(OrderedEvent& event) {
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  PState& state = ps_[event.context.p];
  if (state.status != ProcStatus::kRunning && state.status != ProcStatus::kSyscall) {
    return broken(name("P", event.context.p) + " is " + status_name(state.status) + " and cannot stop");
  }
  state.status = ProcStatus::kIdle;
  drop_p(event.context.m);
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::proc_steal(OrderedEvent& event) {
  const std::uint64_t p = event.args[0];
  const auto it = ps_.find(p);
  if (it == ps_.end() ||
      (it->second.status != ProcStatus::kSyscall && it->second.status != ProcStatus::kSyscallAbandoned) ||
      !succeeds(it->second.sequence, event.args[1])) {
    return wait(&SchedulerState::explain_p, event);
  }
  if (event.context.m == kNone) return broken("no M wrote it");
  PState& state = it->second;
  const bool abandoned = state.status == ProcStatus::kSyscallAbandoned;
  if (!abandoned) {
    const auto victim = ms_.find(event.args[2]);
    if (victim == ms_.end()) return broken(name("P", p) + " was stolen from the unknown " + name("M", event.args[2]));
    if (victim->second.p != p) {
      return broken(name("P", p) + " was stolen from " + name("M", event.args[2]) + ", which has P " +
                    number(victim->second.p));
    }
    drop_p(event.args[2]);
  }
  state.status = ProcStatus::kIdle;
  state.sequence.number = event.args[1];
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::go_status(OrderedEvent& event) {
  const std::uint64_t g = event.args[0];
  const std::uint64_t m = event.args[1];
  const auto status = static_cast<GoStatus>(event.args[2]);
  if (g > kLargestId) return broken(goroutine(g) + " is no number of a goroutine");
  if (event.args[2] == 0 || event.args[2] >= format::kGoStatusNames.size()) {
    return broken(goroutine(g) + " has the unknown status " + number(event.args[2]));
  }
  const auto [it, fresh] = gs_.try_emplace(g);
  if (fresh) {
    if (!first_generation_) return broken(goroutine(g) + " gets a status but was never created");
    it->second.status = status;
  } else if (it->second.status != status) {
    return broken(goroutine(g) + " is " + status_name(it->second.status) + ", not " + status_name(status));
  }
  it->second.sequence = {generation_->number, 0};
  if (status == GoStatus::kRunning) {
    if (event.context.m == kNone) return broken(goroutine(g) + " runs, but no M wrote it");
    if (event.context.g != kNone && event.context.g != g) {
      return broken(name("M", event.context.m) + " has " + goroutine(event.context.g) + " and " + goroutine(g));
    }
    ms_[event.context.m].g = g;
  } else if (status == GoStatus::kSyscall) {
    if (m > kLargestId) return broken(goroutine(g) + " is in a call on no M");
    const auto [at, new_m] = ms_.try_emplace(m);
    // The first generation may tell of what its own M does; otherwise the M must be known to have it.
    const bool tells = first_generation_ && fresh && at->second.g == kNone && (new_m || m == event.context.m);
    if (at->second.g != g && !tells) {
      return broken(goroutine(g) + " is in a call on " + name("M", m) + ", which has goroutine " +
                    number(at->second.g));
    }
    event.context = {m, at->second.p, at->second.g};
    at->second.g = g;
  }
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::go_create(OrderedEvent& event) {
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  const auto creator = gs_.find(event.context.g);
  if (creator != gs_.end() && creator->second.status != GoStatus::kRunning) {
    return broken(goroutine(event.context.g) + " creates another but is " + status_name(creator->second.status));
  }
  const std::uint64_t g = event.args[0];
  if (g > kLargestId) return broken(goroutine(g) + " is no number of a goroutine");
  const auto [it, fresh] = gs_.try_emplace(g);
  if (!fresh) return broken(goroutine(g) + " is created but exists already");
  it->second.status = event.type == Event::kGoCreateBlocked ? GoStatus::kWaiting : GoStatus::kRunnable;
  it->second.sequence = {generation_->number, 0};
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::go_create_in_call(OrderedEvent& event) {
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  const std::uint64_t g = event.args[0];
  if (g > kLargestId) return broken(goroutine(g) + " is no number of a goroutine");
  const auto [it, fresh] = gs_.try_emplace(g);
  if (!fresh) return broken(goroutine(g) + " is created but exists already");
  it->second.status = GoStatus::kSyscall;
  it->second.sequence = {generation_->number, 0};
  ms_[event.context.m].g = g;
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::go_destroy_in_call(OrderedEvent& event) {
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  const std::uint64_t g = event.context.g;
  if (gs_[g].status != GoStatus::kSyscall)
    return broken(goroutine(g) + " ends in a call but is " + status_name(gs_[g].status));
  const std::uint64_t p = event.context.p;
  if (p != kNone) {
    // The M may disappear now, so its P is nobody's until somebody takes it.
    PState& state = ps_[p];
    if (state.status != ProcStatus::kSyscall)
      return broken(name("P", p) + " is " + status_name(state.status) + ", not in call");
    state.status = ProcStatus::kSyscallAbandoned;
    drop_p(event.context.m);
  }
  gs_.erase(g);
  ms_[event.context.m].g = kNone;
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::go_start(OrderedEvent& event) {
  const std::uint64_t g = event.args[0];
  const auto it = gs_.find(g);
  if (it == gs_.end() || it->second.status != GoStatus::kRunnable || !succeeds(it->second.sequence, event.args[1])) {
    return wait(&SchedulerState::explain_g, event);
  }
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  it->second.status = GoStatus::kRunning;
  it->second.sequence.number = event.args[1];
  ms_[event.context.m].g = g;
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::go_leave(OrderedEvent& event) {
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  const auto it = gs_.find(event.context.g);
  if (it->second.status != GoStatus::kRunning) {
    return broken(goroutine(event.context.g) + " is " + status_name(it->second.status) + ", not running");
  }
  if (event.type == Event::kGoDestroy) {
    gs_.erase(it);
  } else {
    it->second.status = event.type == Event::kGoStop ? GoStatus::kRunnable : GoStatus::kWaiting;
  }
  ms_[event.context.m].g = kNone;
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::go_unblock(OrderedEvent& event) {
  const auto it = gs_.find(event.args[0]);
  if (it == gs_.end() || it->second.status != GoStatus::kWaiting || !succeeds(it->second.sequence, event.args[1])) {
    return wait(&SchedulerState::explain_g, event);
  }
  it->second.status = GoStatus::kRunnable;
  it->second.sequence.number = event.args[1];
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::go_switch(OrderedEvent& event) {
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  const std::uint64_t from = event.context.g;
  if (gs_[from].status != GoStatus::kRunning)
    return broken(goroutine(from) + " is " + status_name(gs_[from].status) + ", not running");
  const auto next = gs_.find(event.args[0]);
  if (next == gs_.end() || next->second.status != GoStatus::kWaiting ||
      !succeeds(next->second.sequence, event.args[1])) {
    return wait(&SchedulerState::explain_g, event);
  }
  next->second.status = GoStatus::kRunning;
  next->second.sequence.number = event.args[1];
  const bool destroy = event.type == Event::kGoSwitchDestroy;
  ms_[event.context.m].g = event.args[0];
  OrderedEvent part = event;
  part.type = Event::kGoUnblock;
  part.args[2] = 0;
  sink_.event(part);
  part.type = destroy ? Event::kGoDestroy : Event::kGoBlock;
  part.args = {};
  sink_.event(part);
  part.type = Event::kGoStart;
  part.args = {event.args[0], event.args[1]};
  part.context.g = kNone;
  sink_.event(part);
  if (destroy) {
    gs_.erase(from);
  } else {
    gs_[from].status = GoStatus::kWaiting;
  }
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::call_begin(OrderedEvent& event) {
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  GState& g = gs_[event.context.g];
  PState& p = ps_[event.context.p];
  if (g.status != GoStatus::kRunning)
    return broken(goroutine(event.context.g) + " is " + status_name(g.status) + ", not running");
  if (!succeeds(p.sequence, event.args[0])) {
    return broken(name("P", event.context.p) + " is at sequence number " + number(p.sequence.number) +
                  " of generation " + number(p.sequence.generation) + ", the event has " + number(event.args[0]));
  }
  g.status = GoStatus::kSyscall;
  p.status = ProcStatus::kSyscall;
  p.sequence.number = event.args[0];
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::call_end(OrderedEvent& event) {
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  GState& g = gs_[event.context.g];
  PState& p = ps_[event.context.p];
  if (g.status != GoStatus::kSyscall)
    return broken(goroutine(event.context.g) + " is " + status_name(g.status) + ", not in a call");
  if (p.status != ProcStatus::kSyscall)
    return broken(name("P", event.context.p) + " is " + status_name(p.status) + ", not in a call");
  g.status = GoStatus::kRunning;
  p.status = ProcStatus::kRunning;
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::call_end_blocked(OrderedEvent& event) {
  // The event says that the P was lost: until that has happened it cannot be its turn.
  if (event.context.p != kNone && ps_[event.context.p].status == ProcStatus::kSyscall) {
    return wait(&SchedulerState::explain_call_end, event);
  }
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  GState& g = gs_[event.context.g];
  if (g.status != GoStatus::kSyscall)
    return broken(goroutine(event.context.g) + " is " + status_name(g.status) + ", not in a call");
  g.status = GoStatus::kRunnable;
  ms_[event.context.m].g = kNone;
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::gc(OrderedEvent& event) {
  const std::uint64_t sequence = event.args[0];
  const bool active = event.type == Event::kGcActive;
  const bool end = event.type == Event::kGcEnd;
  if (active && first_generation_) {
    if (gc_ != Gc::kUnknown) return broken("a GC is active after other GC events");
  } else if (event.type == Event::kGcBegin && gc_ == Gc::kUnknown) {
    // The first one sets the count.
  } else {
    if (sequence != gc_sequence_ + 1) return wait(&SchedulerState::explain_gc, event);
    if ((active || end) != (gc_ == Gc::kOn))
      return broken(end || active ? "no GC is in progress" : "a GC is in progress already");
    if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  }
  gc_sequence_ = sequence;
  gc_ = end ? Gc::kOff : Gc::kOn;
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::range(OrderedEvent& event, Ranges& ranges) {
  const format::EventSpec& spec = format::spec(event.type);
  const Event begin = spec.begin == Event::kNoEvent ? event.type : spec.begin;
  const auto it = std::find(ranges.open.begin(), ranges.open.end(), begin);
  const bool open = it != ranges.open.end();
  if (spec.begin == Event::kNoEvent) {
    if (open) return broken("the range is open already");
    ranges.open.push_back(begin);
  } else if (spec.name.ends_with("Active")) {
    if (first_generation_ == open) return broken(open ? "the range is open already" : "the range was never begun");
    if (!open) ranges.open.push_back(begin);
  } else {
    if (!open) return broken("the range was never begun");
    ranges.open.erase(it);
  }
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::range_of_current_g(OrderedEvent& event) {
  if (event.type == Event::kGcMarkAssistActive) {
    const auto it = gs_.find(event.args[0]);
    return it == gs_.end() ? broken(goroutine(event.args[0]) + " does not exist") : range(event, it->second.ranges);
  }
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  return range(event, gs_[event.context.g].ranges);
}

SchedulerState::Verdict SchedulerState::sweep(OrderedEvent& event) {
  if (event.type == Event::kGcSweepActive) {
    const auto it = ps_.find(event.args[0]);
    return it == ps_.end() ? broken(name("P", event.args[0]) + " was never mentioned before")
                           : range(event, it->second.ranges);
  }
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  return range(event, ps_[event.context.p].ranges);
}

SchedulerState::Verdict SchedulerState::task(OrderedEvent& event) {
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  if (event.type == Event::kUserTaskEnd) {
    tasks_.erase(event.args[0]);  // may have begun before the trace
  } else if (!tasks_.insert(event.args[0]).second) {
    return broken(name("task", event.args[0]) + " begins but is there already");
  }
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::region(OrderedEvent& event) {
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  auto& regions = gs_[event.context.g].regions;
  std::pair<std::uint64_t, std::string> it{event.args[0], generation_->string(event.args[1])};
  if (event.type == Event::kUserRegionBegin) {
    regions.push_back(std::move(it));
  } else if (!regions.empty()) {  // else it began before the trace
    if (regions.back() != it) {
      return broken("region \"" + it.second + "\" ends, but the innermost one is \"" + regions.back().second + "\"");
    }
    regions.pop_back();
  }
  sink_.event(event);
  return Verdict::kDone;
}

SchedulerState::Verdict SchedulerState::plain(OrderedEvent& event) {
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  sink_.event(event);
  return Verdict::kDone;
}

}  // namespace weft::tools
