// SPDX-License-Identifier: MIT
#include "service/thread_mutex_watch.h"

#if WEFT_WATCHES_THREAD_MUTEXES

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

#include "base/atomic.h"
#include "os/current.h"
#include "os/symbolizer.h"
#include "os/thread.h"
#include "sched/model/goroutine.h"

// For functions on a blocked goroutine's stack. They are not in the runtime's code section, because then the goroutine
// would keep its P.
#define WEFT_WATCH_TEXT __attribute__((section("weft_watch_text"), noinline))

extern "C" {
// The C library's functions, under the names they have in statically linked programs; there, dlsym is not linked.
int __pthread_mutex_lock(pthread_mutex_t*) noexcept __attribute__((weak));
int __pthread_mutex_trylock(pthread_mutex_t*) noexcept __attribute__((weak));
int __pthread_mutex_timedlock(pthread_mutex_t*, const timespec*) noexcept __attribute__((weak));
int __pthread_mutex_clocklock(pthread_mutex_t*, clockid_t, const timespec*) noexcept __attribute__((weak));
int __pthread_mutex_unlock(pthread_mutex_t*) noexcept __attribute__((weak));
void* dlsym(void*, const char*) noexcept __attribute__((weak));
}

namespace weft::service {
namespace {

using sched::Goroutine;
using sched::GStatus;

struct Real {
  decltype(&pthread_mutex_lock) lock;
  decltype(&pthread_mutex_trylock) trylock;
  decltype(&pthread_mutex_timedlock) timedlock;
  decltype(&pthread_mutex_clocklock) clocklock;
  decltype(&pthread_mutex_unlock) unlock;
};

template <class F>
F next(const char* name, F in_static_program) noexcept {
  // lazy: without a guard, and the start of the runtime asks for all of them (watch_thread_mutexes)
  void* found = &dlsym != nullptr ? dlsym(RTLD_NEXT, name) : nullptr;
  return found != nullptr ? reinterpret_cast<F>(found) : in_static_program;
}

// Only statics with constant initialisation: the guard of another static may itself lock.
const Real& real() noexcept {
  static constinit Real functions{};
  static constinit base::Atom<bool> known{false};
  if (!known.load_acquire()) {  // pairs: mutex_watch.real
    const Real found{next("pthread_mutex_lock", &__pthread_mutex_lock),
                     next("pthread_mutex_trylock", &__pthread_mutex_trylock),
                     next("pthread_mutex_timedlock", &__pthread_mutex_timedlock),
                     next("pthread_mutex_clocklock", &__pthread_mutex_clocklock),
                     next("pthread_mutex_unlock", &__pthread_mutex_unlock)};
    functions = found;          // another thread here writes the same
    known.store_release(true);  // pairs: mutex_watch.real
  }
  return functions;
}

// The holder of one mutex. The holder writes it, others read it. Everything is copied,
// because the holder may end meanwhile.
struct Holding {
  static constexpr std::size_t kNameBytes = 40;
  base::Atom<pthread_mutex_t*> mutex{nullptr};
  base::Atom<Goroutine*> g{nullptr};
  base::Atom<std::uint64_t> id{0};
  base::Atom<const void*> locked_at{nullptr};
  base::Atom<pid_t> thread{0};
  base::Atom<std::uint32_t> depth{0};
  char name[kNameBytes] = {};
};

constexpr std::size_t kPlaces = 4096, kProbes = 16;
constinit Holding holdings[kPlaces];

std::size_t place_of(const pthread_mutex_t* mutex) noexcept {
  return reinterpret_cast<std::uintptr_t>(mutex) / 8 * 0x9e3779b97f4a7c15u >> 52;
}

Holding* find(const pthread_mutex_t* mutex) noexcept {
  const std::size_t first = place_of(mutex);
  for (std::size_t i = 0; i < kProbes; ++i)
    if (Holding& holding = holdings[(first + i) % kPlaces]; holding.mutex.load_acquire() == mutex)
      return &holding;  // pairs: mutex_watch.holding
  return nullptr;
}

void note_locked(pthread_mutex_t* mutex, const void* locked_at) noexcept {
  Goroutine* g = os::current_g();
  Holding* holding = find(mutex);
  if (g == nullptr) {  // a plain thread locked it: what is known of the mutex is out of date
    if (holding != nullptr) holding->mutex.store_relaxed(nullptr);
    return;
  }
  if (holding != nullptr && holding->g.load_relaxed() == g && holding->id.load_relaxed() == g->id) {
    holding->depth.bump();
    return;
  }
  for (std::size_t i = 0; holding == nullptr && i < kProbes; ++i) {
    Holding& candidate = holdings[(place_of(mutex) + i) % kPlaces];
    pthread_mutex_t* nobody = nullptr;
    // Claimed with an address that is no mutex's until everything is written.
    if (candidate.mutex.cas_acquire(nobody, reinterpret_cast<pthread_mutex_t*>(1)))
      holding = &candidate;  // pairs: mutex_watch.holding
  }
  if (holding == nullptr) return;
  holding->g.store_relaxed(g);
  holding->id.store_relaxed(g->id);
  holding->locked_at.store_relaxed(locked_at);
  holding->thread.store_relaxed(os::thread_id());
  holding->depth.store_relaxed(1);
  const std::size_t length = g->name != nullptr ? std::min(g->name->size(), Holding::kNameBytes - 1) : 0;
  if (length > 0) std::memcpy(holding->name, g->name->data(), length);
  holding->name[length] = 0;
  holding->mutex.store_release(mutex);  // pairs: mutex_watch.holding
}

std::string describe(std::uint64_t id, const char* name) {
  return "goroutine " + std::to_string(id) + (*name != 0 ? " \"" + std::string(name) + "\"" : "");
}
std::string describe(const Goroutine* g) { return describe(g->id, g->name != nullptr ? g->name->c_str() : ""); }

std::string at(const void* pc) {
  void* frame = const_cast<void*>(pc);
  return os::format_frames(&frame, 1, "  ");
}

// Once for each place: true the first time.
bool is_news(const void* place) noexcept {
  constexpr std::size_t kReports = 32;
  static constinit base::Atom<const void*> told[kReports];
  for (base::Atom<const void*>& one : told) {
    const void* known = nullptr;
    if (one.cas_relaxed(known, place)) return true;
    if (known == place) return false;
  }
  return false;
}

// Room on this stack for names and lines.
bool has_room(const Goroutine* g) noexcept {
  return static_cast<std::byte*>(__builtin_frame_address(0)) - g->stack_bottom > 64 * 1024;
}

void write(const std::string& text) { base::write_stderr(text.data(), text.size()); }

// g is about to wait for the mutex. True: nothing more to report, so the caller may wait without looking again.
bool tell_if_holder_is_suspended(pthread_mutex_t* mutex, const Goroutine* g) noexcept {
  const Holding* holding = find(mutex);
  if (holding == nullptr) return false;
  const Goroutine* holder = holding->g.load_relaxed();
  const std::uint64_t id = holding->id.load_relaxed();
  const void* locked_at = holding->locked_at.load_relaxed();
  char name[Holding::kNameBytes];
  std::memcpy(name, holding->name, sizeof name);
  name[sizeof name - 1] = 0;
  const GStatus status = holder->status.load_relaxed();
  const sched::WaitReason reason = holder->wait_reason;
  const bool is_suspended = holder == g || status == GStatus::kRunnable || status == GStatus::kWaiting;
  if (!is_suspended || holder->id != id || find(mutex) != holding || holding->g.load_relaxed() != holder) return false;
  if (!is_news(locked_at)) return true;
  char address[32];
  std::snprintf(address, sizeof address, "%p", static_cast<void*>(mutex));
  std::string text = "weft: " + describe(g) + " waits, and its thread with it, for the pthread mutex at " + address;
  if (holder == g) {
    text += ", which it has locked itself\n";
  } else {
    text += ", which " + describe(id, name) + " has locked and holds while it is suspended (" +
            (status == GStatus::kWaiting ? sched::name_of(reason) : "preempted, or has yielded") + ")\n";
  }
  text +=
      "  No goroutine may wait or be preempted while it holds a lock of the operating system: use weft::mutex, or hold "
      "it "
      "inside weft::no_preempt.\n";
  if (has_room(g)) text += "locked at\n" + at(locked_at);
  write(text);
  return true;
}

void tell_of_wrong_thread(pthread_mutex_t* mutex, const Goroutine* g, pid_t locked_on, const void* locked_at) noexcept {
  if (!is_news(static_cast<const char*>(locked_at) + 1)) return;
  char place[96];
  std::snprintf(place, sizeof place, "%p on thread %d, but locked it on thread %d", static_cast<void*>(mutex),
                os::thread_id(), locked_on);
  std::string text = "weft: " + describe(g) + " unlocks the pthread mutex at " + place +
                     ": the mutex knows its owner, and stays locked\n"
                     "  A goroutine may change its thread wherever it waits or is preempted: use "
                     "weft::recursive_mutex, or hold it inside "
                     "weft::no_preempt or weft::os_thread_lock.\n";
  if (has_room(g)) text += "locked at\n" + at(locked_at);
  write(text);
}

int unlock(pthread_mutex_t* mutex) noexcept {
  const Goroutine* g = os::current_g();
  Holding* holding = find(mutex);
  pid_t locked_on = 0;
  const void* locked_at = nullptr;
  if (holding != nullptr) {
    if (holding->g.load_relaxed() == g) {
      locked_on = holding->thread.load_relaxed();
      locked_at = holding->locked_at.load_relaxed();
    }
    if (holding->depth.load_relaxed() > 1) {
      holding->depth.bump(static_cast<std::uint32_t>(-1));
    } else {
      holding->mutex.store_release(nullptr);  // pairs: mutex_watch.holding
    }
  }
  const int result = real().unlock(mutex);
  if (result == EPERM && g != nullptr && locked_on != 0 && locked_on != os::thread_id())
    tell_of_wrong_thread(mutex, g, locked_on, locked_at);
  return result;
}

bool is_taken(int result) noexcept { return result == 0 || result == EOWNERDEAD; }

// Statically linked programs have the C library's function only if other code refers to it. Without it,
// tries again and again.
WEFT_WATCH_TEXT int lock_until(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) noexcept {
  if (clock == CLOCK_REALTIME && real().timedlock != nullptr) return real().timedlock(mutex, until);
  if (real().clocklock != nullptr) return real().clocklock(mutex, clock, until);
  for (;;) {
    if (const int result = real().trylock(mutex); result != EBUSY) return result;
    timespec now{};
    clock_gettime(clock, &now);
    if (now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec)) return ETIMEDOUT;
    const timespec kMoment{0, 200'000};
    nanosleep(&kMoment, nullptr);
  }
}

// Waits, and looks at the holder from time to time: it may be suspended later than this wait begins.
WEFT_WATCH_TEXT int lock_contended(pthread_mutex_t* mutex, const Goroutine* g) noexcept {
  constexpr long kLookAgainNs = 20'000'000;
  while (!tell_if_holder_is_suspended(mutex, g)) {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += kLookAgainNs;
    if (until.tv_nsec >= 1'000'000'000) {
      until.tv_nsec -= 1'000'000'000;
      ++until.tv_sec;
    }
    const int result = lock_until(mutex, CLOCK_REALTIME, &until);
    if (result != ETIMEDOUT) return result;
  }
  return real().lock(mutex);
}

}  // namespace

void watch_thread_mutexes() noexcept { static_cast<void>(real()); }

}  // namespace weft::service

