// SPDX-License-Identifier: MIT
// SchedulerState: what happens to goroutines, and their calls.
#include "trace_reader/scheduler_state.h"
#include "trace_reader/state_words.h"

namespace weft::tools {

using namespace words;
namespace format = trace::format;
using format::kNone;

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
    // In the first generation an M may report what it does itself; otherwise the M must be known to have the goroutine.
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
    // The M may disappear now, so its P belongs to no M until one takes it.
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
  // The event says that the P was lost, so it has to wait until that has happened.
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

}  // namespace weft::tools
