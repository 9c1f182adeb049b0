// SPDX-License-Identifier: MIT
#include "api/wait_facts.h"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "api/chan_core.h"
#include "api/weighted_wait.h"
#include "sched/wait/wait_queue.h"
#include "weft/detail/task_core.h"
#include "weft/once.h"
#include "weft/sync.h"

namespace weft::detail {

struct inspector {
  using Facts = sched::WaitFacts;

  static std::string text(const char* kind, const char* name, const void* address, const std::string& more = {}) {
    std::string result = kind;
    if (name != nullptr) result += std::string(" \"") + name + '"';
    char where[32];
    std::snprintf(where, sizeof where, " (%p%s", address, more.empty() ? ")" : ": ");
    result += where;
    return more.empty() ? result : result + more + ")";
  }

  static void tell(const mutex& lock, Facts& facts) {
    facts.object = text("mutex", lock.queue_.name, &lock);
    facts.has_holder = (lock.state_.load(std::memory_order_relaxed) & mutex::kLocked) != 0;
    facts.holder = lock.holder_.who();
    if (!facts.has_holder) facts.more = "which is free: it is about to go on";
  }

  static void tell(const shared_mutex& lock, Facts& facts) {
    const std::uint64_t state = lock.state_.load(std::memory_order_relaxed);
    facts.object = text("shared_mutex", lock.queue_.name, &lock);
    facts.has_holder = (state & shared_mutex::kWriter) != 0;
    facts.holder = lock.holder_.who();
    if (facts.has_holder) return;
    facts.readers = state / shared_mutex::kReader;
    if (facts.readers == 0) facts.more = "which is free";
  }
  // A reader that finds only readers inside waits because a writer is in front.
  static void tell_reader(const shared_mutex& lock, Facts& facts) {
    tell(lock, facts);
    if (facts.has_holder || facts.readers == 0) return;
    sched::WaitQueue& queue = sched::open(const_cast<shared_mutex&>(lock).queue_);
    if (!queue.lock.try_lock_unranked()) return;  // a plain thread has it; a report may hold any lock
    if (const sched::Waiter* front = queue.list.front(); front != nullptr && front->index == shared_mutex::kWriter) {
      facts.is_behind_writer = true;
      facts.writer = front->who.goroutine();
    }
    queue.lock.unlock_unranked();
  }

  static void tell(const condition_core& condition, Facts& facts) {
    facts.object = text("condition_variable", condition.queue_.name, &condition);
  }
  static void tell(const semaphore_core& semaphore, Facts& facts) {
    const std::uint64_t permits = semaphore.state_.load(std::memory_order_relaxed) / semaphore_core::kOne;
    facts.object = text("semaphore", semaphore.queue_.name, &semaphore, std::to_string(permits) + " permits");
  }
  static void tell(const weighted_wait& wait, Facts& facts) {
    const weighted_core& semaphore = *wait.semaphore;
    const std::uint64_t permits = semaphore.state_.load(std::memory_order_relaxed) / weighted_core::kOne;
    facts.object = text("weighted_semaphore", semaphore.queue_.name, &semaphore,
                        std::to_string(wait.wanted) + " wanted, " + std::to_string(permits) + " of " +
                            std::to_string(semaphore.total_) + " free");
  }
  static void tell(const watch_core& one, Facts& facts) {
    facts.object = text("watch", one.queue_.name, &one);
  }
  static void tell(const broadcast_core& one, Facts& facts) {
    facts.object = text("broadcast", one.queue_.name, &one);
  }
  static void tell(const wait_group& group, Facts& facts) {
    facts.object = text("wait_group", group.countdown_.queue_.name, &group,
                        std::to_string(count_of(group.countdown_)) + " not done");
  }
  static void tell(const latch& one, Facts& facts) {
    facts.object =
        text("latch", one.countdown_.queue_.name, &one, std::to_string(count_of(one.countdown_)) + " missing");
  }
  static void tell(const event& one, Facts& facts) {
    facts.object = text("event", one.countdown_.queue_.name, &one, "not set");
  }
  static void tell(const barrier_core& barrier, Facts& facts) {
    facts.object = text("barrier", barrier.queue_.name, &barrier,
                        std::to_string(barrier.missing_) + " of " + std::to_string(barrier.expected_) + " missing");
  }
  static void tell(const task_core& task, Facts& facts) {
    if (task.exited && task.is_main) {
      facts.object = "the end of goroutine " + std::to_string(task.id());
      facts.more = "which left by this_goroutine::exit(): its run() does not return";
      return;
    }
    facts.object = "the end of";
    facts.has_holder = true;
    facts.holder_id = task.id();
  }
  static void tell(const once_flag& flag, Facts& facts) {
    facts.object = text("once_flag", nullptr, &flag, "its function is running");
    facts.has_holder = true;
    facts.holder = flag.holder_.who();
  }
  static std::uint64_t count_of(const countdown& count) noexcept {
    return count.state_.load(std::memory_order_relaxed) / countdown::kOne;
  }

