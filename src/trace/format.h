// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// The facts of Go's execution trace, version 2, as `go tool trace` 1.23 and newer reads it. The recorder writes by
// these tables; the replay and `weft trace` read by them. No other file knows a number of the format.
// Uses nothing of weft.
//
// File      = header (16 bytes), then batches. Every number but the header is a LEB128 varint of at most 64 bits.
// Batch     = kEventBatch generation m time size, then `size` bytes (<= kMaxBatch). One M's batches stand in the order
//             they were written; batches of different Ms may be mixed. m is kNone when no M wrote it. `time` is an
//             absolute timestamp > 0. The first byte says what a batch holds:
//   kStrings     entries kString id length bytes (<= kMaxString); id 0 is the empty string and never written.
//   kStacks      entries kStack id n, then n (<= kMaxFrames) frames of four numbers: pc, function string, file string,
//                line; the innermost first; id 0 is "no stack" and never written. Readers keep one frame per pc in a
//                generation, so frames inlined into one another need different pcs.
//   kCpuSamples  entries kCpuSample with an absolute time. Goroutine 0 means none, P kNone means none.
//   kFrequency   (before 1.25) the batch is that one event: timestamp units per second.
//   kSync        (from 1.25) kFrequency and kClockSnapshot, once each; the snapshot's time is a difference to the
//                batch's.
//   else         timed events of one M: number, difference to the time before (the first: to the batch's), arguments.
// kEndOfGeneration (from 1.26) is one byte between batches. Before 1.26 a batch of generation + 1 ends the generation,
// and so does the end of the file. Generations are numbered without gaps (the first may be any but 0), and their
// batches never mix.
//
// A generation has exactly one frequency (and snapshot), and its own string and stack tables:
// ids mean nothing elsewhere.
//
// Order. Events of one M are ordered as written. Across Ms only sequence numbers order;
// timestamps merely suggest where to look:
//   g_seq  counts kGoStart, kGoUnblock, kGoSwitch(Destroy) of a goroutine; set to 0 by kGoStatus and the kGoCreate
//          family.
//   p_seq  counts kProcStart, kProcSteal, kGoSyscallBegin of a P; set to 0 by kProcStatus.
// An event whose number is not the successor of the last one waits for other Ms. If no M can go on, the trace is
// broken. Numbers start again in each generation, so a status must stand in it before the first numbered event of a
// goroutine or P.
//
// A status repeats what is already known, or is an error. In later generations a goroutine that was never created
// cannot get one (a P can), and a goroutine with kGoSyscall on an M needs that M's number. kProcSyscallAbandoned is the
// status of a P whose first mention is the kProcSteal that follows.
namespace weft::trace::format {

// --- header and limits ---

inline constexpr std::size_t kHeaderSize = 16;
inline constexpr std::string_view kHeader123{"go 1.23 trace\0\0\0", kHeaderSize};
inline constexpr std::string_view kHeaderPrefix = "go 1.";
inline constexpr std::string_view kHeaderSuffix{" trace\0\0\0", 9};  // after the two digits of the version
inline constexpr unsigned kOldestVersion = 22;                       // 11, 19 and 21 are version 1, a different format
inline constexpr unsigned kNewestVersion = 26;                       // 24 does not exist: 1.24 writes 1.23's
inline constexpr unsigned kFirstVersionWithSync = 25;
inline constexpr unsigned kFirstVersionWithEndOfGeneration = 26;

inline constexpr std::size_t kMaxBatch = 64 * 1024;  // payload; Go's readers refuse more
inline constexpr std::size_t kMaxString = 1024;
inline constexpr std::size_t kMaxFrames = 128;
inline constexpr std::size_t kMaxVarint = 10;  // bytes of a 64-bit number
inline constexpr std::size_t kMaxArguments = 5;
// Bytes a timed event takes at most: number and arguments.
inline constexpr std::size_t kMaxTimedEvent = 1 + kMaxArguments * kMaxVarint;
inline constexpr std::uint64_t kNone = ~std::uint64_t{0};  // "no M", "no P"

// --- events ---

enum class Event : std::uint8_t {
  kNoEvent = 0,
  kEventBatch,
  kStacks,
  kStack,
  kStrings,
  kString,
  kCpuSamples,
  kCpuSample,
  kFrequency,
  kProcsChange,
  kProcStart,
  kProcStop,
  kProcSteal,
  kProcStatus,
  kGoCreate,
  kGoCreateSyscall,
  kGoStart,
  kGoDestroy,
  kGoDestroySyscall,
  kGoStop,
  kGoBlock,
  kGoUnblock,
  kGoSyscallBegin,
  kGoSyscallEnd,
  kGoSyscallEndBlocked,
  kGoStatus,
  kStwBegin,
  kStwEnd,
  kGcActive,
  kGcBegin,
  kGcEnd,
  kGcSweepActive,
  kGcSweepBegin,
  kGcSweepEnd,
  kGcMarkAssistActive,
  kGcMarkAssistBegin,
  kGcMarkAssistEnd,
  kHeapAlloc,
  kHeapGoal,
  kGoLabel,
  kUserTaskBegin,
  kUserTaskEnd,
  kUserRegionBegin,
  kUserRegionEnd,
  kUserLog,
  kGoSwitch,  // from 1.23, as the next four
  kGoSwitchDestroy,
  kGoCreateBlocked,
  kGoStatusStack,
  kExperimentalBatch,  // experiment (one byte), then as kEventBatch; its content is opaque here
  kSync,               // from 1.25
  kClockSnapshot,
  kEndOfGeneration,  // from 1.26
};
inline constexpr std::size_t kEventCount = 53;
// Numbers of experimental events (heap spans, objects, stacks); weft writes none.
inline constexpr std::uint8_t kFirstExperimental = 128;
inline constexpr std::uint8_t kLastExperimental = 136;

// The last event a version knows.
constexpr Event last_event(unsigned version) {
  return version >= 26   ? Event::kEndOfGeneration
         : version >= 25 ? Event::kClockSnapshot
         : version >= 23 ? Event::kExperimentalBatch
                         : Event::kUserLog;
}

// What an argument is. kTime is the first argument of each timed event.
enum class Arg : std::uint8_t {
  kNothing,
  kTime,
  kValue,
  kM,
  kP,
  kG,
  kGStatus,
  kPStatus,
  kGSeq,
  kPSeq,
  kGcSeq,
  kString,
  kStack,
  kTask
};

// What the M that writes an event holds just before it.
enum class Needs : std::uint8_t {
  kNothing,  // no demand: statuses, unblocks (anything may unblock), actives
  kM,        // an M; P and goroutine may be there or not
  kMP,       // an M with a P; a goroutine may be there (kGoCreate: then it is running)
  kMPG,      // an M with P and a goroutine (kGoSyscallBegin/End, stops, annotations)
  kMG,       // an M with a goroutine; the P may be gone (kGoSyscallEndBlocked, kGoDestroySyscall)
  kMNoG,     // an M without goroutine (kGoCreateSyscall)
  kMPNoG,    // an M with a P and without goroutine (kGoStart)
  kMNoP,     // an M without P (kProcStart: a goroutine may be there, coming out of a call)
};

struct EventSpec {
  std::string_view name;  // empty: not a number of the format
  std::array<Arg, kMaxArguments> args{};
  bool timed = false;  // stands in a batch of timed events
  Needs needs = Needs::kNothing;
  Event begin = Event::kNoEvent;  // an end or "active" event: the event that begins its range

