// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "os/self_signal.h"

// What others want of an exile's thread. core/hold.h says how the word is used, and why no request is lost.
namespace weft::sched {

enum HoldReason : std::uint32_t {
  kHoldShare = 1,  // sysmon: not its turn
  kHoldWorld = 2,  // the world is stopped
  kHoldExit = 4,   // the process ends
};
inline constexpr std::uint32_t kHoldReasons = 7, kHeld = 8;

enum class Refusal : std::uint8_t {
  kPlace,      // the thread may hold a lock that others need, or its stack does not tell
  kCall,       // the same, and the thread sleeps in a system call
  kForbidden,  // no_preempt is not 0
};

// Part of the Machine of the exile's thread.
struct Hold {
  base::Atom<std::uint32_t> word{0};
  // Since a holder has wanted the thread. Written by the thread, and by a holder that begins to want it.
  base::Atom<std::uint32_t> refusals{0};
  base::Atom<Refusal> last_refusal{Refusal::kPlace};
  base::Atom<const void*> context{nullptr};  // the interrupted registers (ucontext_t); valid while held
  // Under machines_lock: when the last signal was sent, since when the thread is wanted, and `refusals` at that signal.
  std::int64_t asked_ns = 0, wanted_ns = 0;
  std::uint32_t refusals_then = 0;
  int timer = os::kNoTimer;  // the thread's own: by it the thread signals itself (preempt.cc)
};
inline constexpr std::uint32_t kPatience = 25;

inline bool is_held(const Hold& hold) noexcept {
  const std::uint32_t word = hold.word.load_acquire();  // pairs: hold.word
  return (word & kHeld) != 0 && (word & kHoldReasons) != 0;
}

}  // namespace weft::sched
