// SPDX-License-Identifier: MIT
#pragma once
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ctime>

#include "base/atomic.h"

// The C library's own functions, behind those that src/posix defines.
//   Found by  dlsym(RTLD_NEXT), all at once: before main, or at the first call of one of them, which may come earlier,
//             from the constructor of another library. Finding them calls none of the functions that are defined here.
//   Static    A program without a dynamic linker has no next definition. It ends with a message at its first call.
namespace weft::posix {

#define WEFT_POSIX_REAL(function)                                                                                    \
  function(read) function(write) function(readv) function(writev) function(pread) function(pwrite) function(preadv) \
  function(pwritev) function(preadv2) function(pwritev2) function(close) function(dup2) function(dup3)               \
  function(recv) function(recvfrom) function(recvmsg) function(recvmmsg) function(send) function(sendto)             \
  function(sendmsg) function(sendmmsg) function(connect) function(accept) function(accept4)                          \
  function(poll) function(ppoll) function(select) function(pselect) function(epoll_wait) function(epoll_pwait)       \
  function(nanosleep) function(clock_nanosleep) function(usleep) function(sleep)                                     \
  function(fsync) function(fdatasync) function(flock)                                                                \
  function(waitpid) function(wait) function(wait3) function(wait4) function(waitid)                                  \
  function(getaddrinfo) function(getnameinfo) function(gethostbyname) function(gethostbyname2)                       \
  function(gethostbyaddr) function(gethostbyname_r) function(gethostbyname2_r) function(gethostbyaddr_r) \
  function(pthread_mutex_lock) function(pthread_mutex_trylock) function(pthread_mutex_timedlock)                     \
  function(pthread_mutex_clocklock) function(pthread_mutex_unlock) function(pthread_cond_wait)                       \
  function(pthread_cond_timedwait) function(pthread_cond_clockwait) function(pthread_rwlock_rdlock)                  \
  function(pthread_rwlock_tryrdlock) function(pthread_rwlock_wrlock) function(pthread_rwlock_trywrlock)              \
  function(sem_wait) function(sem_trywait) function(sem_timedwait) function(pthread_join)

struct Real {
#define WEFT_POSIX_MEMBER(name) decltype(&::name) name;
  WEFT_POSIX_REAL(WEFT_POSIX_MEMBER)
#undef WEFT_POSIX_MEMBER
};

const Real& find_real() noexcept;
extern base::Atom<const Real*> known_real;

inline const Real& real() noexcept {
  const Real* known = known_real.load_acquire();  // pairs: posix.real
  return known != nullptr ? *known : find_real();
}

}  // namespace weft::posix