// Weak, because a program may define functions of these names itself.
extern "C" {

__attribute__((weak, visibility("default"))) WEFT_WATCH_TEXT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using namespace weft::service;
  int result;
  if (const weft::sched::Goroutine* g = weft::os::current_g(); g != nullptr) {
    result = real().trylock(mutex);
    if (result == EBUSY) result = lock_contended(mutex, g);
  } else {
    result = real().lock(mutex);
  }
  if (is_taken(result)) note_locked(mutex, static_cast<const char*>(__builtin_return_address(0)) - 1);
  return result;
}

__attribute__((weak, visibility("default"))) WEFT_WATCH_TEXT int pthread_mutex_trylock(
    pthread_mutex_t* mutex) noexcept {
  using namespace weft::service;
  const int result = real().trylock(mutex);
  if (is_taken(result)) note_locked(mutex, static_cast<const char*>(__builtin_return_address(0)) - 1);
  return result;
}

__attribute__((weak, visibility("default"))) WEFT_WATCH_TEXT int pthread_mutex_timedlock(
    pthread_mutex_t* mutex, const timespec* until) noexcept {
  using namespace weft::service;
  const int result = lock_until(mutex, CLOCK_REALTIME, until);
  if (is_taken(result)) note_locked(mutex, static_cast<const char*>(__builtin_return_address(0)) - 1);
  return result;
}

__attribute__((weak, visibility("default"))) WEFT_WATCH_TEXT int pthread_mutex_clocklock(
    pthread_mutex_t* mutex, clockid_t clock, const timespec* until) noexcept {
  using namespace weft::service;
  const int result = lock_until(mutex, clock, until);
  if (is_taken(result)) note_locked(mutex, static_cast<const char*>(__builtin_return_address(0)) - 1);
  return result;
}

__attribute__((weak, visibility("default"))) int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  return weft::service::unlock(mutex);
}

}  // extern "C"

#else

namespace weft::service {
void watch_thread_mutexes() noexcept {}
}  // namespace weft::service

#endif
