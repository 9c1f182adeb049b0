// SPDX-License-Identifier: MIT
#include "trace_reader/scheduler_state.h"

#include "trace_reader/state_words.h"

namespace weft::tools {

namespace format = trace::format;
using format::kNone;
using namespace words;

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
  const auto m = [&has] { return name("M", has.m); };
  if (has.m == kNone) return "no M wrote it";
  if ((needs == Needs::kMP || needs == Needs::kMPG || needs == Needs::kMPNoG) && has.p == kNone)
    return m() + " has no P";
  if (needs == Needs::kMNoP && has.p != kNone) return m() + " has " + name("P", has.p) + " already";
  if ((needs == Needs::kMPG || needs == Needs::kMG) && has.g == kNone) return m() + " runs no goroutine";
  if ((needs == Needs::kMNoG || needs == Needs::kMPNoG) && has.g != kNone)
    return m() + " has " + goroutine(has.g) + " already";
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
    // The thief reports that it is about to steal the P from a known call.
    // So the event is about the M that holds the P.
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

SchedulerState::Verdict SchedulerState::plain(OrderedEvent& event) {
  if (const std::string unmet = unmet_need(event); !unmet.empty()) return broken(unmet);
  sink_.event(event);
  return Verdict::kDone;
}

}  // namespace weft::tools
