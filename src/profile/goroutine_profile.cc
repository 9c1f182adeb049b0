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
#include "sched/model/hooks.h"
#include "sched/observe/dump.h"
#include "sched/observe/unstarted.h"
#include "sched/observe/wait_graph.h"
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

namespace {

Profile wait_profile_of(const char* period) {
  Profile profile({{"contentions", "count"}, {"delay", "nanoseconds"}});
  profile.set_period({period, "count"}, 1);
  return profile;
}

std::int64_t waited_ns(const sched::Goroutine* g) {
  return std::int64_t{sched::scheduler.coarse_ms.load_relaxed() - g->wait_since_ms} * 1'000'000;
}

std::vector<sched::Goroutine*> living_goroutines() {
  std::vector<sched::Goroutine*> found;
  sched::scheduler.stacks.for_each([&](sched::Goroutine* g) {
    if (g->status.load_relaxed() != sched::GStatus::kDead) found.push_back(g);
  });
  return found;
}

bool waits(const sched::Goroutine* g) { return g->status.load_relaxed() == sched::GStatus::kWaiting; }

}  // namespace

Profile block_profile() {
  Profile profile = wait_profile_of("contentions");
  std::size_t exact = kExactWalks;
  for (sched::Goroutine* g : living_goroutines()) {
    if (!waits(g) || g->wait_reason == sched::WaitReason::kSleep) continue;
    SampleKey key{stack_of(g, exact > 0 ? Walk::kExact : Walk::kFast), labels_of(g)};
    exact -= exact > 0 ? 1 : 0;
    key.labels.emplace_back("reason", sched::name_of(g->wait_reason));
    std::ranges::sort(key.labels);
    profile.add(key, {1, waited_ns(g)});
  }
  return profile;
}

Profile mutex_profile() {
  Profile profile = wait_profile_of("contentions");
  const std::vector<sched::Goroutine*> living = living_goroutines();
  std::unordered_map<std::uint32_t, sched::Goroutine*> by_low_half;
  for (sched::Goroutine* g : living) by_low_half[static_cast<std::uint32_t>(g->id)] = g;
  std::unordered_map<sched::Goroutine*, SampleKey> holders;  // a lock with many waiters is walked once
  for (sched::Goroutine* g : living) {
    if (!waits(g)) continue;
    const bool for_lock = g->wait_reason == sched::WaitReason::kMutex ||
                          g->wait_reason == sched::WaitReason::kSharedMutexRead ||
                          g->wait_reason == sched::WaitReason::kSharedMutexWrite;
    if (!for_lock) continue;
    sched::WaitFacts facts;
    sched::hooks.tell_wait(g, facts);
    const auto found = by_low_half.find(facts.holder);
    sched::Goroutine* holder = facts.has_holder && found != by_low_half.end() ? found->second : nullptr;
    const auto [entry, is_new] = holders.try_emplace(holder);
    if (is_new && holder != nullptr) entry->second = {stack_of(holder), labels_of(holder)};
    if (is_new && holder == nullptr) entry->second.root = "(holder not known)";
    profile.add(entry->second, {1, waited_ns(g)});
  }
  return profile;
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
