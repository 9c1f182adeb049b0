// SPDX-License-Identifier: MIT
#include "profile/cpu_profiler.h"

#include <dirent.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>

#include "arch/interrupted_frame.h"
#include "os/backtrace.h"
#include "os/clock.h"
#include "os/cpu_timer.h"
#include "os/linker_code.h"
#include "os/note.h"
#include "os/thread.h"
#include "os/unwind_lock.h"
#include "os/unwinder_code.h"
#include "profile/cpu_ring.h"
#include "profile/pprof.h"
#include "profile/spawn_site.h"
#include "sched/frames/runtime_text.h"
#include "sched/frames/unwinding.h"
#include "sched/model/goroutine.h"
#include "sched/model/machine.h"
#include "sched/state/locals.h"

namespace weft::profile {
namespace {

constexpr std::int64_t kLookNs = 20'000'000;
constexpr std::size_t kThreadStack = 256 * 1024;

constinit CpuRing ring;
constinit CpuSetup setup{};
constinit base::Atom<bool> active{false};
constinit char timer_mark = 0;

// --- the handler ---

// Null: the thread is not on its goroutine's stack, or another thread may have the goroutine already.
const sched::Goroutine* goroutine_here(const void* ucontext) noexcept {
  const sched::Goroutine* g = os::current_g();
  const void* sp = arch::stack_pointer_of(ucontext);
  const bool is_ours = g != nullptr && sp > g->stack_bottom && sp < static_cast<const void*>(g) &&
                       g->sp.load_relaxed() == nullptr;
  return is_ours ? g : nullptr;
}

void note_goroutine(CpuSample& sample, const sched::Goroutine* g) noexcept {
  sample.on_goroutine = true;
  sample.site = g->site;
  if (const std::string* name = g->name) {
    sample.name_length = static_cast<std::uint8_t>(std::min(name->size(), CpuSample::kName));
    std::memcpy(sample.name, name->data(), sample.name_length);
  }
  if (const sched::Locals* locals = g->locals) sample.labels = locals->labels.share();
}

// By the unwind tables, from the user's and other libraries' code only: the scheduler's switches have no entries there.
// The handler's own frames come first; the stack proper begins with the interrupted instruction.
void unwind(CpuSample& sample, const void* pc) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(pc);
  if (sched::in_runtime(address) || os::is_unwinder_code(address, 0) || os::is_linker_code(address) ||
      !os::may_unwind_in_handler(os::thread_id()))
    return;
  const sched::Unwinding unwinding;
  if (!unwinding.allowed()) return;
  void* all[CpuSample::kFrames];
  const std::size_t count = os::capture_backtrace(all, CpuSample::kFrames, 0);
  void** const end = all + count;
  void** const begin = std::find(all, end, const_cast<void*>(pc));
  if (static_cast<std::size_t>(end - begin) <= sample.count) return;
  sample.count = static_cast<std::size_t>(end - begin);
  std::copy(begin, end, sample.pcs);
}

void walk(CpuSample& sample, const sched::Goroutine* g, const void* ucontext) noexcept {
  const arch::InterruptedFrame frame = arch::interrupted_frame(ucontext);
  sample.pcs[0] = const_cast<void*>(frame.pc);
  sample.count = 1;
  if (g != nullptr)
    sample.count = os::capture_from_frame_pointer(frame.pointer, frame.pc, g->stack_bottom, g, sample.pcs,
                                                  CpuSample::kFrames);
#if defined(__x86_64__)  // elsewhere the way out of a signal handler is not certain (interrupted_frame.h)
  const bool stands_well = g != nullptr ? g->no_preempt == 0 : os::current_m() == nullptr;
  if (stands_well) unwind(sample, frame.pc);
#endif
}

// --- the profiler ---

std::vector<pid_t> threads_of_process() {
  std::vector<pid_t> found;
  DIR* directory = opendir("/proc/self/task");
  if (directory == nullptr) return found;
  while (const dirent* entry = readdir(directory))
    if (const pid_t thread = std::atoi(entry->d_name); thread > 0) found.push_back(thread);
  closedir(directory);
  return found;
}

Labels labels_of(const CpuSample& sample) {
  Labels labels;
  if (sample.labels != nullptr) labels = sample.labels->pairs();
  if (sample.name_length > 0) labels.emplace_back("goroutine", std::string(sample.name, sample.name_length));
  if (sample.on_goroutine && sample.site != 0) labels.emplace_back("spawn_site", spawn_site_text(sample.site));
  std::ranges::sort(labels);
  return labels;
}

class Profiler {
 public:
  int start(int per_second, int signal) {
    const std::lock_guard guard(lock_);
    if (profile_) return EBUSY;
    if (!ring.reserve()) return ENOMEM;
    ring.drain([](const CpuSample& late) { sched::LabelSet::release(late.labels); });
    ring.take_lost();
    profile_.emplace(std::vector<ValueType>{{"samples", "count"}, {"cpu", "nanoseconds"}});
    period_ns_ = 1'000'000'000 / per_second;
    signal_ = signal;
    profile_->set_period({"cpu", "nanoseconds"}, period_ns_);
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    began_at_ = now.tv_sec * 1'000'000'000ll + now.tv_nsec;
    began_ns_ = os::now_ns();
    active.store_release(true);  // pairs: profile.active (self)
    follow_threads();
    if (!has_thread_) {
      setup.thread_started();
      has_thread_ = os::start_thread([](void* self) { static_cast<Profiler*>(self)->run(); }, this, kThreadStack,
                                     "weft-profile") == 0;
    }
    if (!has_thread_) end_session();
    doorbell_.signal();
    return has_thread_ ? 0 : EAGAIN;
  }

