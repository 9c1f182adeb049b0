// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

// WEFT_CHECK is always on, WEFT_DCHECK only with WEFT_DEBUG_CHECKS. Neither lets the optimizer assume the condition.
namespace weft::base {

// Prints "fatal error: <text>" with the current goroutine, M and P, then aborts. For broken invariants.
[[noreturn]] void fatal(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

// Prints the text and ends the process with the given status, running no destructors. For user errors.
[[noreturn]] void fatal_exit(int status, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

[[noreturn]] void check_failed(const char* file, int line, const char* expression, const char* expectation) noexcept;

// Set by the scheduler: writes one line that says which goroutine, M and P this thread is.
using DescribeThread = std::size_t (*)(char* buffer, std::size_t size) noexcept;
void set_describe_thread(DescribeThread describe) noexcept;

// Called once before a fatal error ends the process, to save what would be lost with it. The context may be any, also a
// signal handler.
using LastWords = void (*)() noexcept;
void set_last_words(LastWords words) noexcept;
void run_last_words() noexcept;

// write(2) until done; ignores errors (stderr may be closed).
void write_stderr(const char* text, std::size_t length) noexcept;

}  // namespace weft::base

#define WEFT_CHECK(condition, expectation)           \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? void()                                      \
       : ::weft::base::check_failed(__FILE__, __LINE__, #condition, expectation))
#if WEFT_DEBUG_CHECKS
#define WEFT_DCHECK(condition, expectation) WEFT_CHECK(condition, expectation)
#else
#define WEFT_DCHECK(condition, expectation) static_cast<void>(sizeof(static_cast<bool>(condition)))
#endif
#define WEFT_LIKELY(x) __builtin_expect(static_cast<bool>(x), 1)
#define WEFT_UNLIKELY(x) __builtin_expect(static_cast<bool>(x), 0)
