// SPDX-License-Identifier: MIT
#include "trace_reader/timeline.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "trace_reader/open_ranges.h"
#include "trace_reader/replay.h"
#include "trace_reader/timeline_order.h"
#include "trace_reader/timeline_tables.h"

namespace weft::tools {
namespace {

namespace format = trace::format;
using format::Event;
using format::kNone;

class Builder final : public EventSink {
 public:
  Timeline build(const TraceFile& file) {
    line_.version = file.version;
    line_.generations = file.generations.size();
    line_.fault = replay(file, *this);
    finish();
    return std::move(line_);
  }

  void generation(const Generation& generation) override {
    first_generation_ = generation_ == nullptr;
    generation_ = &generation;
    tables_.generation(generation);
  }

  void sample(const CpuSample& sample, std::int64_t time) override {
    now_ = relative(time);
    ++line_.events;
    const auto goroutine = goroutine_index_.find(sample.g);
    line_.samples.push_back({now_, sample.g == 0 || goroutine == goroutine_index_.end() ? kNoIndex : goroutine->second,
                             index_m(sample.m), index_p(sample.p), tables_.stack_id(sample.stack)});
  }

  void event(const OrderedEvent& event) override {
    now_ = relative(event.time);
    ++line_.events;
    switch (event.type) {
      case Event::kProcStatus:          return proc_status(event);
      case Event::kProcStart:           return proc(event.args[0], ProcState::kRunning, event.context.m);
      case Event::kProcStop:            return proc_stop(event.context.p, event.context.g);
      case Event::kProcSteal:           return proc_stolen(event);
      case Event::kGoStatus:
      case Event::kGoStatusStack:       return go_status(event);
      case Event::kGoCreate:
      case Event::kGoCreateBlocked:
      case Event::kGoCreateSyscall:     return go_create(event);
      case Event::kGoStart:             return go_start(event);
      case Event::kGoDestroy:
      case Event::kGoDestroySyscall:    return go_end(event);
      case Event::kGoStop:
      case Event::kGoBlock:             return go_stop(event);
      case Event::kGoUnblock:           return go_unblock(event);
      case Event::kGoSyscallBegin:
      case Event::kGoSyscallEnd:
      case Event::kGoSyscallEndBlocked: return call(event);
      default:                          return annotation(event);
    }
  }

 private:
  std::int64_t relative(std::int64_t time) {
    if (!origin_) {
      origin_ = time;
      if (generation_ != nullptr && generation_->clock) set_wall_start(*generation_->clock, time);
    }
    return std::max<std::int64_t>(time - *origin_, 0);
  }

