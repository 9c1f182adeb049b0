// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "arch/flag_test.h"
#include "base/atomic.h"
#include "base/check.h"

// The tracer's interface. At each change of state the scheduler asks recording(): one load, and one branch that is not
// taken while no trace is on. Only then does it report what happens.
//   When      The object's owner reports before other threads can see the change. So what depends on an event is
//             recorded later or in a later generation, never earlier. For the same reason a P is taken from a call
//             inside a StealSection.
//   What      The place (P and goroutine of this thread before the event) and the object. The recorder compares the
//             place with what it has written about this thread so far, and writes what is missing. So no thread has to
//             stop for a trace to begin.
//   Switches  None of these functions may switch to another goroutine. The place is a copy.
namespace weft::trace {

// What the tracer remembers of a goroutine or P, inside the object: generation, sequence number and state in one word,
// written by the object's owner. Zero: never mentioned.
struct Mark {
  base::Atom<std::uint64_t> word{0};
};

// The entry where KnownChains last found the stack of this goroutine's event. A hint: a wrong one only costs time.
using ChainHint = std::uint8_t;
struct ChainHints {
  ChainHint block = 0;
  ChainHint unblock = 0;
};

// A chain of frame pointers: from `frame` up, between the ends of the stack.
struct FrameChain {
  const void* frame = nullptr;  // null: no chain
  const void* low = nullptr;
  const void* high = nullptr;
};

struct Place {
  Mark* p = nullptr;  // null: the thread holds no P
  std::uint64_t p_id = 0;
  Mark* g = nullptr;  // null: the thread runs no goroutine, or one that is on its way out
  std::uint64_t g_id = 0;
  FrameChain chain;  // no stack is recorded without it
  // Or the stack itself, if the caller has walked it already.
  void* const* pcs = nullptr;
  std::size_t pc_count = 0;
};

// The goroutine that is created, started or unblocked, or whose call ends.
struct Other {
  Mark* mark;
  std::uint64_t id;
  const void* entry = nullptr;  // the new goroutine's first frame in a listing: where it was spawned
};

// A thread that the preemption signal may interrupt calls this once before, because the handler cannot allocate.
void prepare_thread() noexcept;

extern __attribute__((visibility("hidden"))) base::Atom<std::uint32_t> recording_flag;
#if defined(WEFT_NO_TRACE_POINTS)  // to count what they cost (bench/counts/check --trace-points)
inline bool recording() noexcept { return false; }
#else
inline bool recording() noexcept { return arch::is_set(recording_flag); }
#endif

// Reasons and kinds index CollectorSetup::reasons: small numbers, known before the first event.
using Reason = std::uint8_t;

void go_create(const Place& place, const Other& created) noexcept;
// Also for a goroutine that was created before the session and runs for the first time.
void go_start(const Place& place, const Other& started) noexcept;
void go_block(const Place& place, Reason reason) noexcept;
void go_stop(const Place& place, Reason reason) noexcept;
void go_destroy(const Place& place) noexcept;
void go_unblock(const Place& place, const Other& woken) noexcept;
void go_label(const Place& place, const char* text, std::size_t length) noexcept;

void call_begin(const Place& place) noexcept;
// Go's tools see a call. The mark before it (format::reason::kExile) tells weft's tools that the goroutine computes on.
void exile_begin(const Place& place, Reason mark) noexcept;
void call_end(const Place& place, const Other& who) noexcept;  // place.p: the P it had, or another
void call_end_without(const Other& who) noexcept;              // without a P: it is runnable

void proc_start(const Place& place) noexcept;  // place.p has just become this thread's
void proc_stop(const Place& place) noexcept;
void procs_change(const Place& place, std::uint64_t count) noexcept;

// Encloses the exchange that takes a P from a call.
class StealSection {
 public:
  StealSection() noexcept : lane_(recording() ? begin() : nullptr) {}
  ~StealSection() {
    if (WEFT_UNLIKELY(lane_ != nullptr)) end(lane_);
  }
  StealSection(const StealSection&) = delete;
  void took(Mark* p, std::uint64_t p_id, std::uint64_t from_thread) noexcept {
    if (WEFT_UNLIKELY(lane_ != nullptr)) write(lane_, p, p_id, from_thread);
  }

 private:
  static void* begin() noexcept;
  static void write(void* lane, Mark* p, std::uint64_t p_id, std::uint64_t from_thread) noexcept;
  static void end(void* lane) noexcept;
  void* lane_;
};

// In a signal handler, which may interrupt any code. Uses place.pcs, the ids, and whether there is a P.
void cpu_sample(const Place& place) noexcept;

void world_stopping(const Place& place, Reason kind) noexcept;
void world_started(const Place& place) noexcept;

// User annotations.
void task_begin(const Place& place, std::uint64_t task, std::uint64_t parent, const char* name,
                std::size_t length) noexcept;
void task_end(const Place& place, std::uint64_t task) noexcept;
// Returns a token for region_end(); 0: not recorded. Regions nest, so region_end() leaves out the end of a region that
// began in another session or before a gap.
std::uint32_t region_begin(const Place& place, std::uint64_t task, const char* name, std::size_t length) noexcept;
void region_end(const Place& place, std::uint32_t begun, std::uint64_t task, const char* name,
                std::size_t length) noexcept;
void user_log(const Place& place, std::uint64_t task, const char* key, std::size_t key_length, const char* text,
              std::size_t text_length) noexcept;

}  // namespace weft::trace
