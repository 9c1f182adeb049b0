// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/clock.h"
#include "os/current.h"
#include "os/spin_lock.h"
#include "trace/cpu_samples.h"
#include "trace/finished_generation.h"
#include "trace/lane.h"
#include "trace/tables.h"

// The recording side: each thread writes events into a lane of its own. A session is divided into generations.
//   Section     The thread makes its lane's section number odd, then reads the generation. What it writes in the
//               section belongs to that generation. The collector raises the generation, makes every thread pass a
//               barrier, and waits until each lane's number is even or has changed. From then on no thread writes the
//               old generation. The collector's barrier spares the recording thread a fence between its store and its
//               load, which would take 2 ns of an event's 13 or more (os/process_barrier.h; kNeedsFence where the
//               kernel has no such barrier). Numbers are made odd by plain stores: a collector that reads a later odd
//               number also sees what was written before it, because both are stores to the same word.
//   Causality   An event is written before the change it describes becomes visible (emit.h), and the generation only
//               grows. So whatever depends on an event is recorded in the same generation or a later one. For the same
//               reason a trace stays valid when recording stops, or is suspended for lack of memory (kSuspended): what
//               was written is closed under "happened before".
//   Beginning   The world is not stopped. A goroutine or P is introduced where a thread first meets it: by a status in
//               the session's first generation; in later ones a goroutine is introduced as created. A change that was
//               under way when the session began is not recorded. The next event then finds a state other than the
//               remembered one, and sync() writes what lies between.
//   Status      Sequence numbers start again in each generation, so a goroutine's or P's first event in a generation is
//               preceded by its status.
//   Gaps        While kSuspended is set no thread writes. So after a generation that ended with it the lanes are the
//               collector's.
//   Rejected    Stopping the world at the start, because a goroutine that computes would hold it up. A list of all
//               goroutines in each generation, because a million of them take 8 MB a second.
namespace weft::trace {

class Recorder {
 public:
  static constexpr std::size_t kDefaultLimit = 128 * 1024 * 1024;

  // --- threads ---
  Lane* enter() noexcept;  // null: not recording now
  void leave(Lane& lane) noexcept {
    lane.section.bump_release();  // pairs: lane.section
  }
  // The fast path of enter(): continues in the lane's generation. False: ask enter().
  bool try_enter(Lane& own_lane) noexcept;
  // In a section: continues in the newest generation. That is at most the next one,
  // because the collector waits for this lane.
  bool follow(Lane& lane) noexcept;
  std::uint32_t first_generation() const noexcept { return first_generation_.load_relaxed(); }
  bool is_known(std::uint64_t word) const noexcept { return Word::generation(word) >= first_generation(); }
  Tables& tables(const Lane& lane) noexcept { return *tables_[lane.generation() & 1]; }

  // In a section: nothing more is recorded until the collector has made room.
  void suspend(Lane& lane) noexcept;
  // suspend() because an event contradicts what was recorded before. It is counted, because that is a bug.
  void suspend_inconsistent(Lane& lane, const char* what) noexcept;
  // Changes with each session and each gap. A region that begins in one epoch and ends in another is left out.
  std::uint32_t epoch() const noexcept { return epoch_.load_relaxed(); }

  std::uint64_t inconsistencies() const noexcept { return inconsistencies_.load_relaxed(); }
  const char* last_inconsistency() const noexcept { return last_inconsistency_.load_relaxed(); }

  // Events lost in this trace so far, reported once after each gap. 0: nothing to report.
  std::uint64_t take_loss_report() noexcept {
    if (WEFT_LIKELY((state_.load_relaxed() & kLossToReport) == 0)) return 0;
    return (state_.fetch_and_relaxed(~kLossToReport) & kLossToReport) != 0 ? loss_report_.load_relaxed() : 0;
  }

  // --- collector ---
  void prepare(const std::vector<std::string>& fixed_strings);  // once
  // At most kDefaultLimit: an object's sequence numbers in one generation suffice for that much.
  void set_limit(std::size_t bytes) noexcept { limit_ = bytes; }
  void begin_session() noexcept;
  bool is_suspended() const noexcept { return (state_.load_relaxed() & kSuspended) != 0; }
  bool is_on() const noexcept { return generation_of(state_.load_relaxed()) != 0; }
  bool wants_collecting() const noexcept { return is_on() && (is_suspended() || has_written_much()); }
  bool has_written_much() const noexcept;
  // Ends the generation; `last`: the session too. `hurry`: the process is dying,
  // and a thread in a section may never leave it.
  FinishedGeneration end_generation(bool last, bool hurry);
  // After an allocation failed: ends the session and drops what was not handed out,
  // also by an end_generation() that threw.
  void abandon() noexcept;
  void give_buffers(Buffer* first, Buffer* last, std::size_t count) noexcept;  // a chain
  void introduce_waiting(Mark* mark, std::uint64_t seen_word, std::uint64_t id) noexcept;
  std::uint64_t lost_events() const noexcept { return lost_total_; }
  void set_doorbell(void (*ring)()) noexcept { ring_ = ring; }
  void forget_in_child() noexcept;
  CpuSamples& samples() noexcept { return samples_; }
  std::vector<std::uint64_t> threads();  // of those that have recorded something

