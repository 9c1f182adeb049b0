// SPDX-License-Identifier: MIT
#include "trace/collector.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#include "base/check.h"
#include "os/clock.h"
#include "os/note.h"
#include "os/thread.h"
#include "trace/fixed_strings.h"
#include "trace/flight_window.h"
#include "trace/recorder.h"

namespace weft::trace {
namespace {

constexpr std::size_t kThreadStack = 1024 * 1024;  // room for the demangler's recursion

enum class Wish : std::uint8_t { kStartFile, kStopFile, kStartFlight, kStopFlight, kSnapshot, kSampleCpu };

struct Request {
  Wish wish;
  int fd = -1;
  std::int64_t window_ns = 0;
  int result = 0;
  os::Note done{};
  Request* next = nullptr;
};

enum class Thread : std::uint32_t { kNone, kStarting, kRuns };

CollectorSetup* collector_setup = nullptr;  // never destroyed
os::Note doorbell;
base::Atom<Request*> requests{nullptr};
base::Atom<Thread> thread_state{Thread::kNone};
base::Atom<pid_t> thread_id{0};
base::Atom<std::uint32_t> snapshot_wanted{0};
base::Atom<std::uint32_t> finish_wanted{0};
base::Atom<std::int64_t> generation_ns{1'000'000'000};
base::Atom<std::int64_t> sample_ns{0};  // 0: no samples
base::Atom<int> sample_signal{0};
os::Note finished;
base::Atom<std::uint64_t> generations_written{0}, bytes_written{0}, events_lost{0};
char snapshot_path[1024];
base::Atom<bool> has_snapshot_path{false};

int write_all(int fd, const std::string& bytes) noexcept {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  while (left > 0) {
    const ssize_t written = ::write(fd, at, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written == 0 ? EIO : errno;
    at += written;
    left -= static_cast<std::size_t>(written);
  }
  return 0;
}

class Collector {
 public:
  [[noreturn]] void run() {
    for (;;) {
      doorbell.wait(recorder.is_on() ? std::min(next_end_ns_, next_sample_ns()) : os::kForever);
      if (finish_wanted.load_acquire() != 0) finish_all();  // pairs: trace.finish
      serve_requests();
      if (snapshot_wanted.exchange_relaxed(0) != 0) with_memory([&] { return snapshot_to_path(), 0; });
      if (recorder.is_on() && os::now_ns() >= next_sample_ns()) sample_threads();
      if (recorder.is_on() && (os::now_ns() >= next_end_ns_ || recorder.wants_collecting())) {
        with_memory([&] { return next_generation(), 0; });
        if (recorder.has_written_much()) doorbell.signal();  // no thread will: the limit was passed while we wrote
      }
    }
  }

 private:
  // Returns an errno. A program that is short of memory loses its trace, not its life.
  template <class Step>
  int with_memory(Step step) noexcept {
    try {
      return step();
    } catch (const std::bad_alloc&) {
      recorder.abandon();
      window_.clear();
      if (fd_ >= 0) give_up_file(ENOMEM);
      if (flight_) begin_session();
      return ENOMEM;
    }
  }

  void serve_requests() {
    Request* reversed = requests.exchange_acq_rel(nullptr);  // pairs: trace.requests
    Request* first = nullptr;
    while (reversed != nullptr) {
      Request* next = reversed->next;
      reversed->next = first;
      first = reversed;
      reversed = next;
    }
    while (first != nullptr) {
      Request* next = first->next;
      first->result = with_memory([&] { return serve(*first); });
      if (first->wish == Wish::kStopFile) error_ = 0;  // it has been reported
      first->done.signal();  // the caller may destroy the request now
      first = next;
    }
  }

  int serve(const Request& request) {
    switch (request.wish) {
      case Wish::kStartFile:   return start_file_now(request.fd);
      case Wish::kStopFile:    return stop_file_now(false);
      case Wish::kStartFlight: return start_flight_now(request.window_ns);
      case Wish::kStopFlight:  return stop_flight_now();
      case Wish::kSnapshot:    return snapshot_now(request.fd, false);
      case Wish::kSampleCpu:   return recorder.samples().reserve() ? 0 : ENOMEM;
    }
    return EINVAL;
  }

  int start_file_now(int fd) {
    if (fd_ >= 0) return EALREADY;
    const int error = write_all(fd, std::string(format::kHeader123));
    if (error != 0) return error;
    if (recorder.is_on()) end_session(false);
    fd_ = fd;
    file_size_ = static_cast<std::int64_t>(format::kHeaderSize);
    error_ = 0;
    begin_session();
    return 0;
  }

  int stop_file_now(bool hurry) {
    if (fd_ < 0) return error_ != 0 ? std::exchange(error_, 0) : EINVAL;
    end_session(hurry);
    if (fd_ >= 0) close_file();
    const int error = std::exchange(error_, 0);
    if (flight_ && !hurry) begin_session();
    return error;
  }

  int start_flight_now(std::int64_t window_ns) {
    if (flight_) return EALREADY;
    flight_ = true;
    window_.set_length(window_ns);
    window_.clear();
    if (!recorder.is_on()) begin_session();
    return 0;
  }

  int stop_flight_now() {
    if (!flight_) return EINVAL;
    if (fd_ < 0) end_session(false);
    flight_ = false;
    window_.clear();
    return 0;
  }

  int snapshot_now(int fd, bool hurry) {
    if (!flight_) return EINVAL;
    if (recorder.is_on()) take(recorder.end_generation(hurry, hurry));
    plan_next_end();
    return write_all(fd, window_.snapshot());
  }

  void snapshot_to_path(bool hurry = false) {
    if (!flight_ || !has_snapshot_path.load_acquire()) return;  // pairs: trace.snapshot_path
    const int fd = ::open(snapshot_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int error = fd < 0 ? errno : snapshot_now(fd, hurry);
    if (fd >= 0 && ::close(fd) != 0 && error == 0) error = errno;
    char text[1400];
    const int length = error == 0 ? std::snprintf(text, sizeof text, "weft: flight recorder: wrote %s\n", snapshot_path)
                                  : std::snprintf(text, sizeof text, "weft: flight recorder: cannot write %s: %s\n",
                                                  snapshot_path, std::strerror(error));
    base::write_stderr(text, static_cast<std::size_t>(std::clamp<int>(length, 0, sizeof text - 1)));
  }

  void begin_session() {
    window_.clear();  // a window never spans two sessions
    recorder.begin_session();
    plan_next_end();
    if (collector_setup->for_each_waiting != nullptr)
      collector_setup->for_each_waiting(
          [](Mark* mark, std::uint64_t word, std::uint64_t id) { recorder.introduce_waiting(mark, word, id); });
  }

  void end_session(bool hurry) {
    if (recorder.is_on()) take(recorder.end_generation(true, hurry));
  }

  void next_generation() {
    take(recorder.end_generation(false, false));
    plan_next_end();
  }

  std::int64_t next_sample_ns() const {
    const std::int64_t period = sample_ns.load_relaxed();
    return period == 0 ? os::kForever : last_sample_ns_ + period;
  }

  void sample_threads() noexcept {
    last_sample_ns_ = os::now_ns();
    try {
      ask_busy_threads();
    } catch (const std::bad_alloc&) {
      cpu_used_.clear();  // no samples this time, nor the next: the CPU time used since is not known
    }
  }
  // Signals each thread that has computed for half the period since its last sample.
  void ask_busy_threads() {
    const std::int64_t enough = sample_ns.load_relaxed() / 2;
    std::map<std::uint64_t, std::int64_t> now_used;
    for (std::uint64_t thread : recorder.threads()) {
      const std::int64_t used = os::cpu_time_ns(static_cast<pid_t>(thread));
      if (used < 0) continue;  // gone
      const auto before = cpu_used_.find(thread);
      const bool asked = before != cpu_used_.end() && used - before->second >= enough;
      now_used[thread] = before == cpu_used_.end() || asked ? used : before->second;
      if (asked) os::signal_thread(static_cast<pid_t>(thread), sample_signal.load_relaxed());
    }
    cpu_used_ = std::move(now_used);
  }

  void plan_next_end() { next_end_ns_ = os::now_ns() + generation_ns.load_relaxed(); }

  // Sends a generation to the file and to the flight recorder's window.
  void take(FinishedGeneration generation) {
    events_lost.store_relaxed(recorder.lost_events());
    if (fd_ >= 0) {
      const int error = generation.write_to(fd_);
      if (error == 0) {
        file_size_ += static_cast<std::int64_t>(generation.size());
      } else {
        give_up_file(error);
      }
    }
    if (flight_) window_.add(generation.text(), os::now_ns());
    generations_written.fetch_add_relaxed(1);
    bytes_written.fetch_add_relaxed(generation.size());
  }

  // The file stays readable: it ends with the last whole generation.
  void give_up_file(int error) {
    if (::ftruncate(fd_, file_size_) != 0) {
      // A pipe, or the like: nothing to be done.
    }
    char text[256];
    const int length = std::snprintf(text, sizeof text, "weft: trace: writing failed (%s); the trace ends here\n",
                                     std::strerror(error));
    base::write_stderr(text, static_cast<std::size_t>(length));
    close_file();
    error_ = error;
    if (!flight_ && recorder.is_on()) static_cast<void>(recorder.end_generation(true, false));
  }

  void close_file() {
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) != 0 && error_ == 0) error_ = errno;
  }

  void finish_all() {
    const bool crash = finish_wanted.load_relaxed() == 1 + static_cast<std::uint32_t>(Ending::kCrash);
    if (crash) {
      with_memory([&] { return snapshot_to_path(true), 0; });
      if (fd_ >= 0 && !recorder.is_on())
        close_file();  // the snapshot has ended the session and written the file's last part
    }
    if (fd_ >= 0) with_memory([&] { return stop_file_now(true); });
    finish_wanted.store_relaxed(0);
    finished.signal();
  }

  int fd_ = -1;
  int error_ = 0;
  std::int64_t file_size_ = 0;
  bool flight_ = false;
  FlightWindow window_;
  std::int64_t next_end_ns_ = os::kForever;
  std::int64_t last_sample_ns_ = 0;
  std::map<std::uint64_t, std::int64_t> cpu_used_;  // by thread, at its last sample
};

void collector_main(void*) {
  thread_id.store_relaxed(os::thread_id());
  os::survive_broken_pipes();  // a trace may go to a pipe whose reader ends
  std::vector<std::string> fixed{kLostEventsText};
  fixed.insert(fixed.end(), collector_setup->reasons.begin(), collector_setup->reasons.end());
  recorder.prepare(fixed);
  recorder.set_doorbell([] { doorbell.signal(); });
  auto* collector = new Collector;  // lives as long as the process
  collector->run();
}

bool ensure_thread() noexcept {
  for (;;) {
    Thread seen = Thread::kNone;
    if (thread_state.cas_acq_rel(seen, Thread::kStarting)) break;  // pairs: trace.thread
    if (seen == Thread::kRuns) return true;
    sched_yield();  // another thread starts it; if that fails, it is our turn
  }
  if (collector_setup->thread_started != nullptr) collector_setup->thread_started();
  const bool runs = os::start_thread(collector_main, nullptr, kThreadStack, "weft-trace") == 0;
  thread_state.store_release(runs ? Thread::kRuns : Thread::kNone);  // pairs: trace.thread
  return runs;
}

int ask(Request& request) noexcept {
  if (!ensure_thread()) return EAGAIN;
  request.next = requests.load_relaxed();
  while (!requests.cas_acq_rel(request.next, &request)) {  // pairs: trace.requests
  }
  doorbell.signal();
  request.done.wait();
  return request.result;
}

}  // namespace

void set_up_collector(CollectorSetup setup) { collector_setup = new CollectorSetup(std::move(setup)); }

int start_file(int fd) noexcept {
  Request request{.wish = Wish::kStartFile, .fd = fd};
  return ask(request);
}
int stop_file() noexcept {
  Request request{.wish = Wish::kStopFile};
  return ask(request);
}
int start_flight(std::int64_t window_ns) noexcept {
  Request request{.wish = Wish::kStartFlight, .window_ns = window_ns};
  return ask(request);
}
int stop_flight() noexcept {
  Request request{.wish = Wish::kStopFlight};
  return ask(request);
}
int write_snapshot(int fd) noexcept {
  Request request{.wish = Wish::kSnapshot, .fd = fd};
  return ask(request);
}

int set_sampling(int per_second, int signal) noexcept {
  Request request{.wish = Wish::kSampleCpu};
  if (const int error = per_second > 0 ? ask(request) : 0; error != 0) return error;
  sample_signal.store_relaxed(signal);
  sample_ns.store_relaxed(per_second > 0 ? 1'000'000'000 / per_second : 0);
  if (per_second > 0) doorbell.signal();
  return 0;
}

void set_snapshot_path(const char* path) noexcept {
  has_snapshot_path.store_relaxed(false);
  std::snprintf(snapshot_path, sizeof snapshot_path, "%s", path);
  has_snapshot_path.store_release(snapshot_path[0] != '\0');  // pairs: trace.snapshot_path
}

void request_snapshot() noexcept {
  snapshot_wanted.store_relaxed(1);
  doorbell.signal();
}

void finish(Ending ending, std::int64_t limit_ns) noexcept {
  if (thread_state.load_acquire() != Thread::kRuns || !recorder.is_on()) return;  // pairs: trace.thread
  std::uint32_t nobody = 0;
  const bool first = finish_wanted.cas_acq_rel(nobody, 1 + static_cast<std::uint32_t>(ending));  // pairs: trace.finish
  if (!first) return;  // another thread ends the process
  doorbell.signal();
  // On a busy machine the collector's work takes long. A collector that waits for a lock of the crashed thread waits
  // for ever, and uses no CPU time.
  constexpr int kMostLimits = 10;
  for (int i = 0; i < kMostLimits; ++i) {
    const std::int64_t used = os::cpu_time_ns(thread_id.load_relaxed());
    if (finished.wait(os::now_ns() + limit_ns) || os::cpu_time_ns(thread_id.load_relaxed()) == used) return;
  }
}

void forget_collector_in_child() noexcept {
  recorder.forget_in_child();
  thread_state.store_relaxed(Thread::kNone);
}

CollectorCounts collector_counts() noexcept {
  return {generations_written.load_relaxed(), bytes_written.load_relaxed(), events_lost.load_relaxed(),
          recorder.inconsistencies(), recorder.last_inconsistency()};
}

void set_generation_ns(std::int64_t ns) noexcept { generation_ns.store_relaxed(ns); }

}  // namespace weft::trace
