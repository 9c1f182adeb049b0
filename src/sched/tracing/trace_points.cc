// SPDX-License-Identifier: MIT
#include "sched/tracing/trace_points.h"

#include "arch/interrupted_frame.h"
#include "os/backtrace.h"
#include "sched/frames/runtime_text.h"
#include "sched/state/locals.h"
#include "sched/state/spawn.h"
#include "sched/tracing/traced_moves.h"
#include "trace/format.h"

namespace weft::sched {
namespace {

constexpr int kWaitReasons = static_cast<int>(WaitReason::kSignal) + 1;
enum : trace::Reason {
  kReasonYield = kWaitReasons,
  kReasonPreempted,
  kReasonStop,
  kReasonExile,
};
static_assert(trace::reason_string(kReasonExile) < 1 << 7, "usual_events.h writes them as a byte");

// The thread's place before the event. `frame`: where the recorded stack begins.
trace::Place place_from(const void* frame) noexcept {
  trace::Place place;
  if (Processor* p = os::current_p()) {
    place.p = &p->mark;
    place.p_id = p->id;
  }
  Goroutine* g = os::current_g();
  if (g == nullptr) return place;
  if (place.p != nullptr && g->status.load_relaxed() == GStatus::kRunning) {
    place.g = &g->mark;
    place.g_id = g->id;
  }
  const Machine* m = os::current_m();
  if (m != nullptr && m->interrupted != nullptr) {
    place.pcs = m->interrupted->pcs;
    place.pc_count = m->interrupted->count;
  } else if (frame > g->stack_bottom && frame < static_cast<const void*>(g)) {
    place.chain = {frame, g->stack_bottom, g};
  }
  return place;
}

const void* origin_of(const SpawnRecord& record) noexcept {
  return record.site != 0 ? code_address(record.site) : reinterpret_cast<const void*>(entry_of(record));
}

// Skips the innermost frames that are the library's own, so that the stack begins with the code that spawned.
void skip_runtime(trace::Place& place, void* (&pcs)[WalkedStack::kMax]) noexcept {
  const std::size_t count = os::capture_from_frame_pointer(place.chain.frame, nullptr, place.chain.low,
                                                           place.chain.high, pcs, WalkedStack::kMax);
  std::size_t first = 0;
  while (first < count && in_runtime(reinterpret_cast<std::uintptr_t>(pcs[first]))) ++first;
  place.pcs = pcs + first;
  place.pc_count = count - first;
}

}  // namespace

#define WEFT_PLACE place_from(__builtin_frame_address(0))
// One frame further out: that of cold_call() tells nothing.
#define WEFT_FRAME_OF_COLD_CALL (*static_cast<void* const*>(__builtin_frame_address(0)))
#define WEFT_PLACE_OF_COLD_CALL place_from(WEFT_FRAME_OF_COLD_CALL)

__attribute__((noinline)) trace::Place trace_place() noexcept { return WEFT_PLACE; }

namespace {

// Not if a signal has interrupted the goroutine, because then the handler has walked the stack already.
bool is_usual(const Processor* p) noexcept {
  const Machine* m = os::current_m();
  return WEFT_LIKELY(p != nullptr && m != nullptr && m->interrupted == nullptr);
}

// The preemption signal has interrupted the goroutine outside system calls: it computes on.
bool becomes_exile() noexcept {
  const WalkedStack* interrupted = os::current_m()->interrupted;
  return interrupted != nullptr && !interrupted->asleep;
}

bool is_preempted() noexcept { return (os::current_p()->attention.load_relaxed() & kAttentionPreempt) != 0; }

}  // namespace

void trace_inherited_labels(trace::Place place, Goroutine* g) noexcept {
  const LabelSet* set = g->locals != nullptr ? g->locals->labels.look() : nullptr;
  if (set == nullptr) return;
  place.g = &g->mark;
  place.g_id = g->id;
  trace::user_log(place, 0, "labels", 6, set->text().data(), set->text().size());
}

__attribute__((noinline)) void trace_unusual_move(Goroutine* g, GStatus from, GStatus to, const void* frame) noexcept {
  using enum GStatus;
  const trace::Place place = place_from(frame);
  trace::Other other{&g->mark, g->id};
  switch (from) {
    case kRunning:
      if (to == kWaiting) {
        trace::go_block(place, static_cast<trace::Reason>(g->wait_reason));
      } else if (to == kRunnable) {
        trace::go_stop(place, is_preempted() ? kReasonPreempted : kReasonYield);
      } else if (to == kInCall) {
        becomes_exile() ? trace::exile_begin(place, kReasonExile) : trace::call_begin(place);
      } else {
        trace::go_destroy(place);
      }
      return;
    case kWaiting:
      trace::go_unblock(place, other);
      if (to == kRunning) trace::go_start(place, other);  // the wait was called off
      return;
    case kRunnable: trace::go_start(place, other); return;
    case kDead:
      if ((g->flags & kGDetails) == 0) g->mark.word.store_relaxed(0);  // left by one whose end was not recorded
      other.entry = origin_of(*g->record);
      trace::go_start(place, other);
      if (g->name != nullptr) {
        trace::Place own = place;
        own.g = &g->mark;
        own.g_id = g->id;
        trace::go_label(own, g->name->data(), g->name->size());
      }
      trace_inherited_labels(place, g);
      return;
    case kInCall:
      if (to == kRunning) {
        trace::call_end(place, other);
      } else {
        trace::call_end_without(other);
      }
      return;
  }
}

void trace_move(std::uintptr_t g, std::uintptr_t from_and_to) noexcept {
  trace_unusual_move(reinterpret_cast<Goroutine*>(g), static_cast<GStatus>(from_and_to >> 8),
                     static_cast<GStatus>(from_and_to & 0xff), WEFT_FRAME_OF_COLD_CALL);
}

void trace_block(std::uintptr_t address, std::uintptr_t) noexcept {
  auto* g = reinterpret_cast<Goroutine*>(address);
  const Processor* p = os::current_p();
  if (!is_usual(p) ||
      !trace::usual_leave(trace::format::Event::kGoBlock, &g->mark, static_cast<trace::Reason>(g->wait_reason),
                          chain_of(g, WEFT_FRAME_OF_COLD_CALL), g->chain_hints.block))
    trace_unusual_move(g, GStatus::kRunning, GStatus::kWaiting, WEFT_FRAME_OF_COLD_CALL);
}

void trace_stop(std::uintptr_t address, std::uintptr_t) noexcept {
  auto* g = reinterpret_cast<Goroutine*>(address);
  const Processor* p = os::current_p();
  if (!is_usual(p) ||
      !trace::usual_leave(trace::format::Event::kGoStop, &g->mark, is_preempted() ? kReasonPreempted : kReasonYield,
                          chain_of(g, WEFT_FRAME_OF_COLD_CALL), g->chain_hints.block))
    trace_unusual_move(g, GStatus::kRunning, GStatus::kRunnable, WEFT_FRAME_OF_COLD_CALL);
}

void trace_unblock(std::uintptr_t g, std::uintptr_t) noexcept {
  trace_unblock_inline(os::current_p(), reinterpret_cast<Goroutine*>(g), WEFT_FRAME_OF_COLD_CALL);
}

void trace_start(std::uintptr_t g, std::uintptr_t at_once) noexcept {
  trace_start_inline(os::current_p(), reinterpret_cast<Goroutine*>(g), at_once != 0, WEFT_FRAME_OF_COLD_CALL);
}

void trace_acquire(Processor& p) noexcept {
  trace::Place place;
  place.p = &p.mark;
  place.p_id = p.id;
  trace::proc_start(place);
}

__attribute__((noinline)) void trace_release(Processor&) noexcept { trace::proc_stop(WEFT_PLACE); }

void trace_spawn(std::uintptr_t bits, std::uintptr_t) noexcept {
  const Runnable record = Runnable::from_bits(bits);
  if (!record.has_extra()) return;  // prepared before the session began: recorded as created when it starts
  SpawnExtra& extra = extra_of(record);
  if (extra.id == 0) {
    Processor* p = os::current_p();
    extra.id = p != nullptr ? new_goroutine_id(*p) : scheduler.next_id_range.fetch_add_relaxed(1);
  }
  trace::Place place = WEFT_PLACE_OF_COLD_CALL;
  void* pcs[WalkedStack::kMax];
  if (place.chain.frame != nullptr) skip_runtime(place, pcs);
  trace::go_create(place, {&extra.mark, extra.id, origin_of(*record.record())});
}

void trace_rename(std::uintptr_t address, std::uintptr_t) noexcept {
  auto* g = reinterpret_cast<Goroutine*>(address);
  trace::go_destroy(WEFT_PLACE_OF_COLD_CALL);
  g->mark.word.store_relaxed(0);
}

__attribute__((noinline)) void trace_world_stopping() noexcept { trace::world_stopping(WEFT_PLACE, kReasonStop); }
__attribute__((noinline)) void trace_world_started() noexcept { trace::world_started(WEFT_PLACE); }
__attribute__((noinline)) void trace_maxprocs(std::uint32_t n) noexcept { trace::procs_change(WEFT_PLACE, n); }

void trace_cpu_sample(const void* ucontext) noexcept {
  const arch::InterruptedFrame frame = arch::interrupted_frame(ucontext);
  void* pcs[WalkedStack::kMax] = {const_cast<void*>(frame.pc)};
  trace::Place place;
  place.pcs = pcs;
  place.pc_count = 1;
  if (Processor* p = os::current_p()) {
    place.p = &p->mark;
    place.p_id = p->id;
  }
  if (const Goroutine* g = os::current_g()) {
    place.g_id = g->id;
    if (frame.pointer > g->stack_bottom && frame.pointer < static_cast<const void*>(g))
      place.pc_count =
          os::capture_from_frame_pointer(frame.pointer, frame.pc, g->stack_bottom, g, pcs, WalkedStack::kMax);
  }
  trace::cpu_sample(place);
}

std::vector<std::string> trace_reasons() {
  std::vector<std::string> texts;
  for (int i = 0; i < kWaitReasons; ++i) {
    const auto reason = static_cast<WaitReason>(i);
    std::string text = name_of(reason);
    switch (reason) {  // prefixes by which Go's tools sort waits
      case WaitReason::kMutex:
      case WaitReason::kSharedMutexRead:
      case WaitReason::kSharedMutexWrite:
      case WaitReason::kWaitGroup:
      case WaitReason::kCondition:
      case WaitReason::kSemaphore:
      case WaitReason::kWeighted:
      case WaitReason::kLatch:
      case WaitReason::kBarrier:
      case WaitReason::kOnce:             text = "sync: " + text; break;
      case WaitReason::kNilChanSend:
      case WaitReason::kNilChanReceive:
      case WaitReason::kEmptySelect:      text = "forever: " + text; break;
      case WaitReason::kRead:
      case WaitReason::kWrite:
      case WaitReason::kIo:               text = "network: " + text; break;
      default:                            break;
    }
    texts.push_back(std::move(text));
  }
  texts.emplace_back(trace::format::reason::kYield);
  texts.emplace_back(trace::format::reason::kPreempted);
  texts.emplace_back("stop the world");
  texts.emplace_back(trace::format::reason::kExile);
  return texts;
}

void trace_waiting(void (*introduce)(trace::Mark*, std::uint64_t word, std::uint64_t id)) {
  // The word is read first. A thread that moves the goroutine after that changes the word, and then the introduction
  // has no effect.
  scheduler.stacks.for_each([introduce](Goroutine* g) {
    const std::uint64_t word = g->mark.word.load_acquire();  // pairs: trace.mark
    if (g->status.load_relaxed() == GStatus::kWaiting && g->id != 0) introduce(&g->mark, word, g->id);
  });
}

}  // namespace weft::sched
