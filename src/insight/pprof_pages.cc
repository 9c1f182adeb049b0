// SPDX-License-Identifier: MIT
#include "insight/pprof_pages.h"

#include <sys/mman.h>
#include <unistd.h>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>

#include "api/cpu_profile.h"
#include "api/leak_profile.h"
#include "profile/goroutine_profile.h"
#include "profile/shown_frames.h"
#include "weft/error.h"
#include "weft/runtime.h"
#include "weft/trace.h"

namespace weft::insight {
namespace {

constexpr const char* kText = "text/plain; charset=utf-8";
constexpr int kLongestSeconds = 3600;

void sleep_seconds(int seconds) { std::this_thread::sleep_for(std::chrono::seconds(seconds)); }

Response wrong(const std::string& what) { return {400, kText, what + "\n"}; }

Response as_asked(const Request& request, const profile::Profile& taken, const char* file_name) {
  if (request.parameter("format") == "folded") return {200, kText, profile::folded(taken)};
  if (request.number("debug", 0, 2).value_or(0) != 0) return {200, kText, profile::listing(taken)};
  return {200, "application/octet-stream", taken.encode(), file_name};
}

Response cpu_page(const Request& request) {
  const std::optional<int> seconds = request.number("seconds", 30, kLongestSeconds);
  const std::optional<int> hz = request.number("hz", 100, 10'000);
  if (!seconds || !hz || *hz == 0) return wrong("seconds is 0 to 3600, hz is 1 to 10000");
  try {
    api::begin_cpu_profile(*hz);
  } catch (const logic_error& error) {
    return {409, kText, std::string(error.what()) + "\n"};
  }
  sleep_seconds(*seconds);
  const std::optional<profile::Profile> taken = api::end_cpu_profile();
  if (!taken) return {409, kText, "the program has ended the profile\n"};
  return as_asked(request, *taken, "profile.pb.gz");
}

Response trace_page(const Request& request) {
  const std::optional<int> seconds = request.number("seconds", 1, kLongestSeconds);
  if (!seconds) return wrong("seconds is 0 to 3600");
  const int memory = memfd_create("weft trace", MFD_CLOEXEC);
  if (memory < 0) return {503, kText, "no memory for a trace\n"};
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{memory};
  const std::string path = "/proc/self/fd/" + std::to_string(memory);
  try {
    trace::start(path);
  } catch (const logic_error& error) {
    return {409, kText, std::string(error.what()) + "\n"};
  }
  sleep_seconds(*seconds);
  trace::stop();
  std::ifstream in(path, std::ios::binary);
  return {200, "application/octet-stream", std::string(std::istreambuf_iterator<char>(in), {}), "trace.out"};
}

Response goroutine_page(const Request& request) {
  if (request.number("debug", 0, 2) == 2) {
    std::ostringstream text;
    runtime::dump(text);
    return {200, kText, text.str()};
  }
  return as_asked(request, runtime::stop_the_world(profile::goroutine_profile), "goroutine.pb.gz");
}

Response index() {
  return {200, "text/html; charset=utf-8",
          "<!doctype html><title>/debug/pprof/</title><h1>/debug/pprof/</h1><ul>"
          "<li><a href='profile?seconds=30'>profile</a>: CPU, seconds=30"
          "<li><a href='goroutine?debug=1'>goroutine</a>: all stacks (debug=2: a dump)"
          "<li><a href='block?debug=1'>block</a>: who waits now, and how long so far"
          "<li><a href='mutex?debug=1'>mutex</a>: who holds the locks that others wait for"
          "<li><a href='goroutineleak?debug=1'>goroutineleak</a>: goroutines that nothing can wake any more"
          "<li><a href='threadcreate?debug=1'>threadcreate</a>: threads"
          "<li><a href='trace?seconds=5'>trace</a>: an execution trace, seconds=5"
          "</ul><p>For <code>go tool pprof http://HOST:PORT/debug/pprof/profile</code>.\n"};
}

}  // namespace

Response pprof_page(const Request& request) {
  const std::string_view path = request.path;
  if (path == "/debug/pprof" || path == "/debug/pprof/") return index();
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  if (name == "profile") return cpu_page(request);
  if (name == "trace") return trace_page(request);
  if (name == "goroutine") return goroutine_page(request);
  if (name == "block") return as_asked(request, runtime::stop_the_world(profile::block_profile), "block.pb.gz");
  if (name == "mutex") return as_asked(request, runtime::stop_the_world(profile::mutex_profile), "mutex.pb.gz");
  if (name == "goroutineleak") return as_asked(request, api::leak_profile(), "goroutineleak.pb.gz");
  if (name == "threadcreate")
    return as_asked(request, runtime::stop_the_world(profile::thread_profile), "threadcreate.pb.gz");
  if (name == "cmdline") {
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    return {200, kText, std::string(std::istreambuf_iterator<char>(in), {})};
  }
  return {404, kText, "no such profile; /debug/pprof/ lists them\n"};
}

}  // namespace weft::insight
