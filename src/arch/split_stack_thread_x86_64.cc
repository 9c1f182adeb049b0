// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <threads.h>

// Linking with -fsplit-stack makes the compiler driver wrap pthread_create, and libgcc's wrapper would bring its own
// __morestack along. Threads need nothing from us: their guard starts as 0.
extern "C" {

int __real_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) __attribute__((weak));
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument);

int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  return (__real_pthread_create != nullptr ? __real_pthread_create : pthread_create)(thread, attributes, start,
                                                                                     argument);
}
}

// A weak name takes nothing out of a static C library, and every strong `pthread_create` is the wrapper above.
// thrd_create does not go through the wrapper, so a reference to it brings the real pthread_create along.
__attribute__((used)) static int (*const brings_pthread_create)(thrd_t*, thrd_start_t, void*) = &thrd_create;