  static std::string channel(const chan_core& channel) {
    if (channel.is_timer())
      return text(channel.is_ticker() ? "the chan of a ticker" : "the chan of a timer", nullptr, &channel);
    if (channel.is_contexts()) return text("the chan of a context", nullptr, &channel, "not cancelled");
    std::string state = channel.capacity() == 0 ? "unbuffered"
                                                : std::to_string(channel.size()) + " of " +
                                                      std::to_string(channel.capacity()) + " elements";
    if (channel.is_closed()) state += ", closed";
    return text("chan", channel.name(), &channel, state);
  }
  static std::string of_case(const select_case& one) {
    if (one.source == case_source::task)
      return "the end of goroutine " + std::to_string(static_cast<const task_core*>(one.element)->id());
    if (one.source == case_source::future) return text("future", nullptr, one.element);
    return (one.is_send ? "a send to " : "a receive from ") +
           (one.channel != nullptr ? channel(*one.channel) : std::string("a nil chan"));
  }
  static void tell_select(const void* select, Facts& facts) {
    constexpr std::size_t kShown = 8;
    const select_case* cases = nullptr;
    const std::size_t count = cases_of_waiting_select(select, &cases);
    for (std::size_t i = 0; i < count && i < kShown; ++i) {
      if (i > 0) facts.object += " or ";
      facts.object += of_case(cases[i]);
    }
    if (count > kShown) facts.object += " or " + std::to_string(count - kShown) + " others";
  }

  // --- what could end a wait ---
  using WakeSource = sched::WakeSource;
  static WakeSource waker_of(const mutex& lock) {
    if ((lock.state_.load(std::memory_order_relaxed) & mutex::kLocked) == 0) return {};
    return {WakeSource::Kind::kLock, &lock, lock.holder_.who()};
  }
  static WakeSource waker_of(const shared_mutex& lock) {
    const std::uint64_t state = lock.state_.load(std::memory_order_relaxed);
    if ((state & shared_mutex::kWriter) != 0) return {WakeSource::Kind::kLock, &lock, lock.holder_.who()};
    return {WakeSource::Kind::kObject, &lock};
  }
  static WakeSource waker_of(const task_core& task) {
    return {WakeSource::Kind::kGoroutine, nullptr, task.id(), true};
  }
  static WakeSource waker_of(const once_flag& flag) {
    const std::uint32_t runner = flag.holder_.who();
    if (runner == 0) return {};
    return {WakeSource::Kind::kGoroutine, nullptr, runner};
  }
  static WakeSource waker_of(const select_case& one) {
    if (one.source == case_source::task) return waker_of(*static_cast<const task_core*>(one.element));
    return {WakeSource::Kind::kObject, one.source == case_source::future ? one.element : one.channel};
  }
  template <class Visit>
  static void visit_cases(const void* select, Visit visit) {
    const select_case* cases = nullptr;
    const std::size_t count = cases_of_waiting_select(select, &cases);
    for (std::size_t i = 0; i < count; ++i)
      if (cases[i].source != case_source::channel || cases[i].channel != nullptr) visit(waker_of(cases[i]));
  }
};

}  // namespace weft::detail

