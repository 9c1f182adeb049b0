// SPDX-License-Identifier: MIT
#include "trace/recorder.h"

#include <sched.h>
#include <algorithm>
#include <new>

#include "os/clock.h"
#include "os/keep_errno.h"
#include "os/memory.h"
#include "os/process_barrier.h"
#include "os/thread.h"
#include "trace/batch.h"

namespace weft::trace {

using format::Event;
using format::GoStatus;
using format::ProcStatus;

constinit base::Atom<std::uint32_t> recording_flag{0};
constinit Recorder recorder;

namespace {

constexpr std::size_t kSectionBytes = kSectionEvents * format::kMaxTimedEvent;
// A generation ends early when this much has been written. The collector then writes it to the file while the threads
// record the next one, and buffers are reused while they are still in the CPU's caches.
constexpr std::size_t kGenerationBytes = 2 * 1024 * 1024;
// How long to wait for a section of a dying process: its thread may be waiting for a CPU, or be the one that crashed.
constexpr std::int64_t kDyingSectionNs = 500'000'000;

// An event with a sequence number takes at least four bytes: type, time, the number, and one more argument.
static_assert(Recorder::kDefaultLimit / 4 <= Word::kSequences);

thread_local constinit bool thread_ended = false;

// Ends the lane with its thread. The lane is reused once the collector has emptied it.
struct LaneOwner {
  bool armed = false;
  WEFT_OF_THE_THREAD ~LaneOwner() {
    Lane* lane = os::current_lane();
    if (lane != nullptr) lane->ended.store_release(true);  // pairs: lane.ended
    os::set_current_lane(nullptr);
    thread_ended = true;
  }
};
// lazy: an M touches it when it starts (prepare_thread), a plain thread at its first event. Signal handlers record only
// CPU samples, which have no lane.
thread_local LaneOwner lane_owner;

}  // namespace

// The first access to lane_owner registers its destructor.
WEFT_OF_THE_THREAD void prepare_thread() noexcept { lane_owner.armed = true; }

// --- lanes ---

WEFT_OF_THE_THREAD Lane* Recorder::own_lane() noexcept {
  if (Lane* known = os::current_lane(); WEFT_LIKELY(known != nullptr)) return known;
  if (thread_ended) return nullptr;  // destructors of thread_locals that use weft: such events are not recorded
  Lane* lane = new_lane();
  if (lane == nullptr) return nullptr;
  prepare_thread();
  os::set_current_lane(lane);
  return lane;
}

Lane* Recorder::new_lane() noexcept {
  const os::KeepErrno keep;
  lanes_lock_.lock_unranked();
  Lane* lane = free_lanes_;
  if (lane != nullptr) free_lanes_ = lane->next;
  lanes_lock_.unlock_unranked();
  if (lane == nullptr) {
    void* memory = os::reserve_permanent_memory(sizeof(Lane), "weft trace lane");
    if (memory == nullptr) return nullptr;
    lane = new (memory) Lane;
  } else {
    lane->ended.store_relaxed(false);
    lane->go_on_in(0);
    lane->last_time = 0;
    lane->known.forget();
  }
  lane->thread = static_cast<std::uint64_t>(os::thread_id());  // before the collector can see the lane
  lanes_lock_.lock_unranked();
  lane->next = nullptr;
  if (last_lane_ != nullptr) {
    last_lane_->next = lane;
  } else {
    first_lane_ = lane;
  }
  last_lane_ = lane;
  lanes_lock_.unlock_unranked();
  return lane;
}

Lane* Recorder::enter() noexcept {
  Lane* lane = own_lane();
  if (WEFT_UNLIKELY(lane == nullptr)) {
    if (is_on()) state_.fetch_or_relaxed(kSuspended);
    return nullptr;
  }
  const std::uint32_t section = lane->section.load_acquire();  // pairs: lane.section
  if (WEFT_UNLIKELY(section % 2 != 0)) {
    // This is a signal handler that interrupted a section: its event is lost, and the trace has a gap.
    state_.fetch_or_relaxed(kSuspended);
    return nullptr;
  }
  lane->section.store_relaxed(section + 1);
  base::compiler_fence();
  std::uint64_t state = state_.load_acquire();  // pairs: trace.generation
  if (WEFT_UNLIKELY((state & kNeedsFence) != 0)) {
    base::full_fence();             // pairs: trace.barrier
    state = state_.load_acquire();  // pairs: trace.generation
  }
  const std::uint32_t generation = generation_of(state);
  if (WEFT_LIKELY(generation != 0)) {
    if (WEFT_LIKELY((state & kSuspended) == 0)) {  // set before anything that depends on the lost event was published
      lane->time = std::max(now(), lane->last_time);
      if (WEFT_LIKELY(lane->generation() == generation) ? WEFT_LIKELY(make_room(*lane))
                                                      : begin_generation(*lane, generation))
        return lane;
    }
    lane->lost.bump();
  }
  leave(*lane);
  return nullptr;
}

bool Recorder::make_room(Lane& lane) noexcept {
  Lane::Written& written = lane.open();
  if (WEFT_LIKELY(written.at < written.limit)) return true;
  Buffer* buffer = take_buffer();
  if (buffer == nullptr) {
    state_.fetch_or_relaxed(kSuspended);
    return false;
  }
  buffer->next = nullptr;
  buffer->time = in_session(lane.time);
  lane.last_time = lane.time;
  written.close_last();
  if (written.last != nullptr) {
    written.last->next = buffer;
  } else {
    written.first = buffer;
  }
  written.last = buffer;
  written.at = buffer->data;
  written.limit = buffer->data + sizeof buffer->data - kSectionBytes;
  return true;
}

// Writes the statuses of this thread's P and goroutine; all others are introduced when they are met.
bool Recorder::begin_generation(Lane& lane, std::uint32_t generation) noexcept {
  const std::uint32_t before = lane.generation();
  lane.go_on_in(generation);
  if (!make_room(lane)) {
    lane.go_on_in(before);
    return false;
  }
  if (before < first_generation()) {  // another session: nothing is known
    lane.known.forget();
    lane.p_was_taken = false;
    return true;
  }
  if (Mark* p = lane.known.p(); p != nullptr) {
    const std::uint8_t state =
        static_cast<std::uint8_t>(lane.known.p_in_call() ? ProcStatus::kSyscall : ProcStatus::kRunning);
    std::uint64_t expected = lane.p_word;
    const std::uint64_t fresh = Word::make(generation, 0, state);
    if (!lane.known.p_in_call()) {
      p->word.store_relaxed(fresh);
      put(lane, Event::kProcStatus, lane.p_id, state);
    } else if (p->word.cas_acq_rel(expected, fresh)) {  // pairs: trace.mark
      lane.p_word = fresh;
      put(lane, Event::kProcStatus, lane.p_id, state);
    } else {
      lane.known.forget_p();  // taken away meanwhile: the M that took it has recorded so
      lane.p_was_taken = true;
    }
  }
  if (lane.known.g() != nullptr) {
    const auto state = static_cast<std::uint8_t>(lane.g_status());
    if (lane.g_is_still_there()) lane.known.g()->word.store_relaxed(Word::make(generation, 0, state));
    put(lane, Event::kGoStatus, lane.g_id, lane.thread, state);
  }
  return true;
}

bool Recorder::follow(Lane& lane) noexcept {
  const std::uint64_t state = state_.load_acquire();  // pairs: trace.generation
  if (generation_of(state) != 0 && (state & kSuspended) == 0 && begin_generation(lane, generation_of(state)))
    return true;
  lane.lost.bump();
  return false;
}

void Recorder::suspend(Lane& lane) noexcept {
  state_.fetch_or_relaxed(kSuspended);
  lane.lost.bump();
  const os::KeepErrno keep;
  ring_();
}

void Recorder::suspend_inconsistent(Lane& lane, const char* what) noexcept {
  inconsistencies_.fetch_add_relaxed(1);
  last_inconsistency_.store_relaxed(what);
  suspend(lane);
}

// --- buffers ---

Buffer* Recorder::take_buffer() noexcept {
  const os::KeepErrno keep;
  buffers_lock_.lock_unranked();
  Buffer* buffer = free_buffers_;
  std::size_t in_use = buffers_in_use_.load_relaxed();
  if (buffer != nullptr) {
    free_buffers_ = buffer->next;
  } else if ((buffers_made_ + 1) * Buffer::kBytes <= limit_) {
    void* memory = os::reserve_permanent_memory(sizeof(Buffer), "weft trace buffer");
    if (memory != nullptr) {
      buffer = new (memory) Buffer;
      ++buffers_made_;
    }
  }
  if (buffer != nullptr) buffers_in_use_.store_relaxed(++in_use);
  buffers_lock_.unlock_unranked();
  if (buffer == nullptr || in_use * Buffer::kBytes == kGenerationBytes) ring_();
  return buffer;
}

void Recorder::give_buffers(Buffer* first, Buffer* last, std::size_t count) noexcept {
  buffers_lock_.lock_unranked();
  last->next = free_buffers_;
  free_buffers_ = first;
  buffers_in_use_.store_relaxed(buffers_in_use_.load_relaxed() - count);
  buffers_lock_.unlock_unranked();
}

// --- collector ---

// Two samples far enough apart for a frequency that is right to 1e-5: one number holds for the whole file.
std::uint64_t Recorder::measure_frequency() noexcept {
  const std::int64_t from_ns = os::now_ns();
  const std::uint64_t from = os::ticks();
  timespec pause{0, 5'000'000};
  while (nanosleep(&pause, &pause) != 0) {
  }
  const std::int64_t to_ns = os::now_ns();
  const std::uint64_t to = os::ticks();
  const auto per_second =
      static_cast<__uint128_t>(to - from) * 1'000'000'000u / static_cast<std::uint64_t>(to_ns - from_ns);
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(per_second >> kTimeShift), 1);
}

