// SPDX-License-Identifier: MIT
#pragma once
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

// Without arguments a program of paths names them; with `path count` it runs one so often.
using Paths = std::map<std::string, void (*)(long)>;

template <class Run>
int run_path(int argc, char** argv, const Paths& paths, Run run) {
  if (argc == 1) {
    for (const auto& [name, path] : paths) std::puts(name.c_str());
    return 0;
  }
  const auto found = paths.find(argv[1]);
  if (argc != 3 || found == paths.end()) {
    std::fprintf(stderr, "usage: %s [path count]\n", argv[0]);
    return 2;
  }
  run(found->second, std::atol(argv[2]));
  return 0;
}
