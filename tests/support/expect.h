// SPDX-License-Identifier: MIT
#pragma once
#include <unistd.h>

#include <cstdio>

// For what a test program itself can judge, on any thread: ends the process with status 1.
#define WEFT_EXPECT(condition)                                            \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::fflush(stdout);                                                \
      _exit(1);                                                           \
    }                                                                     \
  } while (false)