  // Not relative to a session: most events write a difference, which does not depend on the session's start.
  static std::uint64_t time_of(std::uint64_t ticks) noexcept { return ticks >> kTimeShift; }
  static std::uint64_t now() noexcept { return time_of(os::ticks()); }
  // Relative to the session's start, never 0: for times that are written as they are.
  std::uint64_t now_in_session() const noexcept {
    const std::uint64_t base = base_time_.load_relaxed();  // read first: it is never later than now
    return now() - base;
  }
  std::uint64_t in_session(std::uint64_t time) const noexcept { return time - base_time_.load_relaxed(); }

 private:
#if defined(__x86_64__)
  static constexpr unsigned kTimeShift = 4;  // a unit is some 6 ns: differences take a byte less
#else
  static constexpr unsigned kTimeShift = 0;
#endif
  // The bits of state_ above the generation.
  static constexpr std::uint64_t kSuspended = std::uint64_t{1} << 32;     // nothing is recorded for now: there is a gap
  static constexpr std::uint64_t kLossToReport = std::uint64_t{1} << 33;  // there was a gap: report its losses
  static constexpr std::uint64_t kNeedsFence = std::uint64_t{1} << 34;    // sections begin with a full fence
  static std::uint32_t generation_of(std::uint64_t state) noexcept { return static_cast<std::uint32_t>(state); }

  struct Ending {
    std::uint32_t generation;
    std::uint32_t next;  // 0: there is none
    bool was_suspended;
    std::uint64_t time;  // of the earliest batch
  };
  Ending gather(bool last, bool hurry, FinishedGeneration& finished) noexcept;
  Lane* own_lane() noexcept;
  Lane* new_lane() noexcept;
  bool begin_generation(Lane& lane, std::uint32_t generation) noexcept;
  bool make_room(Lane& lane) noexcept;
  Buffer* take_buffer() noexcept;
  void pass_barrier(bool all_have_fences) noexcept;
  static bool wait_for_section(Lane& lane, bool hurry) noexcept;  // false: the section does not end
  static std::uint64_t measure_frequency() noexcept;
  void resume(std::uint32_t generation) noexcept;
  void close_context(Lane& lane) noexcept;

  // The generation (0: off) and the bits above it.
  alignas(base::kCacheLine) base::Atom<std::uint64_t> state_{0};
  // Atomic because a handler that takes a CPU sample may read it while the next session begins.
  base::Atom<std::uint64_t> base_time_{0};
  base::Atom<std::uint32_t> first_generation_{0};
  base::Atom<std::uint32_t> epoch_{0};
  base::Atom<std::uint64_t> loss_report_{0};
  base::Atom<std::uint64_t> inconsistencies_{0};
  base::Atom<const char*> last_inconsistency_{nullptr};
  std::uint32_t last_generation_ = 0;
  std::uint64_t frequency_ = 0;  // time units per second
  Tables* tables_[2] = {};       // made by prepare(), never destroyed: threads record until the process is gone

  CpuSamples samples_;

  alignas(base::kCacheLine) os::SpinLock lanes_lock_;  // not on the cache line that every event reads
  Lane* first_lane_ = nullptr;  // in order of creation: two threads may have had the same id one after the other
  Lane* last_lane_ = nullptr;
  Lane* free_lanes_ = nullptr;

  os::SpinLock buffers_lock_;
  Buffer* free_buffers_ = nullptr;
  base::Atom<std::size_t> buffers_in_use_{0};
  std::size_t buffers_made_ = 0;
  std::size_t limit_ = kDefaultLimit;
  std::uint64_t lost_total_ = 0;
  void (*ring_)() = [] {};
};

extern __attribute__((visibility("hidden"))) constinit Recorder recorder;

inline bool Recorder::try_enter(Lane& lane) noexcept {
  if (WEFT_UNLIKELY(lane.section.load_acquire() % 2 != 0)) return false;  // pairs: lane.section
  lane.section.bump();
  base::compiler_fence();
  // Equal: no bit above the generation is set, and the lane's generation is still the newest. In a gap the collector
  // may be writing the lane's generation, but then kSuspended is set and the comparison fails.
  const std::uint64_t state = state_.load_acquire();  // pairs: trace.generation
  if (WEFT_LIKELY(state == lane.generation())) return true;
  leave(lane);
  return false;
}

// One section of the calling thread. False: not recording.
class Section {
 public:
  Section() noexcept : lane_(recorder.enter()) {}
  ~Section() {
    if (lane_ != nullptr) recorder.leave(*lane_);
  }
  Section(const Section&) = delete;
  explicit operator bool() const noexcept { return lane_ != nullptr; }
  Lane& lane() noexcept { return *lane_; }

 private:
  Lane* lane_;
};

// Appends one event; enter() has made room for kSectionEvents of them.
inline constexpr std::size_t kSectionEvents = 10;
template <class... Numbers>
inline void put(Lane& lane, format::Event event, Numbers... numbers) noexcept {
  Lane::Written& written = lane.open();
  unsigned char* at = written.at;
  *at++ = static_cast<unsigned char>(event);
  at = format::put_varint(at, lane.time - lane.last_time);
  lane.last_time = lane.time;
  ((at = format::put_varint(at, static_cast<std::uint64_t>(numbers))), ...);
  written.at = at;
}

}  // namespace weft::trace
