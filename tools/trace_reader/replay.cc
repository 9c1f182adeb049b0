// SPDX-License-Identifier: MIT
#include "trace_reader/replay.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "trace_reader/scheduler_state.h"

namespace weft::tools {
namespace {

namespace format = trace::format;
using format::Arg;
using format::Event;

// The number of arguments, without the time, of the experimental events, which are skipped.
constexpr std::array<std::uint8_t, 9> kExperimentalArguments = {3, 3, 1, 2, 2, 1, 2, 2, 1};

// The events of one M in a generation, from front to back.
class MachineCursor {
 public:
  MachineCursor(const Generation& generation, const MachineBatches& machine, unsigned version)
      : generation_(&generation), machine_(&machine), version_(version) {}

  std::uint64_t m() const { return machine_->m; }
  const OrderedEvent& event() const { return event_; }
  const std::optional<Fault>& fault() const { return fault_; }

  // Reads the next event; false at the end or with a fault.
  bool next() {
    do {
      while (batch_ < machine_->batches.size() && at_ == machine_->batches[batch_].payload.size()) {
        ++batch_;
        at_ = 0;
      }
      if (batch_ == machine_->batches.size()) return false;
      if (!read(machine_->batches[batch_])) return false;
    } while (event_.type == Event::kNoEvent);
    return true;
  }

 private:
  bool fail(std::string reason) {
    fault_ = Fault{event_.offset, std::move(reason)};
    return false;
  }

  bool read(const Batch& batch) {
    if (at_ == 0) time_ = batch.time;
    event_ = OrderedEvent{};
    event_.offset = batch.offset + at_;
    const std::uint8_t code = batch.payload[at_++];
    std::size_t arguments = 0;
    const bool experimental = code >= format::kFirstExperimental && code <= format::kLastExperimental && version_ >= 23;
    if (experimental) {
      arguments = kExperimentalArguments[code - format::kFirstExperimental];
    } else if (!format::is_event(code, version_) || !format::kEvents[code].timed) {
      return fail("byte " + std::to_string(code) + " is no event that belongs here");
    } else {
      event_.type = static_cast<Event>(code);
      arguments = format::kEvents[code].arguments() - 1;
    }
    std::uint64_t difference = 0;
    if (!number(batch, difference)) return false;
    if (difference > std::numeric_limits<std::uint64_t>::max() - time_) return fail("its time does not fit 64 bits");
    time_ += difference;
    event_.time = generation_->nanoseconds(time_);
    for (std::size_t i = 0; i < arguments; ++i) {
      if (!number(batch, event_.args[i])) return false;
      if (!experimental && !is_known(format::kEvents[code].args[i + 1], event_.args[i])) return false;
    }
    return true;
  }

  bool number(const Batch& batch, std::uint64_t& value) {
    const unsigned char* const begin = batch.payload.data();
    const unsigned char* const next = format::get_varint(begin + at_, begin + batch.payload.size(), value);
    if (next == nullptr) return fail("the event is cut short, or a number in it does not fit 64 bits");
    at_ = static_cast<std::size_t>(next - begin);
    return true;
  }

  bool is_known(Arg kind, std::uint64_t id) {
    const bool is_string = kind == Arg::kString;
    if (is_string ? generation_->has_string(id) : kind != Arg::kStack || generation_->has_stack(id)) return true;
    return fail(std::string(format::spec(event_.type).name) + " names " + (is_string ? "string " : "stack ") +
                std::to_string(id) + ", which is not in the table");
  }

  const Generation* generation_;
  const MachineBatches* machine_;
  unsigned version_;
  std::size_t batch_ = 0;
  std::size_t at_ = 0;
  std::uint64_t time_ = 0;
  OrderedEvent event_;
  std::optional<Fault> fault_;
};

bool later(const MachineCursor* a, const MachineCursor* b) { return a->event().time > b->event().time; }

class Replay {
 public:
  Replay(const TraceFile& file, EventSink& sink) : file_(file), sink_(sink), state_(sink) {}

  std::optional<Fault> run() {
    for (const Generation& generation : file_.generations) {
      sink_.generation(generation);
      state_.begin_generation(generation, &generation == &file_.generations.front());
      if (!play(generation)) return generation.cut ? file_.fault : fault_;
    }
    return file_.fault;
  }