void Recorder::prepare(const std::vector<std::string>& fixed_strings) {
  if (frequency_ != 0) return;
  for (Tables*& tables : tables_) {
    tables = new Tables;
    tables->fix_strings(fixed_strings);
  }
  frequency_ = measure_frequency();
}

void Recorder::begin_session() noexcept {
  base_time_.store_relaxed(now() - 1);  // no time is 0
  lost_total_ = 0;
  loss_report_.store_relaxed(0);
  epoch_.bump();
  first_generation_.store_relaxed(++last_generation_);
  const std::uint64_t fence = os::enable_process_barrier() ? 0 : kNeedsFence;
  state_.store_release(last_generation_ | fence);  // pairs: trace.generation
  recording_flag.store_relaxed(1);                 // a thread that sees it late is met later
}

bool Recorder::has_written_much() const noexcept {
  return buffers_in_use_.load_relaxed() * Buffer::kBytes >= kGenerationBytes ||
         tables_[generation_of(state_.load_relaxed()) & 1]->is_half_full();
}

// Afterwards every thread is in a section whose odd number the collector sees, or will read the new state.
void Recorder::pass_barrier(bool all_have_fences) noexcept {
  base::full_fence();  // pairs: trace.barrier
  if (all_have_fences || os::process_barrier()) return;
  // The kernel's barrier was forbidden in the middle of a session: there are still sections without a fence.
  if (is_on()) state_.fetch_or_relaxed(kNeedsFence);
  os::wait_instead_of_barrier();
}

