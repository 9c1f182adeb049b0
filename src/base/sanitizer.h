// SPDX-License-Identifier: MIT
#pragma once

// One place that knows how each compiler says "this is a sanitizer build".
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WEFT_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(WEFT_ASAN)
#define WEFT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) && !defined(WEFT_TSAN)
#define WEFT_TSAN 1
#endif
// Two kinds of TSan builds (cmake/WeftFlags.cmake).
//   For users          the runtime is compiled without instrumentation, and TSan is told of the orders that the API
//                      promises and of no others. WEFT_UNWATCHED_BY_TSAN is defined for the runtime's sources.
//   WEFT_TSAN_RUNTIME  the runtime is instrumented, too, to find its own races. Its locks and queues then order what
//                      users do, which may hide races of users.
#if defined(WEFT_UNWATCHED_BY_TSAN) && !defined(WEFT_TSAN)
#define WEFT_TSAN 1
#endif
#ifndef WEFT_ASAN
#define WEFT_ASAN 0
#endif
#ifndef WEFT_TSAN
#define WEFT_TSAN 0
#endif
#if WEFT_TSAN && !defined(WEFT_UNWATCHED_BY_TSAN)
#define WEFT_TSAN_RUNTIME 1
#else
#define WEFT_TSAN_RUNTIME 0
#endif
// The runtime is linked without instrumentation into a program that TSan watches.
#define WEFT_TSAN_USERS (WEFT_TSAN && !WEFT_TSAN_RUNTIME)

// For functions that touch what a thread hands from one goroutine to the next, such as its thread_locals. TSan would
// report races there, because it takes goroutines for threads and is told of no order between two that follow each
// other. It still sees atomic operations in these functions.
#if WEFT_TSAN_RUNTIME
#define WEFT_OF_THE_THREAD __attribute__((no_sanitize("thread")))
#else
#define WEFT_OF_THE_THREAD
#endif

// The compiler puts no call of a sanitizer into the function.
#if WEFT_TSAN_RUNTIME && defined(__clang__)
#define WEFT_NOT_INSTRUMENTED __attribute__((disable_sanitizer_instrumentation))
#elif WEFT_ASAN
#define WEFT_NOT_INSTRUMENTED __attribute__((no_sanitize("address"), no_sanitize("undefined")))
#else
#define WEFT_NOT_INSTRUMENTED
#endif
