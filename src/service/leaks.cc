// SPDX-License-Identifier: MIT
#include "service/leaks.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <map>
#include <tuple>

#include "base/check.h"
#include "base/sanitizer.h"
#include "os/heap_map.h"
#include "os/memory.h"
#include "os/symbolizer.h"
#include "sched/model/hooks.h"
#include "sched/observe/dump.h"
#include "sched/observe/leak_search.h"
#include "sched/observe/standstill.h"
#include "sched/observe/wait_graph.h"
#include "sched/state/scheduler.h"
#include "sched/state/spawn.h"
#include "sched/world/world.h"

namespace weft::service {
namespace {

using sched::Goroutine;
using sched::scheduler;

constexpr std::size_t kLeakFrames = 64;

struct WorldStop {
  explicit WorldStop(bool stopped_already) noexcept : own(!stopped_already) {
    if (own) sched::stop_the_world();
  }
  ~WorldStop() {
    if (own) sched::start_the_world();
  }
  WorldStop(const WorldStop&) = delete;
  const bool own;
};

void write_all(int fd, const void* data, std::size_t size) noexcept {
  for (const char* at = static_cast<const char*>(data); size > 0;) {
    const ssize_t done = ::write(fd, at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    at += done;
    size -= static_cast<std::size_t>(done);
  }
}

// A copy of the process with this thread alone. Without handlers of fork(), which may want locks, and without SIGCHLD.
// 0: in the copy; < 0: there is none.
pid_t copy_process() noexcept {
#if WEFT_TSAN || WEFT_ASAN
  return -1;  // their runtimes do not expect it
#else
  return static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
#endif
}

// One search. Its result is read from a pipe, when the world runs again.
class Round {
 public:
  explicit Round(std::uintptr_t heap_mark) noexcept : heap_mark_(heap_mark) {}
  ~Round() {
    if (found_ != nullptr) os::release_memory(found_, room_ * sizeof(Goroutine*));
  }
  Round(const Round&) = delete;

  // With the world stopped.
  void begin(const void* frame) noexcept {
    std::size_t goroutines = 0;
    scheduler.stacks.for_each([&](const Goroutine*) { ++goroutines; });
    room_ = goroutines + 1;
    found_ = static_cast<Goroutine**>(os::reserve_memory(room_ * sizeof(Goroutine*), "weft leaks"));
    if (found_ == nullptr || pipe2(pipe_, O_CLOEXEC) != 0) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    {
      const sched::Standstill threads;
      saw_others_ = threads.asked() > 0 || !threads.complete();
      copy_ = copy_process();
      if (copy_ <= 0) search(threads, frame);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    close(pipe_[1]);
  }
  void read_result() noexcept {
    if (copy_ > 0) {
      const std::size_t bytes = read_all(found_, room_ * sizeof(Goroutine*));
      count_ = bytes / sizeof(Goroutine*);
      int status = 0;
      while (waitpid(copy_, &status, __WALL) < 0 && errno == EINTR) {
      }
      failed_ = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    if (pipe_[0] >= 0) close(pipe_[0]);
    if (failed_) count_ = 0;
  }
  bool saw_others() const noexcept { return saw_others_; }
  bool failed() const noexcept { return failed_; }
  std::vector<Goroutine*> goroutines() const { return {found_, found_ + count_}; }

 private:
  // In the copy it ends the process; without a copy it leaves the result here.
  void search(const sched::Standstill& threads, const void* frame) noexcept {
    const std::size_t found = sched::find_leaked({&threads, heap_mark_, frame}, found_, room_);
    if (copy_ == 0) {
      if (found != sched::kNoMemory) write_all(pipe_[1], found_, found * sizeof(Goroutine*));
      _exit(found == sched::kNoMemory ? 1 : 0);
    }
    failed_ = found == sched::kNoMemory;
    count_ = failed_ ? 0 : found;
  }
  std::size_t read_all(void* to, std::size_t size) const noexcept {
    std::size_t done = 0;
    while (done < size) {
      const ssize_t got = ::read(pipe_[0], static_cast<char*>(to) + done, size - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  std::uintptr_t heap_mark_;
  Goroutine** found_ = nullptr;
  std::size_t room_ = 0, count_ = 0;
  int pipe_[2] = {-1, -1};
  pid_t copy_ = -1;
  bool saw_others_ = false, failed_ = true;
};

// Hides the address of the object, because the next search would find it here.
struct Identity {
  Goroutine* g;
  std::uint64_t id;
  std::uintptr_t hidden_object;
  auto operator<=>(const Identity&) const = default;
};

std::uintptr_t hide(const void* object) noexcept { return ~reinterpret_cast<std::uintptr_t>(object); }

std::vector<Identity> search_once(const LeakSearchCall& call, bool& saw_others) {
  Round round(os::heap_cache_mark());
  {
    const WorldStop stopped(call.is_exit);
    round.begin(call.frame);
  }
  call.wait([](void* raw) { static_cast<Round*>(raw)->read_result(); }, &round);
  if (round.failed()) {
    constexpr std::string_view kText = "weft: leaks were not looked for: no memory for the search, or no /proc\n";
    base::write_stderr(kText.data(), kText.size());
  }
  saw_others = round.saw_others();
  std::vector<Identity> found;
  for (Goroutine* g : round.goroutines()) found.push_back({g, g->id, hide(g->wait_object)});
  std::ranges::sort(found);
  return found;
}

LeakedGoroutine describe(Goroutine* g) {
  LeakedGoroutine leak;
  leak.id = g->id;
  leak.parent = g->parent;
  leak.site = g->site;
  if (g->name != nullptr) leak.name = *g->name;
  leak.reason = sched::name_of(g->wait_reason);
  sched::WaitFacts facts;
  if (g->wait_object != nullptr) sched::hooks.tell_wait(g, facts);
  leak.object = facts.object;
  if (facts.holder_id != 0) leak.object += " goroutine " + std::to_string(facts.holder_id);
  void* frames[kLeakFrames];
  leak.frames.assign(frames, frames + sched::capture_parked(g, frames, kLeakFrames));
  return leak;
}

bool is_still(const Identity& one) noexcept {
  return one.g->status.load_relaxed() == sched::GStatus::kWaiting && one.g->id == one.id &&
         hide(one.g->wait_object) == one.hidden_object && one.g->sp.load_acquire() != nullptr;  // pairs: goroutine.sp
}

}  // namespace

std::vector<LeakedGoroutine> find_leaked_goroutines(const LeakSearchCall& call) {
  bool saw_others = false;
  std::vector<Identity> found = search_once(call, saw_others);
  if (!found.empty() && saw_others) {
    std::vector<Identity> again = search_once(call, saw_others), both;
    std::ranges::set_intersection(found, again, std::back_inserter(both));
    found = std::move(both);
  }
  std::vector<LeakedGoroutine> leaks;
  if (found.empty()) return leaks;
  leaks.reserve(found.size());
  {
    const WorldStop stopped(call.is_exit);
    for (const Identity& one : found)
      if (is_still(one)) leaks.push_back(describe(one.g));
  }
  std::ranges::sort(leaks, {}, &LeakedGoroutine::id);
  return leaks;
}

namespace {

// The frames without those of the switch, because how the runtime parked it says nothing.
class UsersFrames {
 public:
  std::vector<void*> of(const std::vector<void*>& frames) {
    const auto first = std::ranges::find_if(frames, [this](void* pc) { return !is_scheduler(pc); });
    return first == frames.end() ? frames : std::vector<void*>(first, frames.end());
  }

 private:
  bool is_scheduler(void* pc) {
    const auto [known, is_new] = known_.try_emplace(pc, false);
    if (is_new) {
      const std::string function = os::symbolize(pc).function;
      known->second = function.find("weft::sched::") != std::string::npos || function.starts_with("weft_");
    }
    return known->second;
  }
  std::map<void*, bool> known_;
};

}  // namespace

std::string describe_leaks(const std::vector<LeakedGoroutine>& leaks) {
  if (leaks.empty()) return {};
  UsersFrames users;
  std::map<std::tuple<std::int32_t, std::string, std::vector<void*>>, std::vector<const LeakedGoroutine*>> groups;
  for (const LeakedGoroutine& leak : leaks) groups[{leak.site, leak.reason, users.of(leak.frames)}].push_back(&leak);
  std::vector<const std::vector<const LeakedGoroutine*>*> order;
  for (const auto& [key, group] : groups) order.push_back(&group);
  std::ranges::stable_sort(order, [](const auto* one, const auto* other) {
    return one->size() != other->size() ? one->size() > other->size() : one->front()->id < other->front()->id;
  });
  const bool is_one = leaks.size() == 1;
  std::string text = "weft: " + std::to_string(leaks.size()) + (is_one ? " goroutine is" : " goroutines are") +
                     " leaked: " + (is_one ? "it waits" : "they wait") + " for what nobody can reach any more\n\n";
  for (const auto* group : order) {
    const LeakedGoroutine& first = *group->front();
    std::string who = "goroutine " + std::to_string(first.id);
    if (!first.name.empty()) who += " \"" + first.name + "\"";
    if (group->size() > 1) who = std::to_string(group->size()) + " goroutines alike, such as " + who;
    text += who + " [" + first.reason + "]:\n";
    if (!first.object.empty()) text += "  waits for " + first.object + "\n";
    text += os::format_frames(first.frames.data(), first.frames.size(), "  ");
    if (first.site != 0) {
      void* site = const_cast<void*>(sched::code_address(first.site));
      text += "started" + (first.parent != 0 ? " by goroutine " + std::to_string(first.parent) : std::string()) +
              " at\n" + os::format_frames(&site, 1, "  ");
    }
    text += "\n";
  }
  return text;
}

}  // namespace weft::service