 private:
  bool play(const Generation& generation) {
    std::vector<MachineCursor> cursors;
    cursors.reserve(generation.machines.size());
    for (const MachineBatches& machine : generation.machines) cursors.emplace_back(generation, machine, file_.version);
    std::vector<MachineCursor*> heap;  // earliest next event in front
    for (MachineCursor& cursor : cursors) {
      if (cursor.next()) heap.push_back(&cursor);
      if (cursor.fault()) return fail(*cursor.fault());
    }
    std::make_heap(heap.begin(), heap.end(), later);
    auto sample = generation.samples.begin();
    while (!heap.empty()) {
      while (sample != generation.samples.end() && generation.nanoseconds(sample->time) < heap.front()->event().time) {
        emit_sample(generation, *sample++);
      }
      if (!step(heap)) return false;
    }
    while (sample != generation.samples.end()) emit_sample(generation, *sample++);
    return true;
  }

  void emit_sample(const Generation& generation, const CpuSample& sample) {
    last_time_ = std::max(last_time_, generation.nanoseconds(sample.time));
    sink_.sample(sample, last_time_);
  }

  // Takes one event: the earliest M's if it can go ahead, else that of the first other M that can.
  bool step(std::vector<MachineCursor*>& heap) {
    std::pop_heap(heap.begin(), heap.end(), later);
    if (const int done = advance(*heap.back()); done != 0) {
      return done > 0 && refill(heap);
    }
    MachineCursor* const earliest = heap.back();
    std::vector<MachineCursor*> order(heap.begin(), heap.end() - 1);
    std::sort(order.begin(), order.end(), [](const MachineCursor* a, const MachineCursor* b) { return later(b, a); });
    for (MachineCursor* cursor : order) {
      const int done = advance(*cursor);
      if (done < 0) return false;
      if (done == 0) continue;
      std::iter_swap(std::find(heap.begin(), heap.end(), cursor), heap.end() - 1);
      if (!refill(heap)) return false;
      std::make_heap(heap.begin(), heap.end(), later);
      return true;
    }
    return stuck(*earliest, heap.size());
  }

  // 1: went ahead, 0: has to wait, -1: broken.
  int advance(MachineCursor& cursor) {
    OrderedEvent event = cursor.event();
    event.time = std::max(event.time, last_time_);
    std::string why;
    switch (state_.advance(event, cursor.m(), &why)) {
      case SchedulerState::Verdict::kDone:   last_time_ = event.time; return 1;
      case SchedulerState::Verdict::kWait:   why_ = std::move(why); return 0;
      case SchedulerState::Verdict::kBroken: break;
    }
    fail({event.offset, describe(cursor) + ": " + why});
    return -1;
  }

  static std::string describe(const MachineCursor& cursor) {
    return std::string(format::spec(cursor.event().type).name) + " on M " +
           (cursor.m() == format::kNone ? "none" : std::to_string(cursor.m()));
  }

  // The last element of the heap has been used: reads its M's next event, or removes the M.
  bool refill(std::vector<MachineCursor*>& heap) {
    MachineCursor& cursor = *heap.back();
    if (cursor.next()) {
      std::push_heap(heap.begin(), heap.end(), later);
    } else {
      heap.pop_back();
      if (cursor.fault()) return fail(*cursor.fault());
    }
    return true;
  }

  bool stuck(MachineCursor& earliest, std::size_t machines) {
    state_.explain_waits();
    advance(earliest);
    return fail({earliest.event().offset,
                 describe(earliest) + " can never happen: " + why_ +
                     (machines > 1 ? " (the " + std::to_string(machines - 1) + " other Ms wait, too)" : "")});
  }

  bool fail(Fault fault) {
    fault_ = std::move(fault);
    return false;
  }

  const TraceFile& file_;
  EventSink& sink_;
  SchedulerState state_;
  std::optional<Fault> fault_;
  std::int64_t last_time_ = 0;
  std::string why_;
};

}  // namespace

std::optional<Fault> replay(const TraceFile& file, EventSink& sink) { return Replay(file, sink).run(); }

}  // namespace weft::tools
