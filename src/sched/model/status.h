// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

// States of G and P, the owner of the object in each state, and which moves of a G are legal.
//   Invariant  One state, one owner: only the owner named here may write the object's unsynchronised fields.
//   G moves    by transition() (tracing/trace_points.h), which tells the tracer, or by transition_untraced()
//              (goroutine.h). Both check is_legal_move() in debug builds; the move itself is a plain store.
//   P moves    when its word changes, by a store or a CAS: Processor::make_word() puts the state into the word
//              (processor.h). No table is checked.
namespace weft::sched {

enum class GStatus : std::uint8_t {
  kDead,      // owner: the free list it is on (stack pool or P cache)
  kRunnable,  // owner: the queue it is on
  kRunning,   // owner: the M whose current goroutine it is, which holds a P
  kWaiting,   // owner: its waker; between its publication and sp != null also the M that it is leaving
  kInCall,    // owner: its M, in a blocking call; the P is still the call's, or has been taken away
};
inline constexpr std::size_t kGStatusCount = 5;

enum class PStatus : std::uint8_t {
  kIdle,     // owner: the idle list
  kRunning,  // owner: the M it is wired to
  kInCall,   // owner: the winner of a CAS of its word: the returning M, or a taker (sysmon, stop-the-world)
  kStopped,  // owner: the thread that stopped the world
};

constexpr bool is_legal_move(GStatus from, GStatus to) noexcept {
  using enum GStatus;
  switch (from) {
    case kDead:     return to == kRunning;  // a record gets a G and starts at once
    case kRunnable: return to == kRunning;
    case kRunning:  return to == kWaiting || to == kRunnable || to == kInCall || to == kDead;
    case kWaiting:  return to == kRunnable || to == kRunning;  // kRunning: it called the wait off before it parked
    case kInCall:   return to == kRunning || to == kRunnable;
  }
  return false;
}

constexpr const char* name_of(GStatus status) noexcept {
  using enum GStatus;
  switch (status) {
    case kDead:     return "dead";
    case kRunnable: return "runnable";
    case kRunning:  return "running";
    case kWaiting:  return "waiting";
    case kInCall:   return "in call";
  }
  return "?";
}

// Why a goroutine waits; shown in dumps and deadlock reports.
enum class WaitReason : std::uint8_t {
  kNone,
  kJoin,
  kWaitGroup,
  kMutex,
  kEvent,
  kSleep,
  kStopTheWorld,
  kChanSend,
  kChanReceive,
  kNilChanSend,
  kNilChanReceive,
  kSelect,
  kEmptySelect,
  kSharedMutexRead,
  kSharedMutexWrite,
  kCondition,
  kSemaphore,
  kWeighted,
  kLatch,
  kBarrier,
  kOnce,
  kFuture,
  kWatch,
  kBroadcast,
  kGroupLimit,
  kRead,
  kWrite,
  kIo,
  kSignal,
};

constexpr const char* name_of(WaitReason reason) noexcept {
  using enum WaitReason;
  switch (reason) {
    case kNone:             return "waiting";
    case kJoin:             return "task join";
    case kWaitGroup:        return "wait group";
    case kMutex:            return "mutex lock";
    case kEvent:            return "event";
    case kSleep:            return "sleep";
    case kStopTheWorld:     return "stopping the world";
    case kChanSend:         return "chan send";
    case kChanReceive:      return "chan receive";
    case kNilChanSend:      return "chan send (nil chan)";
    case kNilChanReceive:   return "chan receive (nil chan)";
    case kSelect:           return "select";
    case kEmptySelect:      return "select (no cases)";
    case kSharedMutexRead:  return "shared mutex lock_shared";
    case kSharedMutexWrite: return "shared mutex lock";
    case kCondition:        return "condition variable wait";
    case kSemaphore:        return "semaphore acquire";
    case kWeighted:         return "weighted semaphore acquire";
    case kLatch:            return "latch wait";
    case kBarrier:          return "barrier wait";
    case kOnce:             return "call_once";
    case kFuture:           return "future";
    case kWatch:            return "watch change";
    case kBroadcast:        return "broadcast receive";
    case kGroupLimit:       return "group limit";
    case kRead:             return "I/O read";
    case kWrite:            return "I/O write";
    case kIo:               return "I/O";
    case kSignal:           return "signal";
  }
  return "waiting";
}

}  // namespace weft::sched
