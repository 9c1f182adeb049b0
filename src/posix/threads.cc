// SPDX-License-Identifier: MIT
// Locks and waits of POSIX threads. What can be tried is tried first; what would wait is handed off.
//   Owners  A mutex that knows its owner (recursive, error-checking, robust, with priority inheritance) belongs to the
//           thread, while its goroutine may park on one thread and go on on another. So a goroutine keeps its thread as
//           long as it holds such a mutex (as lock_os_thread), and nothing else runs there.
//   Alloc   An allocator may lock in the middle of the runtime. So a call that would wait looks at the stack first.
#include <cerrno>

#include "posix/goroutine_call.h"
#include "sched/model/goroutine.h"
#include "weft/go.h"

namespace weft::posix {
namespace {

// Bits of the kind that the C library keeps in a mutex: any but "normal" and "adaptive" knows its owner.
bool knows_owner(const pthread_mutex_t* mutex) noexcept {
  constexpr int kTypes = 3, kAdaptive = PTHREAD_MUTEX_ADAPTIVE_NP, kRobust = 16, kInheriting = 32;
  const int kind = mutex->__data.__kind, type = kind & kTypes;
  return (type != 0 && type != kAdaptive) || (kind & (kRobust | kInheriting)) != 0;
}

bool is_taken(int result) noexcept { return result == 0 || result == EOWNERDEAD; }

// Results of these functions are error numbers themselves, and errno is left alone.
template <class Call>
int hand_off_to_thread(Call call, bool keep_thread) {
  if (!api::may_wait_with_locks()) return call();
  api::enter_foreign_call();
  const int result = call();
  if (keep_thread) {
    api::leave_foreign_call_on_thread();
  } else {
    api::leave_foreign_call();
  }
  return result;
}

int note_taken(pthread_mutex_t* mutex, int result) {
  if (is_taken(result) && knows_owner(mutex)) lock_os_thread();
  return result;
}

template <class Lock>
int lock_mutex(pthread_mutex_t* mutex, Lock lock) {
  const bool owned = knows_owner(mutex);
  int result = real().pthread_mutex_trylock(mutex);
  if (result == EBUSY) result = hand_off_to_thread(lock, owned);
  return note_taken(mutex, result);
}

}  // namespace
}  // namespace weft::posix

using namespace weft;
using namespace weft::posix;

WEFT_POSIX int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (WEFT_POSIX_PLAIN) return real().pthread_mutex_lock(mutex);
  // An error-checking one that is held by the caller is found busy by a try, and an error by the lock.
  return lock_mutex(mutex, [=] { return real().pthread_mutex_lock(mutex); });
}

WEFT_POSIX int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  if (WEFT_POSIX_PLAIN) return real().pthread_mutex_trylock(mutex);
  return note_taken(mutex, real().pthread_mutex_trylock(mutex));
}

WEFT_POSIX int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  if (WEFT_POSIX_PLAIN) return real().pthread_mutex_timedlock(mutex, until);
  return lock_mutex(mutex, [=] { return real().pthread_mutex_timedlock(mutex, until); });
}

WEFT_POSIX int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) noexcept {
  if (WEFT_POSIX_PLAIN) return real().pthread_mutex_clocklock(mutex, clock, until);
  return lock_mutex(mutex, [=] { return real().pthread_mutex_clocklock(mutex, clock, until); });
}

WEFT_POSIX int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (WEFT_POSIX_PLAIN) return real().pthread_mutex_unlock(mutex);
  const bool owned = knows_owner(mutex);  // before, because the memory may go with the unlock
  const int result = real().pthread_mutex_unlock(mutex);
  if (result == 0 && owned && api::keeps_thread()) unlock_os_thread();
  return result;
}

// A wait gives the mutex back and takes it again, on the same thread.
WEFT_POSIX int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (WEFT_POSIX_PLAIN) return real().pthread_cond_wait(condition, mutex);
  return hand_off_to_thread([=] { return real().pthread_cond_wait(condition, mutex); }, false);
}

WEFT_POSIX int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  if (WEFT_POSIX_PLAIN) return real().pthread_cond_timedwait(condition, mutex, until);
  return hand_off_to_thread([=] { return real().pthread_cond_timedwait(condition, mutex, until); }, false);
}

WEFT_POSIX int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* until) {
  if (WEFT_POSIX_PLAIN) return real().pthread_cond_clockwait(condition, mutex, clock, until);
  return hand_off_to_thread([=] { return real().pthread_cond_clockwait(condition, mutex, clock, until); }, false);
}

// The C library does not ask who gives a lock of these back.
WEFT_POSIX int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  if (WEFT_POSIX_PLAIN) return real().pthread_rwlock_rdlock(lock);
  const int result = real().pthread_rwlock_tryrdlock(lock);
  if (result != EBUSY && result != EAGAIN) return result;
  return hand_off_to_thread([=] { return real().pthread_rwlock_rdlock(lock); }, false);
}

WEFT_POSIX int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  if (WEFT_POSIX_PLAIN) return real().pthread_rwlock_wrlock(lock);
  const int result = real().pthread_rwlock_trywrlock(lock);
  if (result != EBUSY) return result;
  return hand_off_to_thread([=] { return real().pthread_rwlock_wrlock(lock); }, false);
}

WEFT_POSIX int sem_wait(sem_t* semaphore) {
  if (WEFT_POSIX_PLAIN) return real().sem_wait(semaphore);
  const api::ErrnoPlace place;
  const std::int64_t result = result_of([=] { return real().sem_trywait(semaphore); });
  if (result != -EAGAIN) return answer<int>(place, result);
  return answer<int>(place, hand_off([=] { return real().sem_wait(semaphore); }));
}

WEFT_POSIX int sem_timedwait(sem_t* semaphore, const timespec* until) {
  if (WEFT_POSIX_PLAIN) return real().sem_timedwait(semaphore, until);
  const api::ErrnoPlace place;
  const std::int64_t result = result_of([=] { return real().sem_trywait(semaphore); });
  if (result != -EAGAIN) return answer<int>(place, result);
  return answer<int>(place, hand_off([=] { return real().sem_timedwait(semaphore, until); }));
}

WEFT_POSIX int pthread_join(pthread_t thread, void** result) {
  if (WEFT_POSIX_PLAIN) return real().pthread_join(thread, result);
  return hand_off_to_thread([=] { return real().pthread_join(thread, result); }, false);
}
