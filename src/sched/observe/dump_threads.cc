// SPDX-License-Identifier: MIT
#include "sched/observe/dump_threads.h"

#include <mutex>
#include <string>

#include "sched/state/scheduler.h"

namespace weft::sched {
namespace {

std::string field(const char* name, std::uint64_t value) {
  return std::string(" ") + name + "=" + std::to_string(value);
}
std::string field(const char* name, const Goroutine* g) {
  return g != nullptr ? field(name, g->id) : std::string(" ") + name + "=nil";
}

std::string sched_line() {
  std::uint64_t running = 0, waiting = 0, dead = 0;
  scheduler.stacks.for_each([&](const Goroutine* g) {
    const GStatus status = g->status.load_relaxed();
    running += status == GStatus::kRunning;
    waiting += status == GStatus::kWaiting;
    dead += status == GStatus::kDead;
  });
  return std::string("SCHED: policy=") + std::string(policy().name()) + field("maxprocs", maxprocs()) +
         field("gcount", total(Counter::kSpawns) - total(Counter::kFinished)) + field("grunning", running) +
         field("gwait", waiting) + field("gfree", dead) + field("mcount", scheduler.threads.load_relaxed()) +
         field("mwait", scheduler.idle_machine_count) + "\n";
}

std::string line_of(const Processor& p) {
  return "  P" + std::to_string(p.id) + ":" + (p.last_m != nullptr ? field("lastm", p.last_m->id) : " lastm=nil") +
         field("schedtick", p.tick.load_relaxed()) + field("runqsize", policy().load(p).all()) +
         field("runnext", p.slot.look() ? 1 : 0) + field("gfreecnt", p.free_g_count) +
         field("timerslen", p.timers.size()) + "\n";
}

std::string line_of(const Machine& m) {
  return "  M" + std::to_string(m.id) + ":" + field("thread", static_cast<std::uint64_t>(m.tid)) +
         field("curg", m.current != nullptr ? m.current->g : nullptr) + field("lockedg", m.locked_g) +
         field("blocked", m.idle ? 1 : 0) + field("exiled", m.exiled.load_relaxed() ? 1 : 0) + "\n";
}

}  // namespace

void dump_threads(DumpSink sink, void* context) {
  sink(context, sched_line());
  for (std::uint32_t i = 0; i < maxprocs(); ++i) sink(context, line_of(*scheduler.processors[i]));
  std::string machines;
  {
    std::lock_guard guard(scheduler.machines_lock);
    for (const Machine* m = scheduler.all_machines; m != nullptr; m = m->all_next)
      if (m->alive.load_acquire()) machines += line_of(*m);  // pairs: machine.alive
  }
  sink(context, machines);
}

}  // namespace weft::sched