bool Recorder::wait_for_section(Lane& lane, bool hurry) noexcept {
  const std::uint32_t section = lane.section.load_acquire();  // pairs: lane.section
  if (section % 2 == 0) return true;
  const std::int64_t limit = hurry ? os::now_ns() + kDyingSectionNs : os::kForever;
  while (lane.section.load_acquire() == section) {  // pairs: lane.section
    if (hurry && os::now_ns() > limit) return false;
    sched_yield();
  }
  return true;
}

// Begins the next generation. All that was written in the one before is in `finished`.
Recorder::Ending Recorder::gather(bool last, bool hurry, FinishedGeneration& finished) noexcept {
  const std::uint32_t next = last ? 0 : ++last_generation_;
  if (last) recording_flag.store_relaxed(0);
  std::uint64_t state = state_.load_relaxed();
  const auto following = [&] { return last ? 0 : next | (state & ~std::uint64_t{UINT32_MAX}); };
  while (!state_.cas_acq_rel(state, following())) {  // pairs: trace.generation
  }
  const std::uint32_t ending = generation_of(state);
  pass_barrier((state & kNeedsFence) != 0);

  // A lane created from now on reads the new generation. Lanes are added at the list's end,
  // and only this function removes them.
  lanes_lock_.lock_unranked();
  Lane* lane = first_lane_;
  lanes_lock_.unlock_unranked();
  std::uint64_t time = now_in_session();
  Lane* previous = nullptr;
  while (lane != nullptr) {
    const bool is_closed = wait_for_section(*lane, hurry);
    Lane::Written& written = lane->written[ending & 1];
    written.close_last();
    for (const Buffer* buffer = written.first; buffer != nullptr; buffer = buffer->next)
      if (buffer->used != 0) time = std::min(time, buffer->time);
    finished.add(written.first, ending, lane->thread);
    // Otherwise the thread died in its section: its complete events count. Should it live after all,
    // it goes on in its buffer.
    if (is_closed) written = {};
    const std::uint64_t lost = lane->lost.load_relaxed();
    lost_total_ += lost - lane->lost_counted;
    lane->lost_counted = lost;
    const bool is_free = lane->ended.load_acquire() && lane->written[next & 1].first == nullptr;  // pairs: lane.ended
    lanes_lock_.lock_unranked();
    Lane* following_lane = lane->next;
    if (is_free) {
      (previous != nullptr ? previous->next : first_lane_) = following_lane;
      if (last_lane_ == lane) last_lane_ = previous;
      lane->next = free_lanes_;
      free_lanes_ = lane;
    } else {
      previous = lane;
    }
    lanes_lock_.unlock_unranked();
    lane = following_lane;
  }
  return {ending, next, (state & kSuspended) != 0, time};
}

