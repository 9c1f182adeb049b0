// SPDX-License-Identifier: MIT
#include "trace_reader/trace_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

namespace weft::tools {
namespace {

namespace format = trace::format;
using format::Event;

std::string number(std::uint64_t value) { return std::to_string(value); }

// Reads numbers from a part of the file; the first fault sticks and makes all further reads give zero.
class Cursor {
 public:
  Cursor(Bytes bytes, std::uint64_t offset, std::string_view where, std::optional<Fault>& fault)
      : bytes_(bytes), offset_(offset), where_(where), fault_(fault) {}

  bool more() const { return !fault_ && at_ < bytes_.size(); }
  std::uint64_t offset() const { return offset_ + at_; }

  void fail(std::string reason) { fail_at(offset(), std::move(reason)); }
  void fail_at(std::uint64_t offset, std::string reason) {
    if (!fault_) fault_ = Fault{offset, std::move(reason)};
  }

  std::uint8_t byte(std::string_view what) {
    if (fault_) return 0;
    if (at_ == bytes_.size()) {
      ends_in(what);
      return 0;
    }
    return bytes_[at_++];
  }

  std::uint64_t varint(std::string_view what) {
    if (fault_) return 0;
    std::uint64_t value = 0;
    const unsigned char* const begin = bytes_.data() + at_;
    const unsigned char* const end = bytes_.data() + bytes_.size();
    const unsigned char* const next = format::get_varint(begin, end, value);
    if (next == nullptr) {
      if (static_cast<std::size_t>(end - begin) >= format::kMaxVarint) {
        fail(std::string(what) + " does not fit 64 bits");
      } else {
        ends_in(what);
      }
      return 0;
    }
    at_ += static_cast<std::size_t>(next - begin);
    return value;
  }

  Bytes take(std::uint64_t size, std::string_view what) {
    if (fault_) return {};
    if (size > bytes_.size() - at_) {
      ends_in(what);
      return {};
    }
    const Bytes taken = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += taken.size();
    return taken;
  }

 private:
  void ends_in(std::string_view what) {
    fail_at(offset_ + bytes_.size(), std::string(where_) + " ends in the middle of " + std::string(what));
  }

  Bytes bytes_;
  std::uint64_t offset_;
  std::string_view where_;
  std::optional<Fault>& fault_;
  std::size_t at_ = 0;
};

std::string_view text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // char may alias anything
}

// A stack as written: strings may follow later in the file.
struct RawFrame {
  std::uint64_t pc = 0, function = 0, file = 0, line = 0;
};
struct RawStack {
  std::uint64_t id = 0;
  std::uint64_t offset = 0;
  std::vector<RawFrame> frames;
};

class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  TraceFile read() {
    if (read_header()) read_batches();
    return std::move(file_);
  }

 private:
  void fail(std::uint64_t offset, std::string reason) {
    if (!file_.fault) file_.fault = Fault{offset, std::move(reason)};
  }

  bool read_header() {
    if (bytes_.empty()) {
      fail(0, "the file is empty");
      return false;
    }
    const std::string_view head = text(bytes_.first(std::min(bytes_.size(), format::kHeaderSize)));
    const std::string_view prefix = format::kHeaderPrefix;
    const auto digit = [&](std::size_t at) { return at < head.size() ? head[at] >= '0' && head[at] <= '9' : true; };
    const std::size_t digits = prefix.size();
    const std::size_t rest = digits + 2;
    const bool fits = prefix.starts_with(head.substr(0, digits)) && digit(digits) && digit(digits + 1) &&
                      (head.size() <= rest || format::kHeaderSuffix.starts_with(head.substr(rest)));
    if (!fits) {
      fail(0, "this is not an execution trace: it does not begin with \"go 1.NN trace\"");
      return false;
    }
    if (head.size() < format::kHeaderSize) {
      fail(head.size(), "the file ends in the middle of its header");
      return false;
    }
    file_.version = static_cast<unsigned>((head[digits] - '0') * 10 + (head[digits + 1] - '0'));
    if (file_.version < format::kOldestVersion || file_.version > format::kNewestVersion || file_.version == 24) {
      fail(digits, "traces of version 1." + number(file_.version) + " cannot be read, only 1.22, 1.23, 1.25 and 1.26");
      return false;
    }
    return true;
  }

  void read_batches() {
    Cursor cursor(bytes_.subspan(format::kHeaderSize), format::kHeaderSize, "the file", file_.fault);
    while (cursor.more()) read_batch(cursor);
    const bool marked = file_.version >= format::kFirstVersionWithEndOfGeneration;
    if (file_.fault) {
      // A generation with its frequency is probably whole, because recorders write that last.
      // The fault is in the next one.
      if (open_ && current_.frequency != 0) {
        current_.cut = true;
        finish_generation();
      }
    } else if (open_ && marked) {
      fail(bytes_.size(), "the file ends in the middle of generation " + number(current_.number));
    } else if (open_) {
      finish_generation();
    } else if (file_.generations.empty()) {
      fail(bytes_.size(), "the file ends after its header: nothing was recorded");
    }
  }

