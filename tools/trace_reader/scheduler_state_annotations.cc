// SPDX-License-Identifier: MIT
// SchedulerState: ranges, tasks and regions.
#include "trace_reader/scheduler_state.h"
#include "trace_reader/state_words.h"

namespace weft::tools {

using namespace words;

SchedulerState::Verdict SchedulerState::gc(OrderedEvent& event) {
  const std::uint64_t sequence = event.args[0];
  const bool active = event.type == Event::kGcActive;
  const bool end = event.type == Event::kGcEnd;
  if (active && first_generation_) {
    if (gc_ != Gc::kUnknown) return broken("a GC is active after other GC events");
  } else if (event.type == Event::kGcBegin && gc_ == Gc::kUnknown) {
    // The first GC sets the count.
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

SchedulerState::Verdict SchedulerState::range(OrderedEvent& event, RangeSet& ranges) {
  const std::string_view complaint = ranges.follow(event.type, first_generation_);
  if (!complaint.empty()) return broken(std::string(complaint));
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
    tasks_.erase(event.args[0]);  // the task may have begun before the trace
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
  } else if (!regions.empty()) {  // else the region began before the trace
    if (regions.back() != it) {
      return broken("region \"" + it.second + "\" ends, but the innermost one is \"" + regions.back().second + "\"");
    }
    regions.pop_back();
  }
  sink_.event(event);
  return Verdict::kDone;
}

}  // namespace weft::tools