  void set_wall_start(const Generation::Clock& clock, std::int64_t time) {
    constexpr std::uint64_t kYear2200 = 7'258'118'400;
    if (clock.wall_s > kYear2200 || clock.wall_ns >= 1'000'000'000) return;  // not a clock's reading
    const std::int64_t distance = generation_->nanoseconds(clock.time) - time;
    constexpr std::int64_t kCentury = 3'155'760'000'000'000'000;
    if (distance > kCentury || distance < -kCentury) return;
    line_.wall_start_ns = static_cast<std::int64_t>(clock.wall_s * 1'000'000'000 + clock.wall_ns) - distance;
  }

  std::uint32_t index_m(std::uint64_t m) { return index(m, m_index_, line_.ms); }
  std::uint32_t index_p(std::uint64_t p) { return index(p, p_index_, line_.ps); }
  static std::uint32_t index(std::uint64_t id, std::unordered_map<std::uint64_t, std::uint32_t>& map,
                             std::vector<std::uint64_t>& list) {
    if (id == kNone) return kNoIndex;
    const auto [it, fresh] = map.try_emplace(id, static_cast<std::uint32_t>(list.size()));
    if (fresh) list.push_back(id);
    return it->second;
  }

  // --- goroutines ---

  // The id of a goroutine that ended may be used again: then this is a new goroutine.
  std::uint32_t new_goroutine(std::uint64_t id, std::int64_t start) {
    const auto index = static_cast<std::uint32_t>(line_.goroutines.size());
    goroutine_index_[id] = index;
    Goroutine goroutine;
    goroutine.id = id;
    goroutine.start = start;
    line_.goroutines.push_back(goroutine);
    open_.emplace_back();
    return index;
  }

  std::uint32_t goroutine(std::uint64_t id) {
    if (id == kNone) return kNoIndex;
    const auto it = goroutine_index_.find(id);
    return it == goroutine_index_.end() ? kNoIndex : it->second;
  }

  GoSpan& begin(std::uint32_t g, GoState state, std::string_view reason) {
    GoSpan& span = open_[g];
    span = GoSpan{};
    span.start = now_;
    span.g = g;
    span.state = state;
    span.reason = tables_.string(reason);
    span.open = true;
    return span;
  }

  void close(std::uint32_t g) {
    GoSpan& span = open_[g];
    if (!span.open) return;
    span.open = false;
    span.end = now_;
    keep(span);
  }

  void keep(const GoSpan& span) {
    line_.goroutines[span.g].time[static_cast<std::size_t>(span.state)] += span.end - span.start;
    line_.spans.push_back(span);
  }

  // The outermost frame of a goroutine's own stack is what it runs.
  void learn_function(std::uint32_t g, std::uint32_t stack) {
    if (g == kNoIndex || stack == kNoIndex || line_.goroutines[g].function != 0) return;
    const std::vector<StackFrame>& frames = tables_.frames(stack);
    if (!frames.empty()) line_.goroutines[g].function = frames.back().function;
  }

  void go_status(const OrderedEvent& event) {
    const std::uint32_t stack = event.type == Event::kGoStatusStack ? tables_.stack_id(event.args[3]) : kNoIndex;
    std::uint32_t g = goroutine(event.args[0]);
    if (g != kNoIndex && !line_.goroutines[g].ended) return learn_function(g, stack);
    g = new_goroutine(event.args[0], 0);
    constexpr std::array<GoState, 5> kStates = {GoState::kWaiting, GoState::kRunnable, GoState::kRunning,
                                                GoState::kInCall, GoState::kWaiting};
    GoSpan& span = begin(g, kStates[event.args[2]], "since before the trace");
    span.start = 0;
    span.stack = stack;
    if (span.state == GoState::kRunning || span.state == GoState::kInCall) {
      span.m = index_m(event.context.m);
      span.p = index_p(event.context.p);
      call_on_[event.context.m] = g;
    }
    learn_function(g, stack);
  }

  void go_create(const OrderedEvent& event) {
    const std::uint32_t g = new_goroutine(event.args[0], now_);
    Goroutine& it = line_.goroutines[g];
    it.created = true;
    if (event.type == Event::kGoCreateSyscall) {
      begin(g, GoState::kInCall, "entered from a foreign thread").m = index_m(event.context.m);
      return;
    }
    it.creator = goroutine(event.context.g);
    it.creation_stack = tables_.stack_id(event.args[2]);
    const std::uint32_t own = tables_.stack_id(event.args[1]);
    if (own != kNoIndex && !tables_.frames(own).empty()) it.function = tables_.frames(own).back().function;
    if (it.creation_stack != kNoIndex && !tables_.frames(it.creation_stack).empty()) {
      it.site = tables_.frames(it.creation_stack).front();
    }
    learn_function(it.creator, it.creation_stack);
    const std::uint32_t creator = it.creator;
    const std::uint32_t creation_stack = it.creation_stack;
    const bool blocked = event.type == Event::kGoCreateBlocked;
    GoSpan& span =
        begin(g, blocked ? GoState::kWaiting : GoState::kRunnable, blocked ? "created, to be switched to" : "created");
    span.by = creator;
    span.by_stack = creation_stack;
  }

  void go_start(const OrderedEvent& event) {
    const std::uint32_t g = goroutine(event.args[0]);
    if (g == kNoIndex) return;
    close(g);
    GoSpan& span = begin(g, GoState::kRunning, "");
    span.m = index_m(event.context.m);
    span.p = index_p(event.context.p);
  }

  void go_stop(const OrderedEvent& event) {
    const std::uint32_t g = goroutine(event.context.g);
    if (g == kNoIndex) return;
    const std::uint32_t stack = tables_.stack_id(event.args[1]);
    open_[g].stack = stack;  // where the running ended
    close(g);
    learn_function(g, stack);
    GoSpan& span = begin(g, event.type == Event::kGoStop ? GoState::kRunnable : GoState::kWaiting, "");
    span.reason = tables_.string_id(event.args[0]);
    span.stack = stack;
  }

  void go_unblock(const OrderedEvent& event) {
    const std::uint32_t g = goroutine(event.args[0]);
    if (g == kNoIndex) return;
    close(g);
    GoSpan& span = begin(g, GoState::kRunnable, "unblocked");
    span.by = goroutine(event.context.g);
    span.by_stack = tables_.stack_id(event.args[2]);
    if (span.by != kNoIndex && open_[span.by].state == GoState::kRunning) learn_function(span.by, span.by_stack);
  }

  void go_end(const OrderedEvent& event) {
    const std::uint32_t g = goroutine(event.context.g);
    if (event.type == Event::kGoDestroySyscall && event.context.p != kNone) {
      proc(event.context.p, ProcState::kIdle, kNone);
    }
    if (g == kNoIndex) return;
    close(g);
    line_.goroutines[g].ended = true;
    line_.goroutines[g].end = now_;
    ranges_.end_regions_of(g, now_);
  }

  void call(const OrderedEvent& event) {
    const std::uint32_t g = goroutine(event.context.g);
    if (g == kNoIndex) return;
    close(g);
    if (event.type == Event::kGoSyscallEndBlocked) {
      begin(g, GoState::kRunnable, "came back from a call without a P");
      return;
    }
    const bool entered = event.type == Event::kGoSyscallBegin;
    const bool exiled = entered && exiles_.erase(g) != 0;
    proc(event.context.p, entered && !exiled ? ProcState::kInCall : ProcState::kRunning, event.context.m);
    GoSpan& span = begin(g,
                         exiled    ? GoState::kExiled
                         : entered ? GoState::kInCall
                                   : GoState::kRunning,
                         exiled    ? "preempted, computes on"
                         : entered ? "blocking call"
                                   : "");
    span.m = index_m(event.context.m);
    span.p = index_p(event.context.p);
    if (entered) {
      call_on_[event.context.m] = g;
      span.stack = tables_.stack_id(event.args[1]);
      learn_function(g, span.stack);
    }
  }

  // --- Ps ---

  void proc(std::uint64_t id, ProcState state, std::uint64_t m) {
    const std::uint32_t p = index_p(id);
    if (p == kNoIndex) return;
    if (p >= open_procs_.size()) open_procs_.resize(p + 1);
    close_proc(p);
    open_procs_[p] = ProcSpan{now_, now_, p, state, index_m(m)};
  }

  void close_proc(std::uint32_t p) {
    std::optional<ProcSpan>& span = open_procs_[p];
    if (span && span->start < now_) {
      span->end = now_;
      line_.proc_spans.push_back(*span);
    }
    span.reset();
  }

  void proc_status(const OrderedEvent& event) {
    constexpr std::array<ProcState, 5> kStates = {ProcState::kIdle, ProcState::kRunning, ProcState::kIdle,
                                                  ProcState::kInCall, ProcState::kIdle};
    const std::uint32_t p = index_p(event.args[0]);
    if (p < open_procs_.size() && open_procs_[p]) return;
    const ProcState state = kStates[event.args[1]];
    proc(event.args[0], state, state == ProcState::kIdle ? kNone : event.context.m);
    if (first_generation_) open_procs_[p]->start = 0;
    // A goroutine's status may come before that of the P it runs on.
    const std::uint32_t g = state == ProcState::kIdle ? kNoIndex : goroutine(event.context.g);
    if (g != kNoIndex && open_[g].open && open_[g].p == kNoIndex) open_[g].p = p;
  }

  void proc_stolen(const OrderedEvent& event) {
    const std::uint32_t p = index_p(event.args[0]);
    proc(event.args[0], ProcState::kIdle, kNone);
    const auto it = call_on_.find(event.args[2]);
    if (it == call_on_.end()) return;
    const GoSpan& span = open_[it->second];
    if (span.open && may_lose_p(span.state) && span.p == p) lose_p(it->second);
  }

  void proc_stop(std::uint64_t p, std::uint64_t g) {
    proc(p, ProcState::kIdle, kNone);
    const std::uint32_t holder = goroutine(g);
    if (holder != kNoIndex && open_[holder].open && may_lose_p(open_[holder].state)) lose_p(holder);
  }

  static bool may_lose_p(GoState state) { return state == GoState::kInCall || state == GoState::kExiled; }

  void lose_p(std::uint32_t g) {
    const GoSpan before = open_[g];
    close(g);
    GoSpan& span = begin(g, before.state,
                         before.state == GoState::kExiled ? "computes without a P" : "blocking call, its P was taken");
    span.m = before.m;
    span.stack = before.stack;
  }

  // --- annotations ---

  void annotation(const OrderedEvent& event) {
    const std::uint32_t g = goroutine(event.context.g);
    switch (event.type) {
      case Event::kGoLabel:
        if (g != kNoIndex) line_.goroutines[g].name = tables_.string_id(event.args[0]);
        break;
      case Event::kProcsChange:
        // Go repeats the number when it starts the world again.
        if (line_.procs_changes.empty() || line_.procs_changes.back().count != event.args[0]) {
          line_.procs_changes.push_back({now_, event.args[0]});
        }
        break;
      case Event::kUserLog:
        if (g != kNoIndex && generation_->string(event.args[1]) == format::reason::kExile) {
          exiles_.insert(g);  // its next call is not a call
          break;
        }
        line_.messages.push_back({now_, g, tables_.string_id(event.args[1]), tables_.string_id(event.args[2])});
        break;
      case Event::kUserTaskBegin:
        ranges_.begin_task(event.args[0], range(Range::Kind::kTask, g, event.args[2], event.args[0]));
        break;
      case Event::kUserTaskEnd: ranges_.end_task(event.args[0], now_); break;
      case Event::kUserRegionBegin:
        if (g != kNoIndex) ranges_.begin_region(range(Range::Kind::kRegion, g, event.args[1], event.args[0]));
        break;
      case Event::kUserRegionEnd: end_region(event, g); break;
      case Event::kStwBegin:      ranges_.stop_world(range(Range::Kind::kStopTheWorld, g, event.args[0], 0)); break;
      case Event::kStwEnd:        ranges_.start_world(now_); break;
      case Event::kGcActive:
      case Event::kGcBegin:       ranges_.begin_gc({Range::Kind::kGc, now_, now_, kNoIndex, tables_.string("GC"), 0}); break;
      case Event::kGcEnd:         ranges_.end_gc(now_); break;
      default:                    break;
    }
  }

  Range range(Range::Kind kind, std::uint32_t g, std::uint64_t name, std::uint64_t task) {
    return {kind, now_, now_, g, tables_.string_id(name), task};
  }

  void end_region(const OrderedEvent& event, std::uint32_t g) {
    if (g == kNoIndex) return;
    Range unknown = range(Range::Kind::kRegion, g, event.args[1], event.args[0]);
    unknown.start = 0;
    ranges_.end_region(g, unknown, now_);
  }

  // --- the end ---

  void finish() {
    line_.duration = now_;
    for (std::uint32_t g = 0; g < open_.size(); ++g) {
      if (open_[g].open) {
        open_[g].end = now_;
        keep(open_[g]);
        line_.goroutines[g].end = now_;
      }
    }
    for (std::uint32_t p = 0; p < open_procs_.size(); ++p) close_proc(p);
    ranges_.end_all(now_);
    line_.strings = tables_.take_strings();
    line_.stacks = tables_.take_stacks();
    put_in_order(line_);
  }

  Timeline line_;
  TimelineTables tables_;
  OpenRanges ranges_{line_.ranges};
  const Generation* generation_ = nullptr;
  bool first_generation_ = true;
  std::optional<std::int64_t> origin_;
  std::int64_t now_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> goroutine_index_, m_index_, p_index_;
  std::unordered_set<std::uint32_t> exiles_;  // about to become exiles
  std::vector<GoSpan> open_;                  // the current span of each goroutine
  std::vector<std::optional<ProcSpan>> open_procs_;
  std::unordered_map<std::uint64_t, std::uint32_t> call_on_;  // the last goroutine in a call on an M
};

}  // namespace

Timeline make_timeline(const TraceFile& file) { return Builder().build(file); }

}  // namespace weft::tools