  void read_batch(Cursor& cursor) {
    const std::uint64_t start = cursor.offset();
    const auto kind = static_cast<Event>(cursor.byte("a batch"));
    if (kind == Event::kEndOfGeneration && file_.version >= format::kFirstVersionWithEndOfGeneration) {
      if (!open_) return cursor.fail_at(start, "an end of generation without a generation");
      return finish_generation();
    }
    const bool experimental = kind == Event::kExperimentalBatch && file_.version >= 23;
    if (kind != Event::kEventBatch && !experimental) {
      return cursor.fail_at(start, "expected a batch, found byte " + number(static_cast<std::uint8_t>(kind)));
    }
    if (experimental) cursor.byte("a batch's experiment");
    const std::uint64_t generation = cursor.varint("a batch's generation");
    const std::uint64_t m = cursor.varint("a batch's M");
    Batch batch;
    batch.time = cursor.varint("a batch's time");
    const std::uint64_t size = cursor.varint("a batch's size");
    if (file_.fault) return;
    if (size > format::kMaxBatch) {
      return cursor.fail_at(start,
                            "a batch of " + number(size) + " bytes; the format allows " + number(format::kMaxBatch));
    }
    if (generation == 0) return cursor.fail_at(start, "a batch of generation 0");
    batch.offset = cursor.offset();
    batch.payload = cursor.take(size, "a batch of generation " + number(generation));
    if (file_.fault) return;
    if (!enter_generation(generation, start)) return;
    if (!experimental && !batch.payload.empty()) sort_batch(m, batch);
  }

  bool enter_generation(std::uint64_t generation, std::uint64_t offset) {
    if (open_ && generation != current_.number) {
      if (file_.version >= format::kFirstVersionWithEndOfGeneration || generation != current_.number + 1) {
        fail(offset, "a batch of generation " + number(generation) + " inside generation " + number(current_.number));
        return false;
      }
      finish_generation();
      if (file_.fault) return false;
    }
    if (!open_) {
      if (last_generation_ != 0 && generation != last_generation_ + 1) {
        fail(offset, "generation " + number(generation) + " follows generation " + number(last_generation_));
        return false;
      }
      current_ = Generation{};
      raw_stacks_.clear();
      machine_index_.clear();
      current_.number = generation;
      current_.offset = offset;
      open_ = true;
    }
    return true;
  }

  void sort_batch(std::uint64_t m, const Batch& batch) {
    Cursor cursor(batch.payload, batch.offset, "the batch", file_.fault);
    const bool sync = file_.version >= format::kFirstVersionWithSync;
    switch (static_cast<Event>(batch.payload[0])) {
      case Event::kStrings:    return read_strings(cursor);
      case Event::kStacks:     return read_stacks(cursor);
      case Event::kCpuSamples: return read_samples(cursor);
      case Event::kFrequency:
        if (!sync) return read_sync(cursor, batch.time);
        break;
      case Event::kSync:
        if (sync) {
          cursor.byte("a sync batch");
          return read_sync(cursor, batch.time);
        }
        break;
      default: break;
    }
    const auto [it, fresh] = machine_index_.emplace(m, current_.machines.size());
    if (fresh) current_.machines.push_back({m, {}});
    current_.machines[it->second].batches.push_back(batch);
  }

  bool expect(Cursor& cursor, Event event, std::string_view name) {
    const std::uint64_t offset = cursor.offset();
    const std::uint8_t found = cursor.byte(name);
    if (file_.fault) return false;
    if (found == static_cast<std::uint8_t>(event)) return true;
    fail(offset, "expected " + std::string(name) + ", found byte " + number(found));
    return false;
  }

  void read_strings(Cursor& cursor) {
    cursor.byte("a string table");
    while (cursor.more()) {
      const std::uint64_t offset = cursor.offset();
      if (!expect(cursor, Event::kString, "a string")) return;
      const std::uint64_t id = cursor.varint("a string's number");
      const std::uint64_t size = cursor.varint("a string's length");
      if (file_.fault) return;
      if (size > format::kMaxString) {
        return fail(offset, "a string of " + number(size) + " bytes; the format allows " + number(format::kMaxString));
      }
      const Bytes bytes = cursor.take(size, "a string");
      if (file_.fault) return;
      if (id == 0 || !current_.strings.emplace(id, text(bytes)).second) {
        return fail(offset, "string " + number(id) + (id == 0 ? " cannot be defined" : " is defined twice"));
      }
    }
  }

