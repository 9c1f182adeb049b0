// SPDX-License-Identifier: MIT
#include "base/check.h"

#include <unistd.h>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "base/atomic.h"

namespace weft::base {
namespace {

Atom<DescribeThread> describe_thread{nullptr};
Atom<LastWords> last_words{nullptr};

std::size_t clamp_length(int printed, std::size_t size) {
  if (printed < 0) return 0;
  return static_cast<std::size_t>(printed) < size ? static_cast<std::size_t>(printed) : size - 1;
}

// One write for the whole message, so that lines of other threads do not come in between.
void print_message(const char* format, va_list arguments, bool with_thread) noexcept {
  char text[2048];
  std::size_t length = clamp_length(std::snprintf(text, sizeof text, "fatal error: "), sizeof text);
  length += clamp_length(std::vsnprintf(text + length, sizeof text - length - 1, format, arguments),
                         sizeof text - length - 1);
  text[length++] = '\n';
  if (DescribeThread describe = describe_thread.load_relaxed(); with_thread && describe)
    length += describe(text + length, sizeof text - length);
  write_stderr(text, length);
}

}  // namespace

void set_describe_thread(DescribeThread describe) noexcept { describe_thread.store_relaxed(describe); }

void set_last_words(LastWords words) noexcept { last_words.store_relaxed(words); }

void run_last_words() noexcept {
  if (LastWords words = last_words.exchange_relaxed(nullptr)) words();
}

void write_stderr(const char* text, std::size_t length) noexcept {
  while (length > 0) {
    const ssize_t written = ::write(STDERR_FILENO, text, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text += written;
    length -= static_cast<std::size_t>(written);
  }
}

void fatal(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  print_message(format, arguments, true);
  va_end(arguments);
  run_last_words();
  std::abort();
}

void fatal_exit(int status, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  print_message(format, arguments, false);
  va_end(arguments);
  run_last_words();
  std::_Exit(status);
}

void check_failed(const char* file, int line, const char* expression, const char* expectation) noexcept {
  fatal("weft: %s (%s failed at %s:%d)", expectation, expression, file, line);
}

}  // namespace weft::base
