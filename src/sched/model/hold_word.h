// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "os/self_signal.h"

// What others want of an exile's thread; core/hold.h says how it is used, and why no wish is lost.
namespace weft::sched {

enum HoldReason : std::uint32_t {
  kHoldShare = 1,  // sysmon: not its turn
  kHoldWorld = 2,  // the world is stopped
  kHoldExit = 4,   // the process ends
};
inline constexpr std::uint32_t kHoldReasons = 7, kHeld = 8;

enum class Refusal : std::uint8_t {
  kPlace,      // it may have a lock that others need, or nobody can tell
  kCall,       // the same, and it sleeps in a system call
  kForbidden,  // no_preempt
};

// What others want of an exile's thread. Part of its Machine.
struct Hold {
  base::Atom<std::uint32_t> word{0};
  base::Atom<std::uint32_t> refusals{0};  // since somebody wants it; written by the thread and by who begins to want
  base::Atom<Refusal> last_refusal{Refusal::kPlace};
  base::Atom<const void*> context{nullptr};  // the interrupted registers (ucontext_t); valid while held
  // machines_lock: the last signal, what `refusals` was then, and since when it is wanted
  std::int64_t asked_ns = 0, wanted_ns = 0;
  std::uint32_t refusals_then = 0;
  int timer = os::kNoTimer;  // the thread's own
};
inline constexpr std::uint32_t kPatience = 25;

inline bool is_held(const Hold& hold) noexcept {
  const std::uint32_t word = hold.word.load_acquire();  // pairs: hold.word
  return (word & kHeld) != 0 && (word & kHoldReasons) != 0;
}

}  // namespace weft::sched
