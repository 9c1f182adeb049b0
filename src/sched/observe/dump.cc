// SPDX-License-Identifier: MIT
#include "sched/observe/dump.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include "arch/context.h"
#include "os/backtrace.h"
#include "os/symbolizer.h"
#include "sched/observe/goroutine_name.h"
#include "sched/observe/unstarted.h"
#include "sched/observe/wait_graph.h"
#include "sched/state/goroutine_labels.h"
#include "sched/state/batch_members.h"
#include "sched/state/scheduler.h"
#include "sched/state/spawn.h"

namespace weft::sched {
namespace {

constexpr std::size_t kWalkNeeds = 24 * 1024;  // bytes of stack that the unwinder may use below a parked context

struct Capture {
  void** out;
  std::size_t max;
  std::size_t count = 0;
};

void capture_here(void* argument) {
  auto* capture = static_cast<Capture*>(argument);
  capture->count = os::capture_backtrace(capture->out, capture->max, 1);
}

const Machine* machine_in_call_of(const Goroutine* g) noexcept {
  for (const Machine* m = scheduler.all_machines; m != nullptr; m = m->all_next)
    if (m->current != nullptr && m->current->g == g) return m;
  return nullptr;
}

std::string waiting_time(const Goroutine* g) {
  const std::uint32_t seconds = (scheduler.coarse_ms.load_relaxed() - g->wait_since_ms) / 1000;
  if (seconds >= 120) return ", " + std::to_string(seconds / 60) + " minutes";
  if (seconds >= 1) return ", " + std::to_string(seconds) + " s";
  return {};
}

std::string headline(const Goroutine* g) {
  char who[128];
  describe_goroutine(g, who, sizeof who);
  std::string line = std::string(who) + " [";
  const GStatus status = g->status.load_relaxed();
  if (status == GStatus::kWaiting) {
    line += name_of(g->wait_reason) + waiting_time(g);
  } else {
    line += name_of(status);
  }
  if (g->flags & kGLocked) line += ", locked to thread";
  if (g->flags & kGIdle) line += ", idle priority";
  if (const std::uint32_t batch = BatchMembers::batch_of(g); batch != 0 && policy().forms_batches())
    line += ", batch " + std::to_string(batch_members.record(batch).id);
  return line + "]:\n";
}

std::string labels_line(const Goroutine* g) {
  const std::string text = labels_text_of(g);
  return text.empty() ? text : "  labels: " + text + "\n";
}

std::string origin(std::int32_t site, std::uint64_t parent) {
  std::string text;
  if (site != 0) {
    void* pc = const_cast<void*>(code_address(site));
    text = "started";
    if (parent != 0) text += " by goroutine " + std::to_string(parent);
    text += " at\n" + os::format_frames(&pc, 1, "  ");
  }
  return text;
}

// Goroutines without an id that have the same name, spawn site and parent share one entry, because there may be a
// million.
std::size_t dump_unstarted(DumpSink sink, void* context, std::size_t limit) {
  std::vector<Unstarted> all = unstarted_goroutines();
  const auto key = [](const Unstarted& one) { return std::tie(one.id, one.name, one.site, one.parent); };
  std::ranges::sort(all, {}, key);
  std::size_t entries = 0;
  for (std::size_t i = 0; i < all.size() && entries < limit; ++entries) {
    const Unstarted& one = all[i];
    std::size_t count = 1;
    while (i + count < all.size() && key(all[i + count]) == key(one)) ++count;
    std::string line = count == 1 ? "goroutine" : std::to_string(count) + " goroutines";
    if (one.id != 0) line += " " + std::to_string(one.id);
    if (!one.name.empty()) line += " \"" + one.name + "\"";
    sink(context, line + " [not started]:\n" + origin(one.site, one.parent) + "\n");
    i += count;
  }
  return all.size();
}

std::string stack_text(Goroutine* g, std::size_t max_frames) {
  std::vector<void*> frames(max_frames);
  std::size_t count = 0;
  if (g == os::current_g()) {
    count = os::capture_backtrace(frames.data(), frames.size(), 2);
  } else {
    count = capture_parked(g, frames.data(), frames.size());
  }
  return os::format_frames(frames.data(), count, "  ");
}

}  // namespace

std::size_t capture_parked(Goroutine* g, void** out, std::size_t max) noexcept {
  if (g->status.load_relaxed() == GStatus::kInCall) {
    const Machine* m = machine_in_call_of(g);
    if (m == nullptr || m->call_frame == nullptr) return 0;
    return os::capture_from_frame_pointer(m->call_frame, m->call_pc, g->stack_bottom, g->stack_top(), out, max);
  }
  void* sp = g->sp.load_acquire();  // pairs: goroutine.sp
  if (sp == nullptr) return 0;      // running somewhere
  Capture capture{out, max};
  if (static_cast<std::size_t>(static_cast<std::byte*>(sp) - g->stack_bottom) > kWalkNeeds) {
    weft_call_on_context(sp, capture_here, &capture);
    return capture.count;
  }
  return os::capture_from_frame_pointer(arch::context_frame_pointer(sp), arch::context_resume_address(sp),
                                        g->stack_bottom, g->stack_top(), out, max);
}

void dump_goroutines(DumpSink sink, void* context, DumpLimits limits) {
  std::vector<Goroutine*> all, dead;
  scheduler.stacks.for_each(
      [&](Goroutine* g) { (g->status.load_relaxed() != GStatus::kDead ? all : dead).push_back(g); });
  std::ranges::sort(all, {}, &Goroutine::id);
  const WaitGraph graph(all, dead);
  if (const std::string cycles = graph.cycles(); !cycles.empty()) sink(context, cycles + "\n");
  const std::size_t shown = std::min(all.size(), limits.goroutines);
  for (std::size_t i = 0; i < shown; ++i) {
    Goroutine* g = all[i];
    std::string wait = graph.line_for(g);
    if (!wait.empty()) wait = "  " + wait + "\n";
    sink(context, headline(g) + labels_line(g) + wait + stack_text(g, limits.frames) + origin(g->site, g->parent) + "\n");
  }
  if (shown < all.size()) sink(context, "... and " + std::to_string(all.size() - shown) + " more goroutines\n");
  const std::size_t unstarted = dump_unstarted(sink, context, limits.goroutines - shown);
  const std::uint64_t spawned = total(Counter::kSpawns), started = total(Counter::kStarts);
  const std::uint64_t count = std::max<std::uint64_t>(unstarted, spawned > started ? spawned - started : 0);
  if (count > 0) sink(context, std::to_string(count) + " goroutines have been spawned and not run yet\n");
}

void dump_members(const std::vector<Goroutine*>& members, DumpSink sink, void* context) {
  const WaitGraph graph(members, {});
  sink(context, graph.cycles() + "\n");
  for (Goroutine* g : members)
    sink(context, headline(g) + "  " + graph.line_for(g) + "\n" + stack_text(g, DumpLimits().frames) +
                      origin(g->site, g->parent) + "\n");
}

}  // namespace weft::sched
