// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// What could end a goroutine's wait, as the api layer knows it (hooks.tell_wakers). For a search in a forked copy: it
// neither allocates nor locks.
namespace weft::sched {

struct Goroutine;

struct WakeSource {
  enum class Kind : std::uint8_t {
    kAnybody,    // a plain thread, a timer, or nothing is known
    kObject,     // whoever reaches the object
    kLock,       // whoever reaches the object; its holder is known, too
    kGoroutine,  // one goroutine and no other: a join, a function that runs once
  };
  Kind kind = Kind::kAnybody;
  const void* object = nullptr;
  std::uint64_t id = 0;   // of the goroutine or holder
  bool is_whole = false;  // the whole id is known, not only its low half
};

}  // namespace weft::sched
