// SPDX-License-Identifier: MIT
#include "insight/live_data.h"

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "insight/goroutine_scan.h"
#include "os/clock.h"
#include "profile/spawn_site.h"
#include "sched/state/scheduler.h"
#include "weft/runtime.h"

namespace weft::insight {
namespace {

constexpr std::size_t kGroups = 200, kWaiters = 20;

// How many bytes the UTF-8 character at the beginning has; 0: it is none.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) >= 0xf0 && byte(0) < 0xf5 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc2 ? 2 : 0;
  if (length == 0 || byte(0) >= 0xf5 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return length;
}

std::string number(const char* name, double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", value);
  return json_string(name) + ":" + text;
}
std::string number(const char* name, std::uint64_t value) { return json_string(name) + ":" + std::to_string(value); }

std::string site_text(std::int32_t site) { return site != 0 ? profile::spawn_site_text(site) : std::string(); }

std::string counters() {
  const stats now = runtime::read_stats();
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  return "{" + number("time_ms", static_cast<std::uint64_t>(os::now_ns() / 1'000'000)) + "," +
         number("cpu_ms", static_cast<double>(cpu.tv_sec) * 1e3 + static_cast<double>(cpu.tv_nsec) / 1e6) + "," +
         number("goroutines", now.goroutines) + "," + number("runnable", now.runnable) + "," +
         number("running", now.running) + "," + number("waiting", now.waiting) + "," +
         number("in_call", now.in_syscall) + "," + number("spawns", now.spawns) + "," +
         number("switches", now.switches) + "," + number("steals", now.steals_won) + "," +
         number("preemptions", now.preempts_done) + "," + number("exiles", now.exiles) + "," +
         number("timers", now.timers_fired) + "," + number("netpoll", now.netpoll_wakeups) + "," +
         number("threads", now.threads) + "," + number("idle", now.idle_ps) + "," + number("pauses", now.stw_count) +
         "," + number("longest_pause_us", now.stw_max_ns / 1000) + "}";
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  char escape[8];
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte >= 0x80 ? utf8_length(text.substr(i)) : 1;
    if (length > 1) {
      out += text.substr(i, length);
      i += length - 1;
    } else if (length == 0 || byte < 0x20 || byte == 0x7f || byte == '<' || byte == '>' || byte == '&') {
      std::snprintf(escape, sizeof escape, "\\u%04x", length == 0 ? 0xfffdu : byte);
      out += escape;
    } else {
      if (byte == '"' || byte == '\\') out += '\\';
      out += text[i];
    }
  }
  return out + "\"";
}

std::string live_data() {
  const GoroutineScan scan = scan_goroutines(kWaiters);
  std::vector<std::pair<std::pair<std::string, std::int32_t>, Group>> groups(scan.groups.begin(), scan.groups.end());
  std::ranges::stable_sort(groups, std::ranges::greater(), [](const auto& one) { return one.second.count; });
  if (groups.size() > kGroups) groups.resize(kGroups);
  std::string out = "{\"program\":" + json_string(program_invocation_short_name) + "," +
                    number("pid", static_cast<std::uint64_t>(getpid())) + "," +
                    number("maxprocs", static_cast<std::uint64_t>(runtime::maxprocs())) +
                    ",\"policy\":" + json_string(sched::policy().name()) + ",\"now\":" + counters() + ",\"groups\":[";
  const char* separator = "";
  for (const auto& [key, group] : groups) {
    out += separator + ("{\"state\":" + json_string(key.first)) + ",\"site\":" + json_string(site_text(key.second)) +
           "," + number("count", group.count) + "," + number("longest_ms", std::uint64_t{group.longest_ms}) + "," +
           number("longest_id", group.longest_id) + "}";
    separator = ",";
  }
  out += "],\"longest\":[";
  separator = "";
  for (const Waiter& one : scan.longest) {
    out += separator + ("{" + number("id", one.id)) + "," + number("ms", std::uint64_t{one.ms}) +
           ",\"state\":" + json_string(one.state) + ",\"site\":" + json_string(site_text(one.site)) + "}";
    separator = ",";
  }
  return out + "]}";
}

}  // namespace weft::insight