  constexpr std::size_t arguments() const {
    std::size_t count = 0;
    while (count < args.size() && args[count] != Arg::kNothing) ++count;
    return count;
  }
};

// clang-format off
inline constexpr std::array<EventSpec, kEventCount> kEvents = {{
    {},
    {"EventBatch", {Arg::kValue, Arg::kM, Arg::kTime, Arg::kValue}},
    {"Stacks"},
    {"Stack", {Arg::kStack, Arg::kValue}},
    {"Strings"},
    {"String", {Arg::kString, Arg::kValue}},
    {"CPUSamples"},
    {"CPUSample", {Arg::kTime, Arg::kM, Arg::kP, Arg::kG, Arg::kStack}},
    {"Frequency", {Arg::kValue}},
    {"ProcsChange", {Arg::kTime, Arg::kValue, Arg::kStack}, true, Needs::kMPG},
    {"ProcStart", {Arg::kTime, Arg::kP, Arg::kPSeq}, true, Needs::kMNoP},
    {"ProcStop", {Arg::kTime}, true, Needs::kMP},
    {"ProcSteal", {Arg::kTime, Arg::kP, Arg::kPSeq, Arg::kM}, true, Needs::kM},
    {"ProcStatus", {Arg::kTime, Arg::kP, Arg::kPStatus}, true, Needs::kNothing},
    // The new goroutine's first frame; the creator's stack.
    {"GoCreate", {Arg::kTime, Arg::kG, Arg::kStack, Arg::kStack}, true, Needs::kMP},
    {"GoCreateSyscall", {Arg::kTime, Arg::kG}, true, Needs::kMNoG},
    {"GoStart", {Arg::kTime, Arg::kG, Arg::kGSeq}, true, Needs::kMPNoG},
    {"GoDestroy", {Arg::kTime}, true, Needs::kMPG},
    {"GoDestroySyscall", {Arg::kTime}, true, Needs::kMG},
    {"GoStop", {Arg::kTime, Arg::kString, Arg::kStack}, true, Needs::kMPG},
    {"GoBlock", {Arg::kTime, Arg::kString, Arg::kStack}, true, Needs::kMPG},
    {"GoUnblock", {Arg::kTime, Arg::kG, Arg::kGSeq, Arg::kStack}, true, Needs::kNothing},
    {"GoSyscallBegin", {Arg::kTime, Arg::kPSeq, Arg::kStack}, true, Needs::kMPG},
    {"GoSyscallEnd", {Arg::kTime}, true, Needs::kMPG, Event::kGoSyscallBegin},
    {"GoSyscallEndBlocked", {Arg::kTime}, true, Needs::kMG, Event::kGoSyscallBegin},
    {"GoStatus", {Arg::kTime, Arg::kG, Arg::kM, Arg::kGStatus}, true, Needs::kNothing},
    {"STWBegin", {Arg::kTime, Arg::kString, Arg::kStack}, true, Needs::kMPG},
    {"STWEnd", {Arg::kTime}, true, Needs::kMPG, Event::kStwBegin},
    {"GCActive", {Arg::kTime, Arg::kGcSeq}, true, Needs::kNothing, Event::kGcBegin},
    {"GCBegin", {Arg::kTime, Arg::kGcSeq, Arg::kStack}, true, Needs::kMPG},
    {"GCEnd", {Arg::kTime, Arg::kGcSeq}, true, Needs::kMPG, Event::kGcBegin},
    {"GCSweepActive", {Arg::kTime, Arg::kP}, true, Needs::kNothing, Event::kGcSweepBegin},
    {"GCSweepBegin", {Arg::kTime, Arg::kStack}, true, Needs::kMP},
    {"GCSweepEnd", {Arg::kTime, Arg::kValue, Arg::kValue}, true, Needs::kMP, Event::kGcSweepBegin},
    {"GCMarkAssistActive", {Arg::kTime, Arg::kG}, true, Needs::kNothing, Event::kGcMarkAssistBegin},
    {"GCMarkAssistBegin", {Arg::kTime, Arg::kStack}, true, Needs::kMPG},
    {"GCMarkAssistEnd", {Arg::kTime}, true, Needs::kMPG, Event::kGcMarkAssistBegin},
    {"HeapAlloc", {Arg::kTime, Arg::kValue}, true, Needs::kMP},
    {"HeapGoal", {Arg::kTime, Arg::kValue}, true, Needs::kMP},
    {"GoLabel", {Arg::kTime, Arg::kString}, true, Needs::kMPG},
    // Task, parent (0: none).
    {"UserTaskBegin", {Arg::kTime, Arg::kTask, Arg::kTask, Arg::kString, Arg::kStack}, true, Needs::kMPG},
    {"UserTaskEnd", {Arg::kTime, Arg::kTask, Arg::kStack}, true, Needs::kMPG},
    {"UserRegionBegin", {Arg::kTime, Arg::kTask, Arg::kString, Arg::kStack}, true, Needs::kMPG},
    {"UserRegionEnd", {Arg::kTime, Arg::kTask, Arg::kString, Arg::kStack}, true, Needs::kMPG, Event::kUserRegionBegin},
    // Task, key, text.
    {"UserLog", {Arg::kTime, Arg::kTask, Arg::kString, Arg::kString, Arg::kStack}, true, Needs::kMPG},
    // Unblocks that goroutine, blocks this one, starts that.
    {"GoSwitch", {Arg::kTime, Arg::kG, Arg::kGSeq}, true, Needs::kMPG},
    // The same, and this one ends.
    {"GoSwitchDestroy", {Arg::kTime, Arg::kG, Arg::kGSeq}, true, Needs::kMPG},
    {"GoCreateBlocked", {Arg::kTime, Arg::kG, Arg::kStack, Arg::kStack}, true, Needs::kMP},
    {"GoStatusStack", {Arg::kTime, Arg::kG, Arg::kM, Arg::kGStatus, Arg::kStack}, true, Needs::kNothing},
    {"ExperimentalBatch", {Arg::kValue, Arg::kValue, Arg::kM, Arg::kTime, Arg::kValue}},
    {"Sync"},
    {"ClockSnapshot", {Arg::kTime, Arg::kValue, Arg::kValue, Arg::kValue}},  // monotonic ns, wall seconds, wall ns
    {"EndOfGeneration"},
}};
// clang-format on

constexpr const EventSpec& spec(Event event) { return kEvents[static_cast<std::size_t>(event)]; }
constexpr bool is_event(std::uint8_t number, unsigned version) {
  return number != 0 && number <= static_cast<std::uint8_t>(last_event(version));
}
static_assert(spec(Event::kEndOfGeneration).name == "EndOfGeneration" && spec(Event::kGoSwitch).name == "GoSwitch");
static_assert(spec(Event::kGoStatus).name == "GoStatus" && spec(Event::kUserLog).name == "UserLog");

// --- states ---

enum class GoStatus : std::uint8_t { kBad = 0, kRunnable, kRunning, kSyscall, kWaiting };
inline constexpr std::array<std::string_view, 5> kGoStatusNames = {"bad", "runnable", "running", "in call", "waiting"};

// kSyscall: the goroutine is in a call and its P is still with it, but may be stolen.
enum class ProcStatus : std::uint8_t { kBad = 0, kRunning, kIdle, kSyscall, kSyscallAbandoned };
inline constexpr std::array<std::string_view, 5> kProcStatusNames = {"bad", "running", "idle", "in call",
                                                                     "abandoned in call"};

// Reasons are free text (kGoStop, kGoBlock, kStwBegin); these are the ones Go's tools look at.
namespace reason {
inline constexpr std::string_view kForever = "forever";  // does not count as waiting
inline constexpr std::string_view kNetwork = "network";  // network blocking profile; substring
inline constexpr std::string_view kSync = "sync";        // synchronisation profile; substring, as the next three
inline constexpr std::string_view kSelect = "select";
inline constexpr std::string_view kChanSend = "chan send";
inline constexpr std::string_view kChanReceive = "chan receive";
inline constexpr std::string_view kSleep = "sleep";
inline constexpr std::string_view kPreempted = "preempted";  // kGoStop
inline constexpr std::string_view kYield = "runtime.Gosched";
// Key of the kUserLog that weft writes just before a kGoSyscallBegin that is no call:
// the goroutine computes on without its P.
inline constexpr std::string_view kExile = "weft: computes without a P";
}  // namespace reason

// --- varints ---

// Writes value to `to` (kMaxVarint bytes must be there) and returns the end.
constexpr unsigned char* put_varint(unsigned char* to, std::uint64_t value) noexcept {
  while (value >= 0x80) {
    *to++ = static_cast<unsigned char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<unsigned char>(value);
  return to;
}

constexpr std::size_t varint_size(std::uint64_t value) noexcept {
  std::size_t size = 1;
  while (value >>= 7) ++size;
  return size;
}

// Reads a number from [from, end); null if it is cut short or does not fit 64 bits.
constexpr const unsigned char* get_varint(const unsigned char* from, const unsigned char* end,
                                          std::uint64_t& value) noexcept {
  value = 0;
  for (unsigned shift = 0; from != end && shift < 70; shift += 7) {
    const std::uint64_t byte = *from++;
    if (shift == 63 && byte > 1) return nullptr;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return from;
  }
  return nullptr;
}

}  // namespace weft::trace::format