namespace weft::api {

void tell_wait(const sched::Goroutine* g, sched::WaitFacts& facts) {
  using detail::inspector;
  using enum sched::WaitReason;
  const void* object = g->wait_object;
  const auto tell_as = [&]<class T>(const T*) { inspector::tell(*static_cast<const T*>(object), facts); };
  switch (g->wait_reason) {
    case kMutex:            return tell_as(static_cast<const mutex*>(nullptr));
    case kSharedMutexRead:  return inspector::tell_reader(*static_cast<const shared_mutex*>(object), facts);
    case kSharedMutexWrite: return tell_as(static_cast<const shared_mutex*>(nullptr));
    case kCondition:        return tell_as(static_cast<const detail::condition_core*>(nullptr));
    case kSemaphore:        return tell_as(static_cast<const detail::semaphore_core*>(nullptr));
    case kWeighted:         return tell_as(static_cast<const detail::weighted_wait*>(nullptr));
    case kWatch:            return tell_as(static_cast<const detail::watch_core*>(nullptr));
    case kBroadcast:        return tell_as(static_cast<const detail::broadcast_core*>(nullptr));
    case kWaitGroup:        return tell_as(static_cast<const wait_group*>(nullptr));
    case kLatch:            return tell_as(static_cast<const latch*>(nullptr));
    case kEvent:            return tell_as(static_cast<const event*>(nullptr));
    case kBarrier:          return tell_as(static_cast<const detail::barrier_core*>(nullptr));
    case kJoin:             return tell_as(static_cast<const detail::task_core*>(nullptr));
    case kChanSend:
    case kChanReceive:      facts.object = inspector::channel(*static_cast<const detail::chan_core*>(object)); return;
    case kSelect:           return inspector::tell_select(object, facts);
    case kOnce:             return tell_as(static_cast<const once_flag*>(nullptr));
    case kFuture:           facts.object = inspector::text("future", nullptr, object); return;
    default:                return;
  }
}

namespace {

// Not snprintf, because the goroutine at whose wake-up this is asked may have little stack left.
void copy_name(const char* from, char* to, std::size_t size) noexcept {
  const std::size_t length = strnlen(from, size - 1);
  std::memcpy(to, from, length);
  to[length] = '\0';
}
void write_address(const void* address, char* to, std::size_t size) noexcept {
  constexpr char kPrefix[] = "chan 0x";
  copy_name(kPrefix, to, size);
  char* const begin = to + sizeof kPrefix - 1;
  const auto written = std::to_chars(begin, to + size - 1, reinterpret_cast<std::uintptr_t>(address), 16);
  *written.ptr = '\0';
}

}  // namespace

const void* tell_meeting(const sched::Goroutine* g, char* name, std::size_t size) noexcept {
  const detail::chan_core* channel = static_cast<const detail::chan_core*>(g->wait_object);
  if (g->wait_reason == sched::WaitReason::kSelect) channel = detail::channel_that_ended(g->wait_object);
  if (channel == nullptr || channel->is_timer() || channel->is_contexts()) return nullptr;
  if (channel->name() != nullptr) {
    copy_name(channel->name(), name, size);
  } else {
    write_address(channel, name, size);
  }
  return channel;
}

bool tell_wakers(const sched::Goroutine* g, void (*visit)(void* context, const sched::WakeSource& waker), void* context) {
  using detail::inspector;
  using enum sched::WaitReason;
  const void* object = g->wait_object;
  const auto tell = [&](const sched::WakeSource& waker) { visit(context, waker); };
  switch (g->wait_reason) {
    case kNilChanSend:
    case kNilChanReceive:
    case kEmptySelect:      return true;  // nothing could
    case kMutex:            tell(inspector::waker_of(*static_cast<const mutex*>(object))); return true;
    case kSharedMutexRead:
    case kSharedMutexWrite: tell(inspector::waker_of(*static_cast<const shared_mutex*>(object))); return true;
    case kJoin:             tell(inspector::waker_of(*static_cast<const detail::task_core*>(object))); return true;
    case kOnce:             tell(inspector::waker_of(*static_cast<const once_flag*>(object))); return true;
    case kSelect:           inspector::visit_cases(object, tell); return true;
    case kWeighted:         object = static_cast<const detail::weighted_wait*>(object)->semaphore; break;
    case kCondition:
    case kSemaphore:
    case kWatch:
    case kBroadcast:
    case kWaitGroup:
    case kLatch:
    case kEvent:
    case kBarrier:
    case kFuture:
    case kChanSend:
    case kChanReceive:      break;
    default:                return false;
  }
  tell({sched::WakeSource::Kind::kObject, object});
  return true;
}

}  // namespace weft::api
