// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "arch/flag_test.h"
#include "base/atomic.h"
#include "base/check.h"

// The tracer's face. The scheduler asks recording() at each change of state, one load and one branch that is never taken while
// nobody traces, and only then tells what happens.
//   When      by the owner of the object, before the change can be seen by others: what depends on an event is recorded later
//             or in a later generation, never earlier. A P is taken from a call inside a StealSection for the same reason.
//   What      the place (P and goroutine of this thread before the event) and the object. The recorder compares the place with
//             what it has written about this thread so far and writes what is missing: nobody has to stop for a trace to begin.
//   Switches  none of these functions may switch; the place is a copy.
namespace weft::trace {

// What the tracer remembers of a goroutine or P, inside the object: generation, sequence number and state in one word, written by
// the object's owner. Zero: never mentioned.
struct Mark {
  base::Atom<std::uint64_t> word{0};
};

// Where KnownChains has found the stack of an event of a goroutine before. A guess: any other is as right, and slower.
using ChainHint = std::uint8_t;
struct ChainHints {
  ChainHint block = 0;
  ChainHint unblock = 0;
};

// Where frame pointers lead: from `frame` up, between the ends of the stack.
struct FrameChain {
  const void* frame = nullptr;  // null: nowhere
  const void* low = nullptr;
  const void* high = nullptr;
};

struct Place {
  Mark* p = nullptr;  // null: the thread holds no P
  std::uint64_t p_id = 0;
  Mark* g = nullptr;  // null: the thread runs no goroutine, or one that is on its way out
  std::uint64_t g_id = 0;
  FrameChain chain;  // no stack is recorded without it
  // Or the stack itself, where somebody has walked it already.
  void* const* pcs = nullptr;
  std::size_t pc_count = 0;
};

// Who is created, started, unblocked.
struct Other {
  Mark* mark;
  std::uint64_t id;
  const void* entry = nullptr;  // the new goroutine's first frame in a listing: where it was spawned
};

// Each thread that may be interrupted by the preemption signal calls it once before: there it could not allocate.
void prepare_thread() noexcept;

extern __attribute__((visibility("hidden"))) base::Atom<std::uint32_t> recording_flag;
#if defined(WEFT_NO_TRACE_POINTS)  // to count what they cost (bench/counts/check --trace-points)
inline bool recording() noexcept { return false; }
#else
inline bool recording() noexcept { return arch::is_set(recording_flag); }
#endif

// Reasons and kinds are entries of the table given to set_reasons(): small numbers, known before the first event.
using Reason = std::uint8_t;

void go_create(const Place& place, const Other& created) noexcept;
// Also: created before anybody listened, and running for the first time.
void go_start(const Place& place, const Other& started) noexcept;
void go_block(const Place& place, Reason reason) noexcept;
void go_stop(const Place& place, Reason reason) noexcept;
void go_destroy(const Place& place) noexcept;
void go_unblock(const Place& place, const Other& woken) noexcept;
void go_label(const Place& place, const char* text, std::size_t length) noexcept;

void call_begin(const Place& place) noexcept;
// To Go's tools a call; the mark before it (format::reason::kExile) tells ours that the goroutine computes on.
void exile_begin(const Place& place, Reason mark) noexcept;
void call_end(const Place& place, const Other& who) noexcept;  // with the P it had, or another: place.p
void call_end_without(const Other& who) noexcept;              // without a P: runnable

void proc_start(const Place& place) noexcept;  // place.p has just become this thread's
void proc_stop(const Place& place) noexcept;
void procs_change(const Place& place, std::uint64_t count) noexcept;

// Around the exchange that takes a P from a call.
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

// In a signal handler, wherever the thread is: place.pcs and the ids are all that counts.
void cpu_sample(const Place& place) noexcept;

void world_stopping(const Place& place, Reason kind) noexcept;
void world_started(const Place& place) noexcept;

// User annotations.
void task_begin(const Place& place, std::uint64_t task, std::uint64_t parent, const char* name,
                std::size_t length) noexcept;
void task_end(const Place& place, std::uint64_t task) noexcept;
// Regions nest: one whose begin is in another session, or on the other side of a gap, must not end. 0: not recorded.
std::uint32_t region_begin(const Place& place, std::uint64_t task, const char* name, std::size_t length) noexcept;
void region_end(const Place& place, std::uint32_t begun, std::uint64_t task, const char* name,
                std::size_t length) noexcept;
void user_log(const Place& place, std::uint64_t task, const char* key, std::size_t key_length, const char* text,
              std::size_t text_length) noexcept;

}  // namespace weft::trace
