// SPDX-License-Identifier: MIT
#include "profile/goroutine_profile.h"

#include <dirent.h>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "arch/context.h"
#include "arch/interrupted_frame.h"
#include "os/backtrace.h"
#include "profile/spawn_site.h"
#include "sched/core/hold.h"
#include "sched/observe/dump.h"
#include "sched/observe/unstarted.h"
#include "sched/state/goroutine_labels.h"
#include "sched/state/scheduler.h"
#include "sched/state/spawn.h"

namespace weft::profile {
namespace {

constexpr std::size_t kFrames = 64;
constexpr std::size_t kExactWalks = 1000;  // the world stands still, and an exact walk takes some 20 us

// A held exile stands still in the handler of a signal, which knows where it was.
std::size_t capture_held(const sched::Goroutine* g, void** out) {
  const std::lock_guard guard(sched::scheduler.machines_lock);
  for (const sched::Machine* m = sched::scheduler.all_machines; m != nullptr; m = m->all_next) {
    if (m->guard_slot == nullptr || m->current == nullptr || m->current->g != g || !sched::is_held(m->hold)) continue;
    const arch::InterruptedFrame frame = arch::interrupted_frame(m->hold.context.load_relaxed());
    return os::capture_from_frame_pointer(frame.pointer, frame.pc, g->stack_bottom, g, out, kFrames);
  }
  return 0;
}

Labels labels_of(const sched::Unstarted& one) {
  Labels labels{{"state", "not started"}};
  if (!one.name.empty()) labels.emplace_back("goroutine", one.name);
  if (one.site != 0) labels.emplace_back("spawn_site", spawn_site_text(one.site));
  std::ranges::sort(labels);
  return labels;
}

std::string first_line(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

// The Ms by thread: what each runs. Null: nothing.
std::unordered_map<pid_t, sched::Goroutine*> running_goroutines() {
  std::unordered_map<pid_t, sched::Goroutine*> found;
  const std::lock_guard guard(sched::scheduler.machines_lock);
  for (const sched::Machine* m = sched::scheduler.all_machines; m != nullptr; m = m->all_next)
    if (m->guard_slot != nullptr) found[m->tid] = m->current != nullptr ? m->current->g : nullptr;
  return found;
}

}  // namespace

std::vector<void*> stack_of(sched::Goroutine* g, Walk how) {
  std::vector<void*> stack(kFrames);
  std::size_t count = 0;
  if (g == os::current_g()) {
    count = os::capture_backtrace(stack.data(), stack.size(), 1);
  } else {
    void* sp = how == Walk::kFast ? g->sp.load_acquire() : nullptr;  // pairs: goroutine.sp
    count = sp != nullptr ? os::capture_from_frame_pointer(arch::context_frame_pointer(sp),
                                                           arch::context_resume_address(sp), g->stack_bottom, g,
                                                           stack.data(), stack.size())
                          : sched::capture_parked(g, stack.data(), stack.size());
    if (count == 0) count = capture_held(g, stack.data());
  }
  stack.resize(count);
  if (count == 0 && g->site != 0) stack.push_back(const_cast<void*>(sched::code_address(g->site)));
  return stack;
}

Labels labels_of(const sched::Goroutine* g) {
  Labels labels;
  const std::unique_ptr<const sched::LabelSet, void (*)(const sched::LabelSet*)> set(sched::share_labels_of(g),
                                                                                    sched::LabelSet::release);
  if (set != nullptr) labels = set->pairs();
  if (g->name != nullptr) labels.emplace_back("goroutine", *g->name);
  if (g->site != 0) labels.emplace_back("spawn_site", spawn_site_text(g->site));
  std::ranges::sort(labels);
  return labels;
}

std::string state_of(const sched::Goroutine* g) {
  const sched::GStatus status = g->status.load_relaxed();
  return status == sched::GStatus::kWaiting ? sched::name_of(g->wait_reason) : sched::name_of(status);
}

Profile goroutine_profile() {
  Profile profile(std::vector<ValueType>{{"goroutine", "count"}});
  profile.set_period({"goroutine", "count"}, 1);
  std::size_t exact = kExactWalks;
  sched::scheduler.stacks.for_each([&](sched::Goroutine* g) {
    if (g->status.load_relaxed() == sched::GStatus::kDead) return;
    SampleKey key{stack_of(g, exact > 0 ? Walk::kExact : Walk::kFast), labels_of(g)};
    exact -= exact > 0 ? 1 : 0;
    key.labels.emplace_back("state", state_of(g));
    std::ranges::sort(key.labels);
    profile.add(key, {1});
  });
  for (const sched::Unstarted& one : sched::unstarted_goroutines()) {
    SampleKey key{{}, labels_of(one)};
    if (one.site != 0) key.stack.push_back(const_cast<void*>(sched::code_address(one.site)));
    profile.add(key, {1});
  }
  return profile;
}

Profile thread_profile() {
  Profile profile(std::vector<ValueType>{{"threads", "count"}});
  profile.set_period({"threads", "count"}, 1);
  const auto machines = running_goroutines();
  DIR* directory = opendir("/proc/self/task");
  if (directory == nullptr) return profile;
  while (const dirent* entry = readdir(directory)) {
    const pid_t thread = std::atoi(entry->d_name);
    if (thread <= 0) continue;
    SampleKey key;
    key.root = first_line(std::string("/proc/self/task/") + entry->d_name + "/comm");
    const auto found = machines.find(thread);
    if (found != machines.end() && found->second != nullptr) {
      key.stack = stack_of(found->second);
      key.labels = labels_of(found->second);
    }
    profile.add(key, {1});
  }
  closedir(directory);
  return profile;
}

}  // namespace weft::profile