  void read_stacks(Cursor& cursor) {
    cursor.byte("a stack table");
    while (cursor.more()) {
      RawStack stack;
      stack.offset = cursor.offset();
      if (!expect(cursor, Event::kStack, "a stack")) return;
      stack.id = cursor.varint("a stack's number");
      const std::uint64_t frames = cursor.varint("a stack's depth");
      if (file_.fault) return;
      if (frames > format::kMaxFrames) {
        return fail(stack.offset,
                    "a stack of " + number(frames) + " frames; the format allows " + number(format::kMaxFrames));
      }
      for (std::uint64_t i = 0; i < frames && !file_.fault; ++i) {
        RawFrame frame;
        frame.pc = cursor.varint("a frame's address");
        frame.function = cursor.varint("a frame's function");
        frame.file = cursor.varint("a frame's file");
        frame.line = cursor.varint("a frame's line");
        stack.frames.push_back(frame);
      }
      if (!file_.fault) raw_stacks_.push_back(std::move(stack));
    }
  }

  void read_samples(Cursor& cursor) {
    cursor.byte("CPU samples");
    while (cursor.more()) {
      if (!expect(cursor, Event::kCpuSample, "a CPU sample")) return;
      CpuSample sample;
      sample.time = cursor.varint("a CPU sample's time");
      sample.m = cursor.varint("a CPU sample's M");
      sample.p = cursor.varint("a CPU sample's P");
      sample.g = cursor.varint("a CPU sample's goroutine");
      sample.stack = cursor.varint("a CPU sample's stack");
      if (!file_.fault) current_.samples.push_back(sample);
    }
  }

  void read_sync(Cursor& cursor, std::uint64_t time) {
    while (cursor.more()) {
      const std::uint64_t offset = cursor.offset();
      const auto event = static_cast<Event>(cursor.byte("a sync batch"));
      if (event == Event::kFrequency) {
        const std::uint64_t frequency = cursor.varint("the frequency");
        if (file_.fault) return;
        if (current_.frequency != 0)
          return fail(offset, "generation " + number(current_.number) + " has two frequencies");
        if (frequency == 0) return fail(offset, "a frequency of zero");
        current_.frequency = frequency;
      } else if (event == Event::kClockSnapshot && file_.version >= format::kFirstVersionWithSync) {
        if (current_.clock) return fail(offset, "generation " + number(current_.number) + " has two clock snapshots");
        Generation::Clock clock;
        clock.time = time + cursor.varint("a clock snapshot's time");
        clock.monotonic_ns = cursor.varint("a clock snapshot");
        clock.wall_s = cursor.varint("a clock snapshot");
        clock.wall_ns = cursor.varint("a clock snapshot");
        if (!file_.fault) current_.clock = clock;
      } else {
        return fail(offset, "expected a frequency, found byte " + number(static_cast<std::uint8_t>(event)));
      }
    }
  }

  void finish_generation() {
    open_ = false;
    last_generation_ = current_.number;
    const std::optional<Fault> before = file_.fault;
    if (current_.frequency == 0) {
      fail(current_.offset, "generation " + number(current_.number) + " has no frequency");
    } else if (file_.version >= format::kFirstVersionWithSync && !current_.clock) {
      fail(current_.offset, "generation " + number(current_.number) + " has no clock snapshot");
    } else if (resolve_stacks()) {
      std::sort(current_.samples.begin(), current_.samples.end(), [](const CpuSample& a, const CpuSample& b) {
        return std::tie(a.time, a.m, a.g, a.stack) < std::tie(b.time, b.m, b.g, b.stack);
      });
      file_.generations.push_back(std::move(current_));
    }
    if (before) file_.fault = before;  // the fault that broke the file first
  }

  bool resolve_stacks() {
    for (const RawStack& raw : raw_stacks_) {
      std::vector<Frame> frames;
      for (const RawFrame& frame : raw.frames) {
        if (!current_.has_string(frame.function) || !current_.has_string(frame.file)) {
          fail(raw.offset, "stack " + number(raw.id) + " names a string that is not in the table");
          return false;
        }
        frames.push_back({frame.pc, current_.string(frame.function), current_.string(frame.file), frame.line});
      }
      if (raw.id == 0 || !current_.stacks.emplace(raw.id, std::move(frames)).second) {
        fail(raw.offset, "stack " + number(raw.id) + (raw.id == 0 ? " cannot be defined" : " is defined twice"));
        return false;
      }
    }
    return true;
  }

  Bytes bytes_;
  TraceFile file_;
  Generation current_;
  bool open_ = false;
  std::uint64_t last_generation_ = 0;
  std::vector<RawStack> raw_stacks_;
  std::unordered_map<std::uint64_t, std::size_t> machine_index_;
};

}  // namespace

std::string_view Generation::string(std::uint64_t id) const {
  const auto it = strings.find(id);
  return it == strings.end() ? std::string_view{} : it->second;
}

const std::vector<Frame>& Generation::stack(std::uint64_t id) const {
  static const std::vector<Frame> none;
  const auto it = stacks.find(id);
  return it == stacks.end() ? none : it->second;
}

std::int64_t Generation::nanoseconds(std::uint64_t units) const {
  __extension__ using Wide = unsigned __int128;
  const Wide value = Wide{units} * 1'000'000'000u / frequency;
  constexpr auto kLast = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(value > kLast ? kLast : static_cast<std::uint64_t>(value));
}

TraceFile read_trace(Bytes file) { return Reader(file).read(); }

}  // namespace weft::tools
