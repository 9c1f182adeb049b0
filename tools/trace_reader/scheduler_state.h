// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trace_reader/range_set.h"
#include "trace_reader/replay.h"

namespace weft::tools {

// The state machine behind replay(): what every goroutine, P and M is doing.
class SchedulerState {
 public:
  enum class Verdict { kDone, kWait, kBroken };

  explicit SchedulerState(EventSink& sink) : sink_(sink) {}

  void begin_generation(const Generation& generation, bool first) {
    generation_ = &generation;
    first_generation_ = first;
  }

  // Tries to go on with an event of M `m`. kWait: not now, perhaps after events of other Ms. `why` says what is wrong
  // with kBroken. It says what kWait waits for only after explain_waits(),
  // because waits are many and are explained once.
  Verdict advance(OrderedEvent event, std::uint64_t m, std::string* why);
  void explain_waits() { explain_waits_ = true; }

 private:
  using Event = trace::format::Event;
  using GoStatus = trace::format::GoStatus;
  using ProcStatus = trace::format::ProcStatus;

  struct Sequence {
    std::uint64_t generation = 0, number = 0;
  };
  struct GState {
    GoStatus status = GoStatus::kBad;
    Sequence sequence;
    RangeSet ranges;
    // Task and name; names as text, because string numbers differ between generations.
    std::vector<std::pair<std::uint64_t, std::string>> regions;
  };
  struct PState {
    ProcStatus status = ProcStatus::kBad;
    Sequence sequence;
    std::uint64_t m = trace::format::kNone;  // the M that holds it
    RangeSet ranges;
  };
  struct MState {
    std::uint64_t p = trace::format::kNone, g = trace::format::kNone;
  };

  Verdict broken(std::string reason);
  Verdict wait(std::string (SchedulerState::*explain)(const OrderedEvent&) const, const OrderedEvent& event);
  std::string explain_p(const OrderedEvent& event) const;
  std::string explain_g(const OrderedEvent& event) const;
  std::string explain_call_end(const OrderedEvent& event) const;
  std::string explain_gc(const OrderedEvent& event) const;

  // Empty if the M of the event holds what the event needs.
  std::string unmet_need(const OrderedEvent& event) const;
  bool succeeds(const Sequence& last, std::uint64_t number) const {
    return last.generation == generation_->number && number == last.number + 1;
  }
  void bind_p(std::uint64_t m, std::uint64_t p);
  void drop_p(std::uint64_t m);

  Verdict proc_status(OrderedEvent& event);
  Verdict proc_start(OrderedEvent& event);
  Verdict proc_stop(OrderedEvent& event);
  Verdict proc_steal(OrderedEvent& event);
  Verdict go_status(OrderedEvent& event);
  Verdict go_create(OrderedEvent& event);
  Verdict go_create_in_call(OrderedEvent& event);
  Verdict go_destroy_in_call(OrderedEvent& event);
  Verdict go_start(OrderedEvent& event);
  Verdict go_leave(OrderedEvent& event);
  Verdict go_unblock(OrderedEvent& event);
  Verdict go_switch(OrderedEvent& event);
  Verdict call_begin(OrderedEvent& event);
  Verdict call_end(OrderedEvent& event);
  Verdict call_end_blocked(OrderedEvent& event);
  Verdict gc(OrderedEvent& event);
  Verdict range(OrderedEvent& event, RangeSet& ranges);
  Verdict range_of_current_g(OrderedEvent& event);
  Verdict sweep(OrderedEvent& event);
  Verdict task(OrderedEvent& event);
  Verdict region(OrderedEvent& event);
  Verdict plain(OrderedEvent& event);

  EventSink& sink_;
  const Generation* generation_ = nullptr;
  bool first_generation_ = true;
  std::string* why_ = nullptr;
  bool explain_waits_ = false;
  std::unordered_map<std::uint64_t, GState> gs_;
  std::unordered_map<std::uint64_t, PState> ps_;
  std::unordered_map<std::uint64_t, MState> ms_;
  std::unordered_set<std::uint64_t> tasks_;
  enum class Gc { kUnknown, kOff, kOn } gc_ = Gc::kUnknown;
  std::uint64_t gc_sequence_ = 0;
};

}  // namespace weft::tools
