// SPDX-License-Identifier: MIT
#include "insight/metrics.h"

#include <dirent.h>
#include <unistd.h>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "insight/goroutine_scan.h"
#include "os/thread.h"
#include "weft/runtime.h"

namespace weft::insight {
namespace {

class Writer {
 public:
  explicit Writer(bool openmetrics) : openmetrics_(openmetrics) {}

  void counter(const std::string& name, const char* help, double value) {
    head(name, "counter", help);
    sample(name + "_total", "", value);
  }
  void gauge(const std::string& name, const char* help, double value) {
    head(name, "gauge", help);
    sample(name, "", value);
  }
  // In the text format the name of a counter ends in _total everywhere.
  void head(const std::string& name, const char* type, const char* help) {
    const std::string shown = !openmetrics_ && std::string_view(type) == "counter" ? name + "_total" : name;
    out_ += "# HELP " + shown + " " + help + "\n# TYPE " + shown + " " + type + "\n";
  }
  void sample(const std::string& name, const std::string& labels, double value) {
    char text[40];
    std::snprintf(text, sizeof text, " %.17g\n", value);
    out_ += name + (labels.empty() ? "" : "{" + labels + "}") + text;
  }
  std::string finish() {
    if (openmetrics_) out_ += "# EOF\n";
    return std::move(out_);
  }

 private:
  bool openmetrics_;
  std::string out_;
};

void write_goroutines(Writer& out, const stats& now) {
  out.head("weft_sched_goroutines", "gauge", "Goroutines by what they are doing.");
  const std::pair<const char*, std::uint64_t> states[] = {
      {"runnable", now.runnable}, {"running", now.running}, {"waiting", now.waiting}, {"in_call", now.in_syscall}};
  for (const auto& [state, count] : states)
    out.sample("weft_sched_goroutines", std::string("state=\"") + state + "\"", static_cast<double>(count));
  out.head("weft_sched_started_goroutines", "gauge", "Started goroutines by wait reason or state.");
  for (const auto& [state, count] : scan_goroutines(0).states)
    out.sample("weft_sched_started_goroutines", "reason=\"" + state + "\"", static_cast<double>(count));
  out.counter("weft_sched_goroutines_created", "Goroutines started since the program began.",
              static_cast<double>(now.spawns));
}

void write_scheduler(Writer& out, const stats& now) {
  const auto count = [&](const char* name, const char* help, std::uint64_t value) {
    out.counter(name, help, static_cast<double>(value));
  };
  const auto gauge = [&](const char* name, const char* help, std::uint64_t value) {
    out.gauge(name, help, static_cast<double>(value));
  };
  gauge("weft_sched_gomaxprocs_threads", "Processors: how many goroutines run at once.",
        static_cast<std::uint64_t>(runtime::maxprocs()));
  gauge("weft_sched_idle_processors", "Processors without work.", now.idle_ps);
  gauge("weft_sched_spinning_threads", "Threads that look for work.", now.spinning);
  gauge("weft_sched_threads", "Threads of the scheduler.", now.threads);
  count("weft_sched_threads_created", "Threads that the scheduler started.", now.threads_created);
  count("weft_sched_switches", "Switches from one goroutine to another.", now.switches);
  count("weft_sched_steals_tried", "Looks at another processor's queue.", now.steals_tried);
  count("weft_sched_steals", "Looks that found work.", now.steals_won);
  count("weft_sched_goroutines_stolen", "Goroutines taken from another processor.", now.goroutines_stolen);
  count("weft_sched_thread_parks", "Threads that went to sleep.", now.parks);
  count("weft_sched_thread_wakes", "Threads that were woken.", now.unparks);
  count("weft_sched_calls", "Blocking calls that were announced.", now.syscalls);
  count("weft_sched_handoffs", "Processors given away by a blocking call.", now.handoffs);
  count("weft_sched_retakes", "Processors taken from a long call.", now.retakes);
  out.head("weft_sched_preemptions", "counter", "Requests to give way, and what became of them.");
  out.sample("weft_sched_preemptions_total", "result=\"requested\"", static_cast<double>(now.preempts_requested));
  out.sample("weft_sched_preemptions_total", "result=\"done\"", static_cast<double>(now.preempts_done));
  out.sample("weft_sched_preemptions_total", "result=\"refused\"", static_cast<double>(now.preempts_refused));
  count("weft_sched_exiles", "Goroutines that lost their processor and computed on.", now.exiles);
  count("weft_sched_pauses", "Times that the world was stopped.", now.stw_count);
  out.gauge("weft_sched_last_pause_seconds", "How long the world was stopped the last time.",
            static_cast<double>(now.stw_last_ns) / 1e9);
  out.gauge("weft_sched_longest_pause_seconds", "The longest time that the world was stopped.",
            static_cast<double>(now.stw_max_ns) / 1e9);
  count("weft_netpoll_wakes", "Times that the poller found ready descriptors.", now.netpoll_wakeups);
  count("weft_timers_fired", "Timers that came due.", now.timers_fired);
}

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void write_process(Writer& out) {
  unsigned long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  out.gauge("process_virtual_memory_bytes", "Address space.", static_cast<double>(pages) * page);
  out.gauge("process_resident_memory_bytes", "Memory in use.", static_cast<double>(resident) * page);
  out.counter("process_cpu_seconds", "CPU time of all threads.", seconds_of(CLOCK_PROCESS_CPUTIME_ID));
  out.gauge("process_threads", "Threads of the process.", static_cast<double>(os::count_threads()));
  if (DIR* directory = opendir("/proc/self/fd")) {
    double count = -3;  // ".", "..", and the one that looks
    while (readdir(directory) != nullptr) ++count;
    closedir(directory);
    out.gauge("process_open_fds", "Open descriptors.", count);
  }
}

}  // namespace

std::string metrics_text(bool openmetrics) {
  Writer out(openmetrics);
  const stats now = runtime::read_stats();
  write_goroutines(out, now);
  write_scheduler(out, now);
  write_process(out);
  return out.finish();
}

}  // namespace weft::insight