  std::optional<Profile> stop() {
    const std::lock_guard guard(lock_);
    if (!profile_) return std::nullopt;
    profile_->set_time(began_at_, os::now_ns() - began_ns_);
    collect();
    return end_session();
  }

 private:
  [[noreturn]] void run() {
    os::never_hear_of(signal_);
    for (;;) {
      bool is_on;
      {
        const std::lock_guard guard(lock_);
        is_on = profile_.has_value();
        if (is_on) {
          follow_threads();
          collect();
        }
      }
      doorbell_.wait(is_on ? os::now_ns() + kLookNs : os::kForever);
    }
  }

  std::optional<Profile> end_session() {
    active.store_release(false);  // pairs: profile.active (self)
    for (const auto& [thread, timer] : timers_) os::delete_timer(timer);
    timers_.clear();
    return std::exchange(profile_, std::nullopt);
  }

  void follow_threads() {
    const std::vector<pid_t> present = threads_of_process();
    std::erase_if(timers_, [&](const auto& entry) {
      if (std::ranges::find(present, entry.first) != present.end()) return false;
      os::delete_timer(entry.second);
      return true;
    });
    for (const pid_t thread : present)
      if (!timers_.contains(thread))
        if (const int timer = os::start_cpu_timer(thread, period_ns_, signal_, &timer_mark); timer != os::kNoTimer)
          timers_.emplace(thread, timer);
  }

  void collect() {
    ring.drain([&](const CpuSample& sample) {
      SampleKey key{{sample.pcs, sample.pcs + sample.count}, labels_of(sample)};
      sched::LabelSet::release(sample.labels);
      profile_->add(key, {sample.weight, sample.weight * period_ns_});
    });
    if (const auto lost = static_cast<std::int64_t>(ring.take_lost()))
      profile_->add({{}, {{"lost", "the profiler fell behind"}}}, {lost, lost * period_ns_});
  }

  std::mutex lock_;
  os::Note doorbell_;
  bool has_thread_ = false;
  std::optional<Profile> profile_;
  std::int64_t period_ns_ = 0, began_at_ = 0, began_ns_ = 0;
  int signal_ = 0;
  std::map<pid_t, int> timers_;
};

// Never destroyed: its thread lives as long as the process.
Profiler& profiler() {
  static auto* one = new Profiler;  // lazy: first used by start_cpu_profile, never in a handler
  return *one;
}

}  // namespace

int start_cpu_profile(const CpuSetup& wanted, int per_second, int signal) {
  setup = wanted;
  return profiler().start(per_second, signal);
}

std::optional<Profile> stop_cpu_profile() { return profiler().stop(); }

void take_cpu_sample(const void* ucontext, int overrun) noexcept {
  if (!active.load_acquire()) return;  // pairs: profile.active (self)
  ring.add([&](CpuSample& sample) {
    sample.labels = nullptr;
    sample.site = 0;
    sample.weight = 1 + static_cast<std::uint32_t>(std::max(overrun, 0));
    sample.on_goroutine = false;
    sample.name_length = 0;
    const sched::Goroutine* g = goroutine_here(ucontext);
    if (g != nullptr) {
      note_goroutine(sample, g);
    } else if (os::current_m() == nullptr && setup.labels_of_thread != nullptr) {
      sample.labels = setup.labels_of_thread();
    }
    walk(sample, g, ucontext);
  });
}

void* cpu_timer_mark() noexcept { return &timer_mark; }

}  // namespace weft::profile
