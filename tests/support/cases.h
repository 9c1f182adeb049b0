// SPDX-License-Identifier: MIT
#pragma once
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "support/expect.h"

// A test program of several cases: `program --case=NAME` runs one as if it were the whole program. Each case stands below the
// `// check:` lines (tests/support/run_program.py) that say how it must end.
namespace weft::test {

inline constexpr int kSkipped = 77;  // exit status of a case that cannot be tried here; the reason is on standard output

struct Case {
  Case(const char* case_name, int (*function)()) : name(case_name), run(function), next(first) { first = this; }
  const char* name;
  int (*run)();
  Case* next;
  static inline Case* first = nullptr;
};

#define WEFT_CASE(case_name)                                                    \
  static int case_##case_name();                                                \
  static const ::weft::test::Case registered_##case_name{#case_name, &case_##case_name}; \
  static int case_##case_name()

[[noreturn]] inline void skip(const std::string& reason) {
  std::printf("skipped: %s\n", reason.c_str());
  std::fflush(stdout);
  _exit(kSkipped);
}

// Text at once, whatever happens next.
inline void say(const char* text) {
  const std::string line = std::string(text) + "\n";
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) _exit(3);
}

inline int run_case(int argc, char** argv) {
  static constexpr char kFlag[] = "--case=";
  if (argc >= 2 && std::strncmp(argv[1], kFlag, sizeof kFlag - 1) == 0)
    for (const Case* known = Case::first; known != nullptr; known = known->next)
      if (std::strcmp(known->name, argv[1] + sizeof kFlag - 1) == 0) return known->run();
  std::fprintf(stderr, "usage: %s --case=NAME, one of:\n", argv[0]);
  for (const Case* known = Case::first; known != nullptr; known = known->next) std::fprintf(stderr, "  %s\n", known->name);
  return 64;
}

}  // namespace weft::test

int main(int argc, char** argv) { return weft::test::run_case(argc, argv); }
