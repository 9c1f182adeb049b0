// SPDX-License-Identifier: MIT
#pragma once
#include "base/check.h"
#include "base/sanitizer.h"

// Locks of the operating system (pthread_mutex_t, and so std::mutex) held by goroutines that are suspended: who wants such a lock
// blocks with its whole thread until the holder has its turn, or for ever if the holder waits for it.
//   What     builds with debug checks stand in for pthread_mutex_lock and its kin, in the program and its shared libraries, and
//            remember which goroutine locked what, and where. A goroutine that has to wait for one whose holder is suspended is
//            told of on stderr together with the holder, once per place of locking; likewise one that unlocks a mutex which
//            knows its owner (recursive, error-checking, robust) on another thread than it locked it on.
//   Not      in release builds, and with sanitizers, which stand in for the same functions.
//   Signals  who blocks here must still be seen as blocking in user code (sched/preempt.h): what is on the stack meanwhile is
//            in a section of its own, not in the runtime's.
//   Limits   a table without locks or allocation: what finds no place in it is not watched. A condition variable's wait
//            gives a mutex up and takes it back unseen.
#define WEFT_WATCHES_THREAD_MUTEXES (WEFT_DEBUG_CHECKS && !WEFT_ASAN && !WEFT_TSAN)

namespace weft::service {

// Has the functions linked, whatever else the program refers to.
void watch_thread_mutexes() noexcept;

}  // namespace weft::service
