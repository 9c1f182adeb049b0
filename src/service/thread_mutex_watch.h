// SPDX-License-Identifier: MIT
#pragma once
#include "base/check.h"
#include "base/sanitizer.h"

// Watches locks of the operating system (pthread_mutex_t, and so std::mutex) held by suspended goroutines. A goroutine
// that wants such a lock blocks its whole thread until the holder has its turn, or for ever if the holder waits for it.
//   What     Builds with debug checks interpose pthread_mutex_lock and its kin, in the program and its shared
//            libraries, and remember which goroutine locked what, and where. If a goroutine has to wait for a lock
//            whose holder is suspended, both are reported on stderr, once per place of locking. So is a goroutine that
//            unlocks a mutex which knows its owner (recursive, error-checking, robust) on another thread than it locked
//            it on.
//   Not      in release builds, and with sanitizers, which interpose the same functions.
//   Signals  A goroutine that blocks here must still be seen as blocking in user code (sched/core/preempt.h). So the
//            functions on its stack meanwhile are in a section of their own, not in the runtime's.
//   Limits   A table without locks or allocation: a lock that finds no place in it is not watched. A condition
//            variable's wait unlocks and relocks a mutex unseen.
#define WEFT_WATCHES_THREAD_MUTEXES (WEFT_DEBUG_CHECKS && !WEFT_ASAN && !WEFT_TSAN)

namespace weft::service {

// Makes the linker include the functions, whatever else the program refers to.
void watch_thread_mutexes() noexcept;

}  // namespace weft::service
