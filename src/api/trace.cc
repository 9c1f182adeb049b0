// SPDX-License-Identifier: MIT
#include "weft/trace.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "api/sample_signal.h"
#include "api/start.h"
#include "os/keep_errno.h"
#include "sched/tracing/trace_points.h"
#include "trace/collector.h"
#include "trace/emit.h"
#include "weft/error.h"
#include "weft/go.h"

namespace weft::trace {
namespace {

base::Atom<std::uint64_t> next_task{1};

[[noreturn]] void fail(int error, const std::string& what) {
  if (error == EAGAIN)
    throw std::system_error(error, std::generic_category(), "weft: trace: the system refuses a thread");
  throw std::system_error(error, std::generic_category(), "weft: trace: " + what);
}

int open_for_writing(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) fail(errno, "cannot write " + path);
  return fd;
}

// The collector's answer may take as long as the disk does.
template <class F>
int ask(F&& wish) {
  api::ensure_started();
  return weft::blocking(wish);
}

std::uint64_t begin_task(std::string_view name, std::uint64_t parent) {
  const std::uint64_t id = next_task.fetch_add_relaxed(1);
  if (recording()) task_begin(sched::trace_place(), id, parent, name.data(), name.size());
  return id;
}

void on_signal(int) {
  const os::KeepErrno keep;
  request_snapshot();
}

}  // namespace

void start(const std::string& path) {
  const int fd = open_for_writing(path);
  const int error = ask([fd] { return start_file(fd); });
  if (error == 0) return;
  ::close(fd);
  if (error == EALREADY) throw logic_error("weft: trace::start: a trace is being written already; stop() it first");
  fail(error, "cannot write " + path);
}

void stop() {
  const int error = ask([] { return stop_file(); });
  if (error == EINVAL) throw logic_error("weft: trace::stop: no trace is being written");
  if (error != 0) fail(error, "the trace could not be written to its end");
}

bool enabled() noexcept { return recording(); }

void sample_cpu(int per_second) {
  if (per_second < 0 || per_second > 10'000) throw logic_error("weft: trace::sample_cpu: expected 0 to 10000 a second");
  if (per_second > 0) api::handle_sample_signal("trace::sample_cpu");
  if (const int error = ask([per_second] { return set_sampling(per_second, api::sample_signal()); }); error != 0)
    fail(error, "CPU samples cannot be taken");
}

task::task(std::string_view name) : id_(begin_task(name, 0)) {}
task::task(std::string_view name, const task& parent) : id_(begin_task(name, parent.id_)) {}
task::~task() {
  if (recording()) task_end(sched::trace_place(), id_);
}

region::region(std::string_view name) : task_(0), begun_(0) {
  if (!recording()) return;
  name_ = name;
  begun_ = region_begin(sched::trace_place(), task_, name_.data(), name_.size());
}
region::region(const task& owner, std::string_view name) : task_(owner.id()), begun_(0) {
  if (!recording()) return;
  name_ = name;
  begun_ = region_begin(sched::trace_place(), task_, name_.data(), name_.size());
}
region::~region() {
  if (begun_ != 0 && recording()) region_end(sched::trace_place(), begun_, task_, name_.data(), name_.size());
}

void log(std::string_view key, std::string_view text) {
  if (recording()) user_log(sched::trace_place(), 0, key.data(), key.size(), text.data(), text.size());
}
void log(const task& owner, std::string_view key, std::string_view text) {
  if (recording()) user_log(sched::trace_place(), owner.id(), key.data(), key.size(), text.data(), text.size());
}

flight_recorder::flight_recorder(std::chrono::nanoseconds window) {
  if (window <= std::chrono::nanoseconds::zero())
    throw logic_error("weft: trace::flight_recorder: the window must be longer than nothing");
  const int error = ask([window] { return start_flight(window.count()); });
  if (error == EALREADY) throw logic_error("weft: trace::flight_recorder: there is one already");
  if (error != 0) fail(error, "the flight recorder cannot start");
}

flight_recorder::~flight_recorder() {
  set_snapshot_path("");
  ask([] { return stop_flight(); });
}

void flight_recorder::snapshot(const std::string& path) {
  const int fd = open_for_writing(path);
  int error = ask([fd] { return write_snapshot(fd); });
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error != 0) fail(error, "cannot write " + path);
}

void flight_recorder::snapshot_on_failure(const std::string& path, int signal) {
  set_snapshot_path(path.c_str());
  if (signal == 0) return;
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (sigaction(signal, &action, nullptr) != 0) fail(errno, "cannot handle signal " + std::to_string(signal));
}

}  // namespace weft::trace
