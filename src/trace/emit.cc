// SPDX-License-Identifier: MIT
#include "trace/emit.h"

#include "os/backtrace.h"
#include "os/thread.h"
#include "trace/fixed_strings.h"
#include "trace/recorder.h"
#include "trace/stack_hash.h"

namespace weft::trace {
namespace {

using format::Event;
using format::GoStatus;
using format::ProcStatus;

constexpr std::size_t kFrames = 32;

constexpr std::uint8_t bits(GoStatus status) noexcept { return static_cast<std::uint8_t>(status); }
constexpr std::uint8_t bits(ProcStatus status) noexcept { return static_cast<std::uint8_t>(status); }

// --- stacks ---

std::uint32_t number_of(Lane& lane, void* const* pcs, std::size_t count) noexcept {
  if (count == 0) return 0;
  const std::uint64_t hash = stack_hash({pcs, count});
  Lane::KnownStack& known = lane.stacks[hash % Lane::kKnownStacks];
  if (known.hash == hash && known.generation == lane.generation()) return known.number;
  const std::uint32_t number = recorder.tables(lane).stack(hash, {pcs, count});
  known = {hash, lane.generation(), number};
  return number;
}

std::uint32_t stack_of(Lane& lane, const Place& place) noexcept {
  if (WEFT_UNLIKELY(place.pcs != nullptr)) return number_of(lane, place.pcs, place.pc_count);
  const FrameChain& chain = place.chain;
  if (chain.frame == nullptr) return 0;
  if (const std::uint32_t known = lane.chains.find(chain.frame, chain.high); WEFT_LIKELY(known != 0)) return known;
  void* pcs[kFrames];
  const std::size_t count = os::capture_from_frame_pointer(chain.frame, nullptr, chain.low, chain.high, pcs, kFrames);
  const std::uint32_t number = number_of(lane, pcs, count);
  if (number != 0) lane.chains.remember(chain, number);
  return number;
}

std::uint32_t stack_of_entry(Lane& lane, const void* entry) noexcept {
  if (entry == nullptr) return 0;
  void* pcs[1] = {const_cast<void*>(entry)};
  return number_of(lane, pcs, 1);
}

// --- what readers know, and what is missing ---

// The thread comes out of a call without the P it had, because another M took it. That M may still be about to record
// so. It began its section before it took the P, so its event is in this generation at the latest.
void forget_taken_processor(Lane& lane) noexcept {
  if (!lane.known.p_in_call()) return;
  lane.known.forget_p();
  lane.p_was_taken = true;
}

// The P becomes this thread's. False: that contradicts what was recorded.
bool start_processor(Lane& lane, Mark* p, std::uint64_t id) noexcept {
  const std::uint64_t word = p->word.load_acquire();  // pairs: trace.mark
  if (!recorder.is_known(word) && lane.p_was_taken) {
    // A status would bind the P to the thread at once. A start waits until readers have seen the thread's other P go.
    put(lane, Event::kProcStatus, id, bits(ProcStatus::kIdle));
    put(lane, Event::kProcStart, id, 1);
    p->word.store_relaxed(Word::make(lane.generation(), 1, bits(ProcStatus::kRunning)));
  } else if (!recorder.is_known(word)) {
    put(lane, Event::kProcStatus, id, bits(ProcStatus::kRunning));
    p->word.store_relaxed(Word::make(lane.generation(), 0, bits(ProcStatus::kRunning)));
  } else if (Word::state(word) == bits(ProcStatus::kIdle)) {
    std::uint64_t sequence = Word::sequence(word);
    if (Word::generation(word) != lane.generation()) {
      put(lane, Event::kProcStatus, id, bits(ProcStatus::kIdle));
      sequence = 0;
    }
    put(lane, Event::kProcStart, id, ++sequence);
    p->word.store_relaxed(Word::make(lane.generation(), sequence, bits(ProcStatus::kRunning)));
  } else {
    recorder.suspend_inconsistent(lane, "a P starts that was not idle");
    return false;
  }
  lane.known.start_p(p);
  lane.p_id = id;
  return true;
}

void stop_processor(Lane& lane) noexcept {
  put(lane, Event::kProcStop);
  Mark* p = lane.known.p();
  p->word.store_relaxed(Word::with_state(p->word.load_relaxed(), bits(ProcStatus::kIdle)));
  lane.known.forget_p();
}

// Afterwards readers know that this thread has that P, and no other.
bool have_processor(Lane& lane, Mark* p, std::uint64_t id) noexcept {
  if (WEFT_LIKELY(lane.known.p_runs(p))) return true;
  forget_taken_processor(lane);
  if (lane.known.p() != nullptr) {
    if (lane.known.g() != nullptr) {
      put(lane, Event::kGoStop, 0, 0);
      lane.known.g()->word.store_relaxed(
          Word::with_state(lane.known.g()->word.load_relaxed(), bits(GoStatus::kRunnable)));
      lane.known.forget_g();
    }
    stop_processor(lane);
  }
  return start_processor(lane, p, id);
}

// The goroutine's word in this generation; writes its status if the word is older. 0: never mentioned.
std::uint64_t current_word(Lane& lane, Mark* g, std::uint64_t id) noexcept {
  const std::uint64_t word = g->word.load_acquire();  // pairs: trace.mark
  if (!recorder.is_known(word)) return 0;
  if (WEFT_LIKELY(Word::generation(word) == lane.generation())) return word;
  put(lane, Event::kGoStatus, id, format::kNone, Word::state(word));
  return Word::make(lane.generation(), 0, Word::state(word));
}

// Claims an unknown goroutine in the given state and returns 0; introduce_waiting() then leaves it alone. For a known
// goroutine returns its word.
std::uint64_t claim(Lane& lane, Mark* g, GoStatus state) noexcept {
  std::uint64_t word = g->word.load_relaxed();
  const std::uint64_t fresh = Word::make(lane.generation(), 0, bits(state));
  while (!recorder.is_known(word))
    if (g->word.cas_acq_rel(word, fresh)) return 0;  // pairs: trace.mark
  return word;
}

// No goroutine runs on this thread; now g does.
void run_goroutine(Lane& lane, Mark* g, std::uint64_t id, const void* entry) noexcept {
  std::uint64_t word = current_word(lane, g, id);
  if (word == 0) {
    if (claim(lane, g, GoStatus::kRunnable) != 0) {
      word = current_word(lane, g, id);
    } else {
      if (entry == nullptr && lane.generation() == recorder.first_generation()) {
        put(lane, Event::kGoStatus, id, format::kNone, bits(GoStatus::kRunnable));
      } else {
        put(lane, Event::kGoCreate, id, stack_of_entry(lane, entry), 0);
      }
      word = Word::make(lane.generation(), 0, bits(GoStatus::kRunnable));
    }
  }
  std::uint64_t sequence = Word::sequence(word);
  if (WEFT_UNLIKELY(Word::state(word) == bits(GoStatus::kWaiting))) {
    put(lane, Event::kGoUnblock, id, ++sequence, 0);
  } else if (WEFT_UNLIKELY(Word::state(word) != bits(GoStatus::kRunnable))) {
    recorder.suspend_inconsistent(lane, "a goroutine starts that runs elsewhere");
    return;
  }
  put(lane, Event::kGoStart, id, ++sequence);
  g->word.store_relaxed(Word::make(lane.generation(), sequence, bits(GoStatus::kRunning)));
  lane.known.start_g(g);
  lane.g_id = id;
}

void leave_goroutine(Lane& lane, GoStatus state) noexcept {
  lane.known.g()->word.store_relaxed(Word::with_state(lane.known.g()->word.load_relaxed(), bits(state)));
  lane.known.forget_g();
}

bool in_call(const Lane& lane, const Other& who) noexcept {
  return lane.known.g() == who.mark && lane.known.g_in_call();
}

// Writes what is missing until readers know the thread's P and goroutine. False: recording is suspended.
bool sync(Lane& lane, const Place& place) noexcept {
  if (!have_processor(lane, place.p, place.p_id)) return false;
  if (WEFT_LIKELY(lane.known.g() == place.g)) return true;
  if (lane.known.g() != nullptr) {
    put(lane, Event::kGoStop, 0, 0);
    leave_goroutine(lane, GoStatus::kRunnable);
  }
  if (place.g == nullptr) return true;
  if (lane.generation() == recorder.first_generation() && claim(lane, place.g, GoStatus::kRunning) == 0) {
    put(lane, Event::kGoStatus, place.g_id, lane.thread, bits(GoStatus::kRunning));
    lane.known.start_g(place.g);
    lane.g_id = place.g_id;
    return true;
  }
  run_goroutine(lane, place.g, place.g_id, nullptr);
  return lane.known.g() == place.g;
}

void report_loss(Lane& lane) noexcept {
  const std::uint64_t lost = recorder.take_loss_report();
  if (WEFT_LIKELY(lost == 0)) return;
  char text[24];
  char* end = text + sizeof text;
  char* at = end;
  for (std::uint64_t rest = lost; rest != 0; rest /= 10) *--at = static_cast<char>('0' + rest % 10);
  put(lane, Event::kUserLog, 0, kLostEventsString,
      recorder.tables(lane).string({at, static_cast<std::size_t>(end - at)}), 0);
}

bool has_both(const Place& place) noexcept { return place.p != nullptr && place.g != nullptr; }

}  // namespace

// --- goroutines ---

void go_create(const Place& place, const Other& created) noexcept {
  Section section;
  if (!section) return;
  Lane& lane = section.lane();
  if (place.p == nullptr) {
    // In this format a plain thread cannot create a goroutine.
    // In the session's first generation a status introduces it.
    if (lane.generation() != recorder.first_generation()) return;
    put(lane, Event::kGoStatus, created.id, format::kNone, bits(GoStatus::kRunnable));
  } else {
    if (!sync(lane, place)) return;
    put(lane, Event::kGoCreate, created.id, stack_of_entry(lane, created.entry), stack_of(lane, place));
  }
  created.mark->word.store_relaxed(Word::make(lane.generation(), 0, bits(GoStatus::kRunnable)));
}

void go_start(const Place& place, const Other& started) noexcept {
  Section section;
  if (!section || !sync(section.lane(), place)) return;
  run_goroutine(section.lane(), started.mark, started.id, started.entry);
  if (section.lane().known.g() != nullptr) report_loss(section.lane());
}

void go_block(const Place& place, Reason reason) noexcept {
  Section section;
  if (!section || !sync(section.lane(), place)) return;
  put(section.lane(), Event::kGoBlock, reason_string(reason), stack_of(section.lane(), place));
  leave_goroutine(section.lane(), GoStatus::kWaiting);
}

void go_stop(const Place& place, Reason reason) noexcept {
  Section section;
  if (!section || !sync(section.lane(), place)) return;
  put(section.lane(), Event::kGoStop, reason_string(reason), stack_of(section.lane(), place));
  leave_goroutine(section.lane(), GoStatus::kRunnable);
}

void go_destroy(const Place& place) noexcept {
  Section section;
  if (!section || !sync(section.lane(), place)) return;
  put(section.lane(), Event::kGoDestroy);
  place.g->word.store_relaxed(0);
  section.lane().known.forget_g();
}

void go_unblock(const Place& place, const Other& woken) noexcept {
  Section section;
  if (!section) return;
  Lane& lane = section.lane();
  if (place.p != nullptr && !sync(lane, place)) return;
  std::uint64_t word = current_word(lane, woken.mark, woken.id);
  if (word == 0) {
    const bool first = lane.generation() == recorder.first_generation();
    if (!first && place.p == nullptr) return;  // introduced when it starts
    if (claim(lane, woken.mark, GoStatus::kWaiting) != 0) {
      word = current_word(lane, woken.mark, woken.id);
    } else {
      if (first) {
        put(lane, Event::kGoStatus, woken.id, format::kNone, bits(GoStatus::kWaiting));
      } else {
        put(lane, Event::kGoCreateBlocked, woken.id, 0, 0);
      }
      word = Word::make(lane.generation(), 0, bits(GoStatus::kWaiting));
    }
  }
  // After a gap readers believe it to be runnable already.
  if (WEFT_UNLIKELY(Word::state(word) == bits(GoStatus::kRunnable))) {
    woken.mark->word.store_relaxed(word);
    return;
  }
  if (WEFT_UNLIKELY(Word::state(word) != bits(GoStatus::kWaiting))) {
    recorder.suspend_inconsistent(lane, "a goroutine is unblocked that runs");
    return;
  }
  const std::uint64_t sequence = Word::sequence(word) + 1;
  put(lane, Event::kGoUnblock, woken.id, sequence, stack_of(lane, place));
  woken.mark->word.store_relaxed(Word::make(lane.generation(), sequence, bits(GoStatus::kRunnable)));
}

void go_label(const Place& place, const char* text, std::size_t length) noexcept {
  if (!has_both(place)) return;
  Section section;
  if (!section || !sync(section.lane(), place)) return;
  put(section.lane(), Event::kGoLabel, recorder.tables(section.lane()).string({text, length}));
}

// --- calls ---

namespace {

void begin_call(Lane& lane, const Place& place) noexcept {
  base::Atom<std::uint64_t>& p_word = lane.known.p()->word;
  const std::uint64_t sequence = Word::sequence(p_word.load_relaxed()) + 1;
  put(lane, Event::kGoSyscallBegin, sequence, stack_of(lane, place));
  lane.p_word = Word::make(lane.generation(), sequence, bits(ProcStatus::kSyscall));
  p_word.store_relaxed(lane.p_word);
  lane.known.g()->word.store_relaxed(Word::with_state(lane.known.g()->word.load_relaxed(), bits(GoStatus::kSyscall)));
  lane.known.begin_call();
}

}  // namespace

void call_begin(const Place& place) noexcept {
  Section section;
  if (section && sync(section.lane(), place)) begin_call(section.lane(), place);
}

void exile_begin(const Place& place, Reason mark) noexcept {
  Section section;
  if (!section || !sync(section.lane(), place)) return;
  put(section.lane(), Event::kUserLog, 0, reason_string(mark), 0, 0);
  begin_call(section.lane(), place);
}

void call_end(const Place& place, const Other& who) noexcept {
  Section section;
  if (!section) return;
  Lane& lane = section.lane();
  if (in_call(lane, who)) {
    if (lane.known.p_in_call() && lane.known.p() == place.p && place.p->word.load_relaxed() == lane.p_word) {
      put(lane, Event::kGoSyscallEnd);
      place.p->word.store_relaxed(Word::with_state(lane.p_word, bits(ProcStatus::kRunning)));
      lane.known.end_call();
      lane.known.g()->word.store_relaxed(
          Word::with_state(lane.known.g()->word.load_relaxed(), bits(GoStatus::kRunning)));
      return;
    }
    put(lane, Event::kGoSyscallEndBlocked);
    leave_goroutine(lane, GoStatus::kRunnable);
  }
  if (!sync(lane, place)) return;  // perhaps the call began before the session
  run_goroutine(lane, who.mark, who.id, nullptr);
}

void call_end_without(const Other& who) noexcept {
  Section section;
  if (!section) return;
  Lane& lane = section.lane();
  if (in_call(lane, who)) {
    forget_taken_processor(lane);
    put(lane, Event::kGoSyscallEndBlocked);
    leave_goroutine(lane, GoStatus::kRunnable);
  } else if (lane.generation() == recorder.first_generation() && claim(lane, who.mark, GoStatus::kRunnable) == 0) {
    put(lane, Event::kGoStatus, who.id, format::kNone, bits(GoStatus::kRunnable));
  }
}

// --- samples ---

void cpu_sample(const Place& place) noexcept {
  if (!recorder.is_on()) return;
  recorder.samples().add(recorder.now_in_session(), static_cast<std::uint64_t>(os::thread_id()),
                         place.p != nullptr ? place.p_id : format::kNone, place.g_id, place.pcs, place.pc_count);
}

// --- processors ---

void proc_start(const Place& place) noexcept {
  Section section;
  if (!section) return;
  Lane& lane = section.lane();
  forget_taken_processor(lane);  // coming out of a call: the goroutine stays in it until the call's end is recorded
  have_processor(lane, place.p, place.p_id);
}

void proc_stop(const Place& place) noexcept {
  Section section;
  if (!section || !sync(section.lane(), place)) return;
  Lane& lane = section.lane();
  if (lane.known.g() != nullptr) {
    put(lane, Event::kGoStop, 0, 0);
    leave_goroutine(lane, GoStatus::kRunnable);
  }
  stop_processor(lane);
}

void procs_change(const Place& place, std::uint64_t count) noexcept {
  if (!has_both(place)) return;
  Section section;
  if (!section || !sync(section.lane(), place)) return;
  put(section.lane(), Event::kProcsChange, count, stack_of(section.lane(), place));
}

void* StealSection::begin() noexcept { return recorder.enter(); }
void StealSection::end(void* lane) noexcept { recorder.leave(*static_cast<Lane*>(lane)); }

void StealSection::write(void* raw, Mark* p, std::uint64_t p_id, std::uint64_t from_thread) noexcept {
  Lane& lane = *static_cast<Lane*>(raw);
  std::uint64_t word = p->word.load_acquire();  // pairs: trace.mark
  for (;;) {
    const bool known = recorder.is_known(word);
    if (known && Word::generation(word) > lane.generation()) {
      // The thread in the call has already written the P's status in a newer generation. This event belongs after that.
      if (!recorder.follow(lane)) return;
      continue;
    }
    if (known && Word::state(word) != bits(ProcStatus::kSyscall)) {
      // After a gap the P counts as idle until an M starts it.
      if (Word::state(word) != bits(ProcStatus::kIdle))
        recorder.suspend_inconsistent(lane, "a P is taken from no call");
      return;
    }
    const bool current = known && Word::generation(word) == lane.generation();
    const std::uint64_t sequence = current ? Word::sequence(word) + 1 : 1;
    // The thread in the call may be writing the P's status for this generation just now.
    if (!p->word.cas_acq_rel(word, Word::make(lane.generation(), sequence, bits(ProcStatus::kIdle))))
      continue;  // pairs: trace.mark
    if (!current) put(lane, Event::kProcStatus, p_id, bits(ProcStatus::kSyscallAbandoned));
    put(lane, Event::kProcSteal, p_id, sequence, from_thread);
    if (lane.known.p() == p) lane.known.forget_p();  // this thread took its own P
    return;
  }
}

// --- the world ---

namespace {
// The stop whose begin is recorded and whose end is not. Only the goroutine that stops the world uses them,
// one at a time.
std::uint32_t stop_session = 0;
std::uint64_t stop_goroutine = 0;
}  // namespace

void world_stopping(const Place& place, Reason kind) noexcept {
  if (!has_both(place)) return;
  Section section;
  if (!section || !sync(section.lane(), place)) return;
  if (stop_session == recorder.first_generation()) return;  // an earlier stop is still open: its end fell into a gap
  put(section.lane(), Event::kStwBegin, reason_string(kind), stack_of(section.lane(), place));
  stop_session = recorder.first_generation();
  stop_goroutine = place.g_id;
}

void world_started(const Place& place) noexcept {
  if (!has_both(place)) return;
  Section section;
  if (!section || stop_session != recorder.first_generation() || stop_goroutine != place.g_id) return;
  if (!sync(section.lane(), place)) return;
  put(section.lane(), Event::kStwEnd);
  stop_session = 0;
}

// --- annotations ---

void task_begin(const Place& place, std::uint64_t task, std::uint64_t parent, const char* name,
                std::size_t length) noexcept {
  if (!has_both(place)) return;
  Section section;
  if (!section || !sync(section.lane(), place)) return;
  Lane& lane = section.lane();
  put(lane, Event::kUserTaskBegin, task, parent, recorder.tables(lane).string({name, length}), stack_of(lane, place));
}

void task_end(const Place& place, std::uint64_t task) noexcept {
  if (!has_both(place)) return;
  Section section;
  if (!section || !sync(section.lane(), place)) return;
  put(section.lane(), Event::kUserTaskEnd, task, stack_of(section.lane(), place));
}

std::uint32_t region_begin(const Place& place, std::uint64_t task, const char* name, std::size_t length) noexcept {
  if (!has_both(place)) return 0;
  Section section;
  if (!section || !sync(section.lane(), place)) return 0;
  Lane& lane = section.lane();
  put(lane, Event::kUserRegionBegin, task, recorder.tables(lane).string({name, length}), stack_of(lane, place));
  return recorder.epoch();
}

void region_end(const Place& place, std::uint32_t begun, std::uint64_t task, const char* name,
                std::size_t length) noexcept {
  if (!has_both(place)) return;
  Section section;
  if (!section || begun != recorder.epoch() || !sync(section.lane(), place)) return;
  Lane& lane = section.lane();
  put(lane, Event::kUserRegionEnd, task, recorder.tables(lane).string({name, length}), stack_of(lane, place));
}

void user_log(const Place& place, std::uint64_t task, const char* key, std::size_t key_length, const char* text,
              std::size_t text_length) noexcept {
  if (!has_both(place)) return;
  Section section;
  if (!section || !sync(section.lane(), place)) return;
  Lane& lane = section.lane();
  Tables& tables = recorder.tables(lane);
  put(lane, Event::kUserLog, task, tables.string({key, key_length}), tables.string({text, text_length}),
      stack_of(lane, place));
}

}  // namespace weft::trace
