// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <ostream>
#include <string>
#include <vector>

#include "trace_reader/analysis.h"
#include "trace_reader/text.h"
#include "viewer/outputs.h"

namespace weft::tools {
namespace {

constexpr std::size_t kGroupsShown = 20;
constexpr std::size_t kWaitsShown = 10;

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

std::string percent(std::int64_t part, std::int64_t whole) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%",
                whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

std::string wall_time(std::int64_t ns) {
  const std::time_t seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm parts{};
  char text[40] = "?";
  if (gmtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string goroutine_text(const Timeline& line, std::uint32_t g) {
  if (g == kNoIndex) return "the runtime";
  const std::string& title = line.title(line.goroutines[g]);
  return "goroutine " + std::to_string(line.goroutines[g].id) + (title.empty() ? "" : " " + visible(title));
}

void write_spans(std::ostream& out, const Timeline& line, const std::vector<std::uint32_t>& spans) {
  for (std::size_t i = 0; i < std::min(spans.size(), kWaitsShown); ++i) {
    const GoSpan& span = line.spans[spans[i]];
    out << "  " << padded(duration_text(span.end - span.start), 9) << "  at " << padded(duration_text(span.start), 9)
        << "  " << goroutine_text(line, span.g) << ": " << visible(line.text(span.reason));
    const std::uint32_t stack = span.state == GoState::kRunnable ? span.by_stack : span.stack;
    if (span.state == GoState::kRunnable && span.by != kNoIndex) out << " by " << goroutine_text(line, span.by);
    if (stack != kNoIndex && !line.stacks[stack].empty()) {
      const StackFrame& frame = line.stacks[stack].front();
      out << " (" << visible(line.text(frame.function)) << ")";
    }
    out << "\n";
  }
}

}  // namespace

void write_summary(std::ostream& out, const Timeline& line, std::string_view name) {
  const Analysis it = analyse(line);
  std::size_t created = 0;
  std::size_t ended = 0;
  for (const Goroutine& goroutine : line.goroutines) {
    created += goroutine.created;
    ended += goroutine.ended;
  }
  out << visible(name) << ": " << duration_text(line.duration) << ", " << line.events << " events in "
      << line.generations << (line.generations == 1 ? " generation" : " generations") << ", format 1." << line.version;
  if (line.wall_start_ns) out << ", from " << wall_time(*line.wall_start_ns);
  out << "\n\ngoroutines  " << line.goroutines.size() << " (" << created << " created, " << ended << " ended, at most "
      << it.most_alive << " at once)\n";
  std::int64_t busy = it.busy;
  add_time(busy, it.covered);
  out << "Ps          " << line.ps.size() << " (busy " << percent(busy, it.p_time) << ", in calls "
      << percent(it.in_call, it.p_time) << ", idle " << percent(it.p_time - busy - it.in_call, it.p_time) << ")\n";
  if (it.exiled != 0) {
    out << "without a P " << duration_text(it.exiled) << " of computing together, in the stead of idle Ps for "
        << percent(it.covered, it.p_time) << " of their time\n";
  }
  out << "Ms          " << line.ms.size() << "\n";
  for (const ProcsChange& change : line.procs_changes) {
    out << "maxprocs    " << change.count << " at " << duration_text(change.time) << "\n";
  }
  std::int64_t stopped = 0;
  std::size_t stops = 0;
  for (const Range& range : line.ranges) {
    if (range.kind != Range::Kind::kStopTheWorld) continue;
    ++stops;
    add_time(stopped, range.end - range.start);
  }
  if (stops != 0) out << "stopped     " << stops << " times, " << duration_text(stopped) << " together\n";
  if (!it.latencies.empty()) {
    const auto at = [&](std::size_t per_mille) { return it.latencies[(it.latencies.size() - 1) * per_mille / 1000]; };
    out << "runnable    " << it.latencies.size() << " times; until running: median " << duration_text(at(500))
        << ", 99 % " << duration_text(at(990)) << ", 99.9 % " << duration_text(at(999)) << ", longest "
        << duration_text(it.latencies.back()) << "\n";
  }

  std::vector<GoState> states = {GoState::kRunning, GoState::kRunnable, GoState::kInCall, GoState::kWaiting};
  if (it.exiled != 0) states.push_back(GoState::kExiled);
  out << "\nby spawn site\n    count    running   runnable    in call    waiting"
      << (it.exiled != 0 ? "  without P" : "") << "\n";
  for (std::size_t i = 0; i < std::min(it.groups.size(), kGroupsShown); ++i) {
    const SpawnGroup& group = it.groups[i];
    out << "  " << padded(std::to_string(group.goroutines.size()), 7);
    for (const GoState state : states) {
      out << "  " << padded(duration_text(group.time[static_cast<std::size_t>(state)]), 9);
    }
    out << "  " << site_text(line, group) << "\n";
  }
  if (it.groups.size() > kGroupsShown) out << "  and " << it.groups.size() - kGroupsShown << " more sites\n";

  if (!it.waits.empty()) out << "\nwaiting for\n      times       time\n";
  for (const WaitReason& wait : it.waits) {
    out << "  " << padded(std::to_string(wait.count), 9) << "  " << padded(duration_text(wait.time), 9) << "  "
        << (wait.reason == 0 ? "(not said)" : visible(line.text(wait.reason))) << "\n";
  }
  if (!it.longest_waits.empty()) {
    out << "\nlongest waits\n";
    write_spans(out, line, it.longest_waits);
  }
  if (!it.longest_latencies.empty()) {
    out << "\nlongest runnable without running\n";
    write_spans(out, line, it.longest_latencies);
  }
}

}  // namespace weft::tools