FinishedGeneration Recorder::end_generation(bool last, bool hurry) {
  FinishedGeneration finished;
  const auto [ending, next, was_suspended, time] = gather(last, hurry, finished);
  std::string& out = finished.tables();
  samples_.write(ending, time, *tables_[ending & 1], out);
  tables_[ending & 1]->write_and_clear(ending, time, out);
  std::string frequency(1, static_cast<char>(Event::kFrequency));
  append_number(frequency, frequency_);
  append_batch(out, ending, format::kNone, time, frequency);
  if (was_suspended && next != 0) {
    finished.copy_and_let_go();  // the gap may be due to a lack of buffers
    resume(next);
  }
  return finished;
}

void Recorder::abandon() noexcept {
  FinishedGeneration forgotten;
  if (is_on()) gather(true, false, forgotten);
  for (Tables* tables : tables_) tables->clear();
  samples_.forget();
}

// Ends a gap, in which no thread writes. Stops every P and goroutine that readers believe to be running, and empties
// what is known of each lane's place.
void Recorder::resume(std::uint32_t generation) noexcept {
  lanes_lock_.lock_unranked();
  Lane* lane = first_lane_;
  lanes_lock_.unlock_unranked();
  bool all_closed = true;
  while (lane != nullptr) {
    if (lane->generation() >= first_generation() && (lane->known.p() != nullptr || lane->known.g() != nullptr)) {
      lane->time = std::max(now(), lane->last_time);
      if (lane->generation() == generation ? make_room(*lane) : begin_generation(*lane, generation)) {
        close_context(*lane);
      } else {
        all_closed = false;
      }
    }
    lanes_lock_.lock_unranked();
    lane = lane->next;
    lanes_lock_.unlock_unranked();
  }
  if (!all_closed) return;  // no memory even for that: the next generation tries again
  loss_report_.store_relaxed(lost_total_ == 0 ? 1 : lost_total_);
  epoch_.bump();
  // A thread that sets kSuspended from now on begins a new gap.
  std::uint64_t state = state_.load_relaxed();
  while (!state_.cas_acq_rel(state, (state & ~kSuspended) | kLossToReport)) {  // pairs: trace.generation
  }
}

void Recorder::close_context(Lane& lane) noexcept {
  const auto idle = static_cast<std::uint8_t>(ProcStatus::kIdle),
             runnable = static_cast<std::uint8_t>(GoStatus::kRunnable);
  const bool in_call = lane.known.g() != nullptr && lane.known.g_in_call();
  if (lane.known.g() != nullptr && !in_call) put(lane, Event::kGoStop, 0, 0);
  // begin_generation() has found out whether the P is still this thread's, and no thread records now.
  if (Mark* p = lane.known.p(); p != nullptr) {
    put(lane, Event::kProcStop);
    p->word.store_relaxed(Word::with_state(p->word.load_relaxed(), idle));
  }
  if (in_call) put(lane, Event::kGoSyscallEndBlocked);
  if (lane.known.g() != nullptr && lane.g_is_still_there())
    lane.known.g()->word.store_relaxed(Word::with_state(lane.known.g()->word.load_relaxed(), runnable));
  lane.known.forget();
}

void Recorder::introduce_waiting(Mark* mark, std::uint64_t seen_word, std::uint64_t id) noexcept {
  Section section;
  if (!section || is_known(seen_word)) return;
  Lane& lane = section.lane();
  if (lane.generation() != first_generation()) return;
  const auto waiting = static_cast<std::uint8_t>(GoStatus::kWaiting);
  if (mark->word.cas_acq_rel(seen_word, Word::make(lane.generation(), 0, waiting)))  // pairs: trace.mark
    put(lane, Event::kGoStatus, id, format::kNone, waiting);
}

std::vector<std::uint64_t> Recorder::threads() {
  std::vector<std::uint64_t> found;
  found.reserve(256);  // nothing is allocated while the lock is held: threads beyond that are left out
  lanes_lock_.lock_unranked();
  for (Lane* lane = first_lane_; lane != nullptr; lane = lane->next)
    if (!lane->ended.load_relaxed() && found.size() < found.capacity()) found.push_back(lane->thread);
  lanes_lock_.unlock_unranked();
  return found;
}

void Recorder::forget_in_child() noexcept {
  recording_flag.store_relaxed(0);
  state_.store_relaxed(0);
}

}  // namespace weft::trace
