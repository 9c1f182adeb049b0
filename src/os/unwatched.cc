// SPDX-License-Identifier: MIT
#include "base/sanitizer.h"

// TSan intercepts these functions of the C and C++ libraries in every object of the program, instrumented or not, and
// takes what they do for accesses of the caller. In the runtime these are accesses to its own data, of whose order TSan
// knows nothing. So the runtime's objects call other functions instead (cmake/HideFromTsan.cmake renames what they
// refer to): weft_unwatched_X is called for X, and calls weft_watched_X, which the renaming turns into X again.
#if WEFT_TSAN_USERS
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstddef>
#include <new>

extern "C" {

void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);

// Keeps the compiler from turning a loop into a call of the function that it replaces.
#define WEFT_PLAIN_LOOP asm volatile("" ::: "memory")

void* weft_unwatched_memcpy(void* to, const void* from, std::size_t bytes) {
  void* const result = to;
#if defined(__x86_64__)
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
#else
  for (std::size_t i = 0; i < bytes; ++i) {
    static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
    WEFT_PLAIN_LOOP;
  }
#endif
  return result;
}

void* weft_unwatched_memmove(void* to, const void* from, std::size_t bytes) {
  if (static_cast<char*>(to) <= static_cast<const char*>(from)) return weft_unwatched_memcpy(to, from, bytes);
  for (std::size_t i = bytes; i-- > 0;) {
    static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
    WEFT_PLAIN_LOOP;
  }
  return to;
}

void* weft_unwatched_memset(void* to, int value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    static_cast<char*>(to)[i] = static_cast<char>(value);
    WEFT_PLAIN_LOOP;
  }
  return to;
}

int weft_unwatched_memcmp(const void* first, const void* second, std::size_t bytes) {
  const auto* a = static_cast<const unsigned char*>(first);
  const auto* b = static_cast<const unsigned char*>(second);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (a[i] != b[i]) return a[i] - b[i];
    WEFT_PLAIN_LOOP;
  }
  return 0;
}
int weft_unwatched_bcmp(const void* first, const void* second, std::size_t bytes) {
  return weft_unwatched_memcmp(first, second, bytes);
}

void* weft_unwatched_memchr(const void* where, int value, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(where);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (at[i] == static_cast<unsigned char>(value)) return const_cast<unsigned char*>(at + i);
    WEFT_PLAIN_LOOP;
  }
  return nullptr;
}

std::size_t weft_unwatched_strnlen(const char* text, std::size_t most) {
  std::size_t length = 0;
  while (length < most && text[length] != '\0') {
    ++length;
    WEFT_PLAIN_LOOP;
  }
  return length;
}
std::size_t weft_unwatched_strlen(const char* text) { return weft_unwatched_strnlen(text, static_cast<std::size_t>(-1)); }

int weft_unwatched_strcmp(const char* first, const char* second) {
  const auto* a = reinterpret_cast<const unsigned char*>(first);
  const auto* b = reinterpret_cast<const unsigned char*>(second);
  for (; *a == *b && *a != 0; ++a, ++b) WEFT_PLAIN_LOOP;
  return *a - *b;
}

// The poller's own descriptor: a look at it makes no order between the looking thread and the goroutines whose sockets
// are watched.
int weft_unwatched_epoll_create1(int flags) { return static_cast<int>(syscall(SYS_epoll_create1, flags)); }
int weft_unwatched_epoll_ctl(int set, int operation, int fd, epoll_event* event) {
  return static_cast<int>(syscall(SYS_epoll_ctl, set, operation, fd, event));
}
int weft_unwatched_epoll_wait(int set, epoll_event* events, int most, int limit_ms) {
  return static_cast<int>(syscall(SYS_epoll_pwait, set, events, most, limit_ms, nullptr, std::size_t{0}));
}
int weft_unwatched_eventfd(unsigned value, int flags) { return static_cast<int>(syscall(SYS_eventfd2, value, flags)); }

// Memory that one goroutine allocates and another frees. TSan takes both for writes. While it ignores writes, it only
// forgets the earlier accesses to that memory.
struct Ignored {
  Ignored() { AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
  ~Ignored() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__); }
  Ignored(const Ignored&) = delete;
};

void* weft_watched_realloc(void* memory, std::size_t bytes);
void weft_watched_free(void* memory);
void* weft_unwatched_realloc(void* memory, std::size_t bytes) {
  const Ignored ignored;
  return weft_watched_realloc(memory, bytes);
}
void weft_unwatched_free(void* memory) {
  const Ignored ignored;
  weft_watched_free(memory);
}

#define WEFT_UNWATCHED_NEW(name, parameters, arguments) \
  void* weft_watched_##name parameters;                 \
  void* weft_unwatched_##name parameters {              \
    const Ignored ignored;                              \
    return weft_watched_##name arguments;               \
  }
WEFT_UNWATCHED_NEW(_Znwm, (std::size_t bytes), (bytes))
WEFT_UNWATCHED_NEW(_Znam, (std::size_t bytes), (bytes))
WEFT_UNWATCHED_NEW(_ZnwmSt11align_val_t, (std::size_t bytes, std::align_val_t align), (bytes, align))
WEFT_UNWATCHED_NEW(_ZnamSt11align_val_t, (std::size_t bytes, std::align_val_t align), (bytes, align))
WEFT_UNWATCHED_NEW(_ZnwmRKSt9nothrow_t, (std::size_t bytes, const std::nothrow_t& mark), (bytes, mark))
WEFT_UNWATCHED_NEW(_ZnamRKSt9nothrow_t, (std::size_t bytes, const std::nothrow_t& mark), (bytes, mark))
WEFT_UNWATCHED_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t,
                   (std::size_t bytes, std::align_val_t align, const std::nothrow_t& mark), (bytes, align, mark))
WEFT_UNWATCHED_NEW(_ZnamSt11align_val_tRKSt9nothrow_t,
                   (std::size_t bytes, std::align_val_t align, const std::nothrow_t& mark), (bytes, align, mark))

#define WEFT_UNWATCHED_DELETE(name, parameters, arguments) \
  void weft_watched_##name parameters;                     \
  void weft_unwatched_##name parameters {                  \
    const Ignored ignored;                                 \
    weft_watched_##name arguments;                         \
  }
WEFT_UNWATCHED_DELETE(_ZdlPv, (void* memory), (memory))
WEFT_UNWATCHED_DELETE(_ZdaPv, (void* memory), (memory))
WEFT_UNWATCHED_DELETE(_ZdlPvm, (void* memory, std::size_t bytes), (memory, bytes))
WEFT_UNWATCHED_DELETE(_ZdaPvm, (void* memory, std::size_t bytes), (memory, bytes))
WEFT_UNWATCHED_DELETE(_ZdlPvSt11align_val_t, (void* memory, std::align_val_t align), (memory, align))
WEFT_UNWATCHED_DELETE(_ZdaPvSt11align_val_t, (void* memory, std::align_val_t align), (memory, align))
WEFT_UNWATCHED_DELETE(_ZdlPvmSt11align_val_t, (void* memory, std::size_t bytes, std::align_val_t align),
                      (memory, bytes, align))
WEFT_UNWATCHED_DELETE(_ZdaPvmSt11align_val_t, (void* memory, std::size_t bytes, std::align_val_t align),
                      (memory, bytes, align))

}  // extern "C"
#endif
