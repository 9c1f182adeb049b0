// SPDX-License-Identifier: MIT
// Uses weft, and links two libraries that use it, too.
#include <weft/weft.h>

#include <cstdio>

extern "C" int first_sum(int);
extern "C" int second_sum(int);

int main() {
  static_assert(WEFT_VERSION >= 1000);
  return weft::run([] {
    auto first = weft::spawn([] { return first_sum(1000); });
    const int sum = second_sum(1000) + first.join();
    std::printf("%d %s\n", sum, weft::runtime::read_stats().spawns >= 2001 ? "one runtime" : "two runtimes");
    return 0;
  });
}
