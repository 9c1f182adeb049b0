// SPDX-License-Identifier: MIT
// Knows nothing of weft: loads the libraries named on the command line, each for itself.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

template <class F>
F* find(void* library, const char* prefix, const char* name) {
  void* found = dlsym(library, (std::string(prefix) + name).c_str());
  if (found == nullptr) std::exit((std::puts(dlerror()), 1));
  return reinterpret_cast<F*>(found);
}

int main(int argc, char** argv) {
  void* first = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (first == nullptr) return std::puts(dlerror()), 1;
  if (argc > 3) find<void()>(first, "first_", argv[3])();
  void* second = dlopen(argv[2], RTLD_LAZY | RTLD_LOCAL);
  if (second == nullptr) return std::puts(dlerror()), 1;
  const int sum = find<int(int)>(first, "first_", "sum")(1000) + find<int(int)>(second, "second_", "sum")(1000);
  const int exceptions = find<int()>(first, "first_", "exception")() + find<int()>(second, "second_", "exception")();
  const int gave_way = find<int()>(first, "first_", "gives_way")() + find<int()>(second, "second_", "gives_way")();
  const auto spawns = find<unsigned long long()>(first, "first_", "spawns")();
  const bool one = spawns >= 2000 && spawns == find<unsigned long long()>(second, "second_", "spawns")();
  // The runtime stays when a library that brought it goes.
  dlclose(second);
  dlclose(first);
  first = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  const int again = find<int(int)>(first, "first_", "sum")(10);
  std::printf("%d %d %d %s %d\n", sum, exceptions, gave_way, one ? "one runtime" : "two runtimes", again);
}
